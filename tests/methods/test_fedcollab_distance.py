"""FedCollab's distances between clients, from discriminators."""

from typing import Any

import numpy as np
import pytest
import torch

from fedlab_core import Dataset, Partition, Training, World, build, world
from fedlab_core.errors import InputError
from fedlab_core.methods import collab_distance
from fedlab_core.methods.collab_distance import (
    distances,
    first_discriminator,
    halves,
    pooled_pixels,
)
from fedlab_core.methods.fedcollab import FedCollab, fedcollab
from tests.reference import fedcollab as plain

# -- distances ---------------------------------------------------------------------


def clients_of(x, y, held, classes=2) -> World:
    """A world of small images; everyone's samples by index."""
    y = np.asarray(y, dtype=np.int64)
    names = tuple(str(c) for c in range(classes))
    x = x[: len(y)]
    data = Dataset("toy", x, y, x, y, names, (0.5,), (0.25,))
    who = Partition("by hand", {}, tuple(np.asarray(h) for h in held))
    return world(data, who, build("mlp", data.shape, classes, hidden=(4,)))


@pytest.fixture(scope="module")
def noise() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (400, 6, 6)).astype(np.uint8)


def test_alike_clients_are_near_and_different_ones_far(noise):
    """0 and 1 hold noise of both labels, 2 and 3 of one label each: exactly,
    D(0, 1) = 0, D(0, 2) = D(0, 3) = 1/2, D(2, 3) = 1."""
    y = np.concatenate([np.arange(200) % 2, np.zeros(100), np.ones(100)])
    held = np.split(np.arange(400), 4)
    how = {"hidden": 40, "lr": 0.1, "rounds": 100}
    d = distances(clients_of(noise, y, held), features=pooled_pixels(2), **how)
    assert torch.equal(d, d.T) and (d.diagonal() == 0).all()
    assert d[0, 1].item() == pytest.approx(0, abs=0.3)  # 50 checks, the best of 10
    assert d[0, 2].item() == pytest.approx(0.5, abs=0.15)
    assert d[1, 3].item() == pytest.approx(0.5, abs=0.15)
    assert d[2, 3].item() == 1.0


def test_the_image_counts_as_well_as_the_label(noise):
    """The same labels, one client's images bright, the other's dark."""
    x = np.concatenate([noise[:50] // 2, 128 + noise[50:100] // 2])
    d = distances(clients_of(x, np.arange(100) % 2, np.split(np.arange(100), 2)))
    assert d[0, 1].item() == 1.0
    blind = distances(
        clients_of(x, np.arange(100) % 2, np.split(np.arange(100), 2)),
        features=lambda images: torch.zeros(len(images), 1),
    )
    assert blind[0, 1].item() == pytest.approx(0, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("side", [None, 3])
@pytest.mark.parametrize("batch", [4, 32])
def test_every_pair_is_trained_as_the_plain_version_trains_it(noise, side, batch):
    """36 pixels: 16 samples a pair span less; 9 pooled ones with 2 labels: more.

    Both ways of keeping a network's change, full and drawn mini-batches. Fed with the
    same split, the same first network, and the same draws.
    """
    y = np.concatenate([np.arange(60) % 3, np.arange(40) % 2])
    w = clients_of(noise, y, [range(16), range(16, 60), range(60, 100)], classes=3)
    how = {"hidden": 12, "lr": 0.05, "rounds": 60, "every": 5, "patience": 3}
    features = pooled_pixels(side) if side else None
    look = features or (lambda images: images.flatten(1))
    got = distances(w, features=features, batch=batch, seed=3, **how)
    parts, x = halves(w, 3), look(w.x)
    net = plain.Discriminator(x.shape[1], 3, 12)
    net.load_state_dict(first_discriminator(x.shape[1], 3, 12, 3))
    for p, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        sides = [[(x[s], w.y[s]) for s in parts[k]] for k in (i, j)]

        def draws(side, t, pair=p):
            pairs = torch.tensor([pair])
            now = range(t + 1, t + 2)
            of_pair = collab_distance.columns_of(pairs, 8, min(batch, 8), 3, now)[0, 0]
            return of_pair.reshape(2, -1)[side] - 8 * side

        training = (sides[0][0], sides[1][0])
        validation = (sides[0][1], sides[1][1])
        want, _ = plain.distance(
            net, training, validation, draws, 0.05, 60, every=5, patience=3
        )
        assert got[i, j].item() == pytest.approx(want, abs=1e-12), (i, j)


def test_equal_parts_with_everyones_own_shares_of_labels(noise):
    y = np.concatenate([np.zeros(30), np.ones(10), np.arange(21) % 2])
    w = clients_of(noise, y, [range(40), range(40, 61)])
    for (train, rest), m in zip(halves(w, seed=1), (40, 21), strict=True):
        assert len(train) == 10 and len(rest) == m - 10
    train, rest = halves(w, seed=1)[0]
    assert sorted([*train.tolist(), *rest.tolist()]) == list(range(40))
    assert (w.y[train] == 1).sum().item() in (2, 3)  # a quarter of 10
    assert not torch.equal(train, halves(w, seed=2)[0][0])


def test_scale_and_fewer_checks(noise):
    """Standardised features do not depend on their scale; a cap on checks is coarse."""
    w = clients_of(noise, np.arange(100) % 2, np.split(np.arange(100), 2))
    how = {"standardise": True, "rounds": 30, "check": 5}
    flat = torch.nn.Flatten()
    a = distances(w, features=lambda x: 7 * flat(x) + 3, **how)
    b = distances(w, features=flat, **how)
    assert torch.equal(a, b)
    assert a[0, 1].item() * 5 == pytest.approx(round(a[0, 1].item() * 5))


def test_a_draw_depends_on_the_seed_alone(noise):
    w = clients_of(noise, np.arange(90) % 2, np.split(np.arange(90), 3))
    before = w.x.clone()
    state = torch.get_rng_state()
    a, b, c = (distances(w, rounds=40, batch=4, seed=s) for s in (0, 0, 1))
    assert torch.equal(a, b) and not torch.equal(a, c)
    assert torch.equal(w.x, before) and torch.equal(torch.get_rng_state(), state)


def test_wrong_options_are_refused_before_the_run(noise):
    with pytest.raises(InputError, match="C must be a number of 0 or more, not nan"):
        FedCollab(float("nan"))
    with pytest.raises(InputError, match="restarts must be .* 1 or more"):
        fedcollab(Training(), restarts=0)
    with pytest.raises(
        InputError,
        match="unknown option depth: choose from C, restarts, merge, ignore, features",
    ):
        FedCollab(depth=2)
    w = clients_of(noise, np.arange(9) % 2, [range(8), [8]])
    with pytest.raises(InputError, match="every client needs 2 samples or more"):
        distances(w)
    w = clients_of(noise, np.arange(9) % 2, [range(4), range(4, 9)])
    for name in ("hidden", "batch", "rounds", "every", "patience", "check"):
        with pytest.raises(InputError, match=f"{name} must be .* 1 or more.*, not 0"):
            options: dict[str, Any] = {name: 0}
            distances(w, **options)
    with pytest.raises(InputError, match="lr must be a number above 0"):
        distances(w, lr=0)
    with pytest.raises(InputError, match="side must be .* 1 or more"):
        pooled_pixels(0)
