"""FedImpro: the plain version, its statistics by hand, reductions, misuse."""

from dataclasses import replace

import pytest
import torch

import fedlab_core as fl
from fedlab_core.engine import Client
from fedlab_core.engine.plan import make_plan
from fedlab_core.errors import InputError
from fedlab_core.keys import normal
from fedlab_core.methods.fedimpro import Guessed, Impro, update
from tests.methods.plainly import LOCAL, ROUNDS, SEED, differ, played, same, setting
from tests.reference import fedimpro as plain

WHOLE = replace(LOCAL, drop_last=True)
WAYS = [(None, "stacked"), (3, "stacked"), (3, "looped")]
FORMS = {
    "code": ({}, plain.Variant()),
    "paper": ({"form": "paper"}, plain.paper(0.9, 0.5)),
    "an own mix": (
        {"omega": 0.4, "cap": 1.0, "ramp": False, "alpha": 0.7},
        plain.Variant(omega=0.4, cap=1.0, alpha=lambda t: 0.7),
    ),
}


@pytest.mark.slow
@pytest.mark.equals("fedimpro")
@pytest.mark.parametrize("participants, engine", WAYS)
@pytest.mark.parametrize("form", FORMS)
def test_equals_the_plain_version(small_world, form, participants, engine):
    """With no short batch, whose number of synthetic samples is read in two ways."""
    beside_the_plain_version(small_world, form, participants, engine)


@pytest.mark.slow
@pytest.mark.parametrize("participants, engine", WAYS)
def test_statistics_that_remember_equal_the_plain_version_in_eight_rounds(
    small_world, participants, engine
):
    """With omega below 1, where they depend on all batches before."""
    how = {"tolerance": 1e-4, "rounds": 8}
    beside_the_plain_version(small_world, "an own mix", participants, engine, **how)


