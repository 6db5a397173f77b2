"""IFCA, CFL, FeSEM, k-means: the plain versions, made cases, absence, misuse."""

import math
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlab_core import (
    BySize,
    Partition,
    Training,
    World,
    build,
    fedavg,
    federate,
    load,
    world,
)
from fedlab_core.errors import InputError
from fedlab_core.keys import derive_seed
from fedlab_core.methods.cfl import CFL, SplitInTwo, bipartition, cfl, still_and_pulling
from fedlab_core.methods.clustering import k_means, parameter_distances, trained_alone
from fedlab_core.methods.fedavg import Equal, local_only
from fedlab_core.methods.fedprox import fedprox
from fedlab_core.methods.fesem import FeSEM, ToNearest, fesem
from fedlab_core.methods.ifca import IFCA, ifca
from fedlab_core.methods.kmeans import KMeans, kmeans
from fedlab_core.metrics import coherence
from fedlab_core.models import initial_state
from fedlab_core.rounds.groups import Regrouping
from fedlab_core.rounds.server import ServerState
from tests.methods.plainly import LOCAL, SEED, played, same, setting
from tests.reference import clustering as plain


@pytest.fixture(scope="module")
def permuted() -> World:
    """Six clients; for the last three, letter 0 is called 9, 1 is called 8, ..."""
    data = load("letters", n_train=600, n_test=60, noise=0.1)
    held = tuple(np.split(np.arange(600), 6))
    y = data.y_train.copy()
    y[300:] = 9 - y[300:]
    make = build("mlp", data.shape, 10, hidden=(16,))
    return world(replace(data, y_train=y), Partition("by hand", {}, held), make)


KINDS = [0, 0, 0, 1, 1, 1]
TRAIN = Training(lr=0.1, epochs=2, batch_size=20)


def pairs(group_of) -> list[bool]:
    """Whether each two are together, whatever the numbers of the groups."""
    return [
        group_of[i] == group_of[j] for i, j in combinations(range(len(group_of)), 2)
    ]


# -- against the plain versions ----------------------------------------------------


def agree(ours, want) -> None:
    assert len(ours) == len(want)
    for r, other in zip(ours, want, strict=True):
        known = [(a, b) for a, b in zip(r.group_of, other.assignment, strict=True)]
        assert all(b is None or a == b for a, b in known)
        for g, state in enumerate(other.models):
            same(r.after, state, g)


def first_models(w: World, k: int) -> list[torch.nn.Module]:
    models = []
    for g in range(k):
        model = w.make()
        seed = derive_seed(SEED, 0xF1257, *([g] if g else []))
        model.load_state_dict(initial_state(w.make, seed))
        models.append(model)
    return models


@pytest.mark.equals("ifca")
@pytest.mark.parametrize("participants", [None, 3])
@pytest.mark.parametrize("engine", ["stacked", "looped"])
def test_ifca_equals_the_plain_version(small_world, participants, engine):
    s = setting(small_world, LOCAL, participants)
    models = first_models(small_world, 3)
    want = plain.ifca(models, *s.start[1:], *s.sgd, s.by_size)
    agree(played(small_world, ifca(LOCAL, k=3), participants, engine), want)


@pytest.mark.equals("fesem")
@pytest.mark.parametrize("participants", [None, 4])
def test_fesem_equals_the_plain_version(small_world, participants):
    s = setting(small_world, LOCAL, participants)
    method = fesem(LOCAL, k=3, start="random")
    first = method.groups.begin(small_world, SEED)
    models = first_models(small_world, 3)
    want = plain.fesem(models, first, *s.start[1:], *s.sgd, s.equal)
    agree(played(small_world, method, participants), want)