@pytest.mark.slow
@pytest.mark.parametrize("size, alike", [(9, True), (16, False)])
def test_a_short_batch_has_as_many_synthetic_samples_as_a_whole_one(
    small_world, size, alike
):
    """Of ten classes, 9 or fewer samples are joined by ten; 16 by twenty, 9 by ten.

    The plain version goes by the batch, as the authors' code does: the two part where
    some client's last batch has under ten, and nowhere else.
    """
    local, classes = replace(LOCAL, batch_size=size), 10
    ends = [n % size or size for n in small_world.partition.sizes.tolist()]
    assert len(set(ends)) > 1
    assert any(n // classes != size // classes for n in ends) != alike
    if alike:
        beside_the_plain_version(small_world, "an own mix", None, "stacked", how=local)
        return
    with pytest.raises(AssertionError, match="not close"):
        beside_the_plain_version(small_world, "an own mix", None, "stacked", how=local)


@pytest.mark.slow
@pytest.mark.parametrize("participants, engine", WAYS)
@pytest.mark.parametrize("form", ["code", "paper"])
def test_a_heads_statistics_are_of_real_and_drawn_features(
    small_data, small_world, form, participants, engine
):
    """BatchNorm above the split sees both, as one mini-batch, as in the plain one."""
    how = {"hidden": (12, 8), "batch_norm": True, "split": "hidden1"}
    make = fl.build("mlp", small_data.shape, 10, **how)
    w = fl.world(small_data, small_world.partition, make)
    assert any("running" in n for n in w.model.get_submodule("head").state_dict())
    beside_the_plain_version(w, form, participants, engine, 2e-4)


def beside_the_plain_version(
    w, form, participants, engine, tolerance=2e-5, how=WHOLE, rounds=ROUNDS
) -> None:
    options, variant = FORMS[form]
    if form == "code":  # epochs count, not rounds
        variant = replace(variant, alpha=lambda t: t * how.epochs / 500)
    method = fl.fedimpro(how, **options)
    s = setting(w, how, participants, rounds)
    begun = method.server.begin(s.model.state_dict(), w.view).broadcast

    def draws(k, t, step, shape):
        mine = torch.arange(len(s.clients[k][1]))
        key = make_plan([Client(mine, (SEED, t, k))], how).marks(0)[step]
        return normal(key, shape.numel()).view(shape)

    want = plain.run(
        *s.start, *s.sgd, s.by_size, begun["mu"], begun["s"], draws, variant
    )
    ours = played(w, method, participants, engine, rounds)
    assert len(ours) == len(want)
    for r, other in zip(ours, want, strict=True):
        # outside the engine, our BatchNorm leaves its running statistics alone
        trained = {n: v for n, v in other.model.items() if n in w.parameters}
        same(r.after, trained, 0, tolerance)
        for name in ("mu", "s"):
            got = r.servers[0].broadcast[name]
            torch.testing.assert_close(got, other.server[name], rtol=1e-4, atol=1e-5)


def test_statistics_by_hand():
    """Class 0: features 1 and 3, mean 2, standard deviation sqrt 2; class 1: 5 alone.

    With omega = 1/2 from mu = 0, s = 1: mu = (1, 2.5, 0), s = (1/2 + sqrt 2 / 2, 1, 1);
    a fourth sample is padding.
    """
    h, y = torch.tensor([[1.0], [3.0], [5.0], [9.0]]), torch.tensor([0, 0, 1, 1])
    there = torch.tensor([1.0, 1.0, 1.0, 0.0])
    rule = Impro(4, omega=0.5, cap=10.0)
    got = update(torch.zeros(3, 1), torch.ones(3, 1), h, y, there, rule)
    assert got["mu"].flatten().tolist() == [1.0, 2.5, 0.0]
    torch.testing.assert_close(
        got["s"].flatten(), torch.tensor([0.5 + 0.5 * 2**0.5, 1.0, 1.0])
    )
    capped = update(torch.zeros(3, 1), torch.ones(3, 1), h, y, there, Impro(4))
    assert float(capped["s"].max()) == pytest.approx(0.1)
    assert float(capped["mu"][0]) == pytest.approx(2 / 5000), "omega is D / 5000"


@pytest.mark.slow
def test_without_weight_it_is_fedavg(small_world):
    """The network has no BatchNorm, so synthetic features cannot leak in."""
    off = played(small_world, fl.fedimpro(LOCAL, alpha=0.0), 3)
    base = played(small_world, fl.fedavg(LOCAL), 3)
    for a, b in zip(off, base, strict=True):
        for n, v in a.after.items():
            assert float((v - b.after[n]).abs().max()) < 1e-6
    differ(played(small_world, fl.fedimpro(LOCAL, ramp=False), 3), base)


def test_synthetic_features_do_not_touch_the_lower_part(small_world):
    """After one step from the same model, features agree with FedAvg, the head not."""
    local = replace(LOCAL, iterations=1, momentum=0.0)
    (ours,) = played(small_world, fl.fedimpro(local, ramp=False), None, rounds=1)
    (base,) = played(small_world, fl.fedavg(local), None, rounds=1)
    for n, v in ours.trained.states.items():
        gap = float((v - base.trained.states[n]).abs().max())
        assert (gap < 1e-6) == n.startswith("features"), (n, gap)


def test_absent_classes_keep_the_global_rows(small_world):
    (first,) = played(small_world, fl.fedimpro(LOCAL), None, rounds=1)
    begun = Guessed()({}, small_world.view).broadcast
    absent = (small_world.counts == 0).nonzero().tolist()
    assert absent
    for k, c in absent:
        for name in ("mu", "s"):
            assert torch.equal(first.uploads[name][k, c], begun[name][c])


def test_noise_moves_the_statistics_and_nothing_in_its_first_round(small_world):
    quiet, loud = (
        played(small_world, fl.fedimpro(LOCAL, ramp=False, noise=n), None, rounds=2)
        for n in (0.0, 0.5)
    )
    gap = (
        quiet[0].servers[0].broadcast["mu"] - loud[0].servers[0].broadcast["mu"]
    ).std()
    assert 0.15 < float(gap) < 0.25  # 0.5 / sqrt(6)
    for n, v in quiet[0].after.items():
        assert torch.equal(v, loud[0].after[n])
    differ(quiet, loud)


def test_misuse():
    with pytest.raises(InputError, match="form must be code or paper"):
        fl.fedimpro(form="x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="noise must be .* 0 or more"):
        fl.fedimpro(noise=-1.0)