@pytest.mark.slow
@pytest.mark.equals("cfl")
@pytest.mark.parametrize("weigh", [BySize(), Equal()])
def test_cfl_equals_the_plain_version(permuted, weigh):
    """Both bound the cosine across by sqrt(1/2): theirs by gamma 0, ours by its own."""
    s = setting(permuted, LOCAL, None)
    bound = math.sqrt((1 - math.sqrt(0.5)) / 2)
    how = {"eps1": 2.0, "eps2": 0.5}
    weights = s.by_size if isinstance(weigh, BySize) else s.equal
    want = plain.cfl(s.model, s.clients, 3, s.batches, *s.sgd, weights, **how)
    ours = played(permuted, cfl(LOCAL, weigh, gamma_max=bound, **how), None)
    for r, other in zip(ours, want, strict=True):
        for k, g in enumerate(other.assignment):  # they number groups differently
            assert g is not None
            same(r.after, other.models[g], r.group_of[k])
        assert len(other.models) == max(r.group_of) + 1
    assert len(want[-1].models) > len(want[0].models) > 1  # it was put to the test


@pytest.mark.slow
@pytest.mark.equals("kmeans")
def test_kmeans_equals_the_plain_version(permuted):
    s = setting(permuted, LOCAL, None)
    ours = played(permuted, kmeans(LOCAL, k=2, alone=2), None)
    group_of, want = plain.kmeans(
        s.model, s.clients, 2, 3, s.batches, *s.sgd, centres=[0, 3]
    )
    assert group_of == KINDS
    for r, states in zip(ours, want, strict=True):
        assert r.group_of == group_of
        for g, state in states.items():
            same(r.after, state, g)


# -- two kinds of clients, whose labels are permuted -------------------------------


@pytest.mark.slow
def test_ifca_tells_permuted_labels_apart(permuted):
    h = federate(permuted, ifca(TRAIN, k=2), 8)
    assert pairs(h.group_of) == pairs(KINDS)
    together = federate(permuted, fedavg(TRAIN), 8)
    assert h.rows[-1]["train_loss"] < together.rows[-1]["train_loss"] - 0.3


def test_cfl_splits_where_permuted_labels_pull_apart(permuted):
    """Together they come to a stand, below eps1; each kind by itself does not."""
    seen: list[list[int]] = []
    method = cfl(TRAIN, eps1=0.4, eps2=0.5, gamma_max=0.5, after=4)
    h = federate(permuted, method, 7, observe=lambda r: seen.append(r.group_of) or {})
    assert seen[:4] == [[0] * 6] * 4
    assert h.group_of == KINDS and len(h.states["head.bias"]) == 2


def test_fesem_and_kmeans_tell_them_apart_from_a_common_start(permuted):
    assert pairs(federate(permuted, fesem(TRAIN, k=2), 4).group_of) == pairs(KINDS)
    assert federate(permuted, kmeans(TRAIN, k=2, alone=4), 1).group_of == KINDS


def test_fesem_from_random_models_stays_where_it_was_drawn(permuted):
    """A client's model ends nearest to the random one that it began from."""
    method = fesem(TRAIN, k=3, start="random")
    assert federate(permuted, method, 4).group_of == method.groups.begin(permuted, 0)
    assert pairs(method.groups.begin(permuted, 0)) != pairs(KINDS)


@pytest.mark.parametrize("groups", [IFCA(2), CFL(), FeSEM(2), KMeans(2, alone=1)])
def test_any_method_trains_in_these_groups(permuted, groups):
    for method in (fedavg(TRAIN), fedprox(TRAIN)):
        h = federate(permuted, replace(method, groups=groups), 2, participants=4)
        assert len(h.group_of) == 6 and not h.diverged


@pytest.mark.parametrize("make", [ifca, cfl, fesem, kmeans])
def test_the_same_seed_gives_the_same_groups(permuted, make):
    a, b = (federate(permuted, make(TRAIN), 2, seed=3) for _ in range(2))
    assert a.group_of == b.group_of
    assert all(torch.equal(v, b.states[n]) for n, v in a.states.items())


# -- who is absent keeps its home --------------------------------------------------


@pytest.mark.parametrize(
    "method", [ifca(TRAIN, k=3), fesem(TRAIN, k=2), cfl(TRAIN, eps1=9, eps2=0)]
)
def test_only_participants_move(permuted, method):
    before, moved = [0] * 6, 0
    for r in played(permuted, method, 3, rounds=5):
        changed = [k for k in range(6) if r.group_of[k] != before[k]]
        assert set(changed) <= set(r.ids)
        before, moved = r.group_of, moved + len(changed)
    assert moved > 0


def test_a_group_without_participants_keeps_its_model(permuted):
    idle = 0
    for r in played(permuted, ifca(TRAIN, k=3), 2, rounds=4):
        for g in set(range(3)) - {r.group_of[k] for k in r.ids}:
            assert all(torch.equal(v[g], r.before[n][g]) for n, v in r.after.items())
            idle += 1
    assert idle >= 4  # two clients never are in three groups


# -- CFL's split, by hand ----------------------------------------------------------

vectors = st.lists(
    st.lists(st.integers(-9, 9), min_size=3, max_size=3).filter(any),
    min_size=2,
    max_size=7,
)


def cosines(moves) -> torch.Tensor:
    rows = torch.tensor(moves, dtype=torch.float64)
    return torch.nn.functional.cosine_similarity(rows[:, None], rows[None], dim=2)


@given(vectors)
def test_single_linkage_finds_the_least_largest_cosine(moves):
    """By trying every way to split a few members in two."""
    table = cosines(moves)
    one, other, across = bipartition(table, "single")
    assert sorted(one + other) == list(range(len(moves))) and one[0] == 0 and other
    splits = [
        rest
        for n in range(1, len(moves))
        for rest in combinations(range(1, len(moves)), n)
    ]
    least = min(
        max(
            float(table[i, j]) for i in range(len(moves)) if i not in rest for j in rest
        )
        for rest in splits
    )
    assert across == pytest.approx(least, abs=1e-9)


@given(st.integers(0, 10**6), st.integers(2, 9))
def test_complete_linkage_is_that_of_the_plain_version(seed, members):
    table = cosines(np.random.default_rng(seed).normal(size=(members, 4)).tolist())
    one, other, across = bipartition(table)
    want = plain.bipartition(table.tolist())
    assert (one, other) == want[:2] and across == pytest.approx(want[2])


def regrouping(w: World, moves, group_of, at: int = 0) -> Regrouping:
    """All clients' models a move away from 0, along two biases of the head."""
    zero = {n: torch.zeros_like(v) for n, v in w.model.state_dict().items()}
    models = {n: v.repeat(len(moves), *[1] * v.ndim) for n, v in zero.items()}
    models["head.bias"][:, :2] = torch.tensor(moves)
    before = [ServerState(zero) for _ in range(max(group_of) + 1)]
    sizes = w.counts.sum(1)
    return Regrouping(
        group_of, list(range(len(moves))), before, models, sizes, w.view, (0, at)
    )


ANGLE = math.radians(60)
APART = [[2.0, 0.0]] * 3 + [[2 * math.cos(ANGLE), 2 * math.sin(ANGLE)]] * 3


def test_a_split_by_hand(permuted):
    """Two kinds at 60 degrees: c = 1/2, and sqrt((1 - c) / 2) = 1/2.

    Equal sizes: the mean update is 2 cos(30 degrees) = 1.732 long, the longest 2.
    """
    now = regrouping(permuted, APART, [0] * 6)
    models = {n: v for n, v in now.models.items() if n in permuted.parameters}
    start = {n: torch.zeros_like(v[0]) for n, v in models.items()}
    mean, longest = still_and_pulling(models, start, torch.tensor([100] * 6))
    assert (mean, longest) == (pytest.approx(math.sqrt(3)), pytest.approx(2))
    gap = 1 - coherence(models, start)
    assert gap[0, 1].item() == pytest.approx(0, abs=1e-6)
    assert gap[0, 3].item() == pytest.approx(0.5)
    for rule, split in [
        (SplitInTwo(1.74, 1.99, 0.49), True),
        (SplitInTwo(1.72, 1.99, 0.49), False),  # not still
        (SplitInTwo(1.74, 2.01, 0.49), False),  # not pulling
        (SplitInTwo(1.74, 1.99, 0.51), False),  # could be one kind
        (SplitInTwo(1.74, 1.99, 0.49, "single"), True),
        (SplitInTwo(1.74, 1.99, 0.49, after=1), False),
    ]:
        group_of, origin = rule(now)
        assert group_of == (KINDS if split else [0] * 6)
        assert origin == ([0, 0] if split else [0])


def test_each_group_is_split_by_itself_and_keeps_its_number(permuted):
    """Groups 0 and 1 both fall apart: the new ones, 2 and 3, go on from them."""
    moves = [[2.0, 0.0], [-2.0, 0.0], [0.0, 2.0], [0.0, -2.0], [0.0, 2.0], [2.0, 0.0]]
    now = regrouping(permuted, moves, [0, 0, 1, 1, 1, 0])
    assert SplitInTwo(1.0, 1.0)(now) == ([0, 2, 1, 3, 1, 0], [0, 1, 0, 1])
    absent = replace(now, ids=[0, 1], models={n: v[:2] for n, v in now.models.items()})
    assert SplitInTwo(1.0, 1.0)(absent) == ([0, 2, 1, 1, 1, 0], [0, 1, 0])


# -- FeSEM and k-means -------------------------------------------------------------


def test_everyone_goes_to_the_nearest_centre(permuted):
    now = regrouping(permuted, [[9.0, 0.0], [2.0, 0.0], [0.0, 7.0]] * 2, [1] * 6)
    centre = {n: v.clone() for n, v in now.before[0].model.items()}
    centre["head.bias"][0] = 10.0
    now = replace(
        now, before=[now.before[0], ServerState(centre)], ids=[5, 4, 3, 2, 1, 0]
    )
    assert ToNearest(2)(now) == ([0, 0, 1, 0, 0, 1], [0, 1])


def test_clusters_of_a_made_case():
    points = torch.tensor([[0.0, 0], [10, 0], [0, 1], [10, 1], [5, 50]])
    assert k_means(points, 3, seed=0) == [0, 1, 0, 1, 2]
    assert k_means(points, 1, seed=0) == [0] * 5


def test_the_distances_that_each_is_based_on(permuted):
    models = trained_alone(permuted, TRAIN, rounds=3)
    alone = federate(permuted, local_only(TRAIN), 3).states
    assert all(torch.equal(v, alone[n]) for n, v in models.items())
    rows = torch.cat([v.flatten(1) for v in models.values()], 1).double().numpy()
    gap = np.linalg.norm(rows[:, None] - rows, axis=2)
    assert parameter_distances(models).numpy() == pytest.approx(gap, abs=1e-4)
    start = initial_state(permuted.make, derive_seed(0, 0xF1257))
    moved = rows - torch.cat([start[n].flatten() for n in models]).double().numpy()
    unit = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    cos = (1 - coherence(models, start)).numpy()
    assert cos == pytest.approx(1 - unit @ unit.T, abs=1e-5)
    for table in (gap, cos):
        off = ~np.eye(6, dtype=bool)
        alike = np.equal.outer(KINDS, KINDS)
        assert table[alike & off].max() < table[~alike].min()


# -- misuse ------------------------------------------------------------------------


def test_what_makes_no_sense_is_refused(permuted):
    for make in (IFCA, FeSEM, KMeans):
        with pytest.raises(
            InputError, match="k must be a whole number of 1 or more, not 0"
        ):
            make(0)
    for name in ("eps1", "eps2", "gamma_max", "after"):
        options: dict[str, Any] = {name: -1}
        with pytest.raises(InputError, match=f"{name} must be .* 0 or more, not -1"):
            CFL(**options)
    with pytest.raises(InputError, match="link must be complete or single"):
        CFL(link="ward")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="start must be kmeans or random"):
        fesem(k=2, start="far")
    with pytest.raises(InputError, match="alone must be .* 1 or more"):
        KMeans(2, alone=0)
    with pytest.raises(InputError, match="one member cannot be split"):
        bipartition(torch.ones(1, 1))
    with pytest.raises(InputError, match="7 clusters need 7 clients or more, not 6"):
        federate(permuted, kmeans(TRAIN, k=7, alone=1), 1)
    with pytest.raises(InputError, match="4 clusters need 4 clients or more, not 2"):
        federate(permuted, fesem(TRAIN, k=4), 1, participants=2)
