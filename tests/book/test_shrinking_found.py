"""Chapter 5's findings and pictures: by hand, and red where a number is planted."""

import warnings
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import fedlab_core as fl
from fedlab_book import arms
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.shrinking import found, seen
from fedlab_book.panels import picture
from tests.figure_cases import NONE, made, supported

SURE, SHORT, FIXED, LAW = found.SURE, found.SHORT, found.FIXED, found.LAW
SMALL = found.SMALL
RIGHT = {  # points over FedAvg
    ("alike", "FedAvg"): 0.0,
    ("alike", FIXED): 3.0,
    ("alike", SURE): 2.0,
    ("alike", SMALL): 0.0,
    ("alike", SHORT): -40.0,
    ("alike", LAW): 4.0,
    ("alike", found.FACTOR): 4.0,
    ("alike", found.DECAY): 3.0,
    ("alike", found.ELEVENTH): 1.0,
    ("alike", found.FINE): 0.0,
    ("uneven", "FedAvg"): 0.0,
    ("uneven", FIXED): -3.0,
    ("uneven", LAW): 0.0,
    ("uneven", found.FACTOR): 0.0,
    ("uneven", found.DECAY): -5.0,
    ("uneven", found.ELEVENTH): 1.0,
    ("uneven", found.FINE): 1.0,
}
ARMS = {
    "less_sure": ("alike", SURE),
    "small": ("alike", SMALL),
    "still": ("alike", SHORT),
    "fixed": ("alike", FIXED),
    "uneven": ("uneven", FIXED),
    "law": ("alike", LAW),
    "law_uneven": ("uneven", LAW),
    "factor": ("alike", found.FACTOR),
    "factor_uneven": ("uneven", found.FACTOR),
    "eleventh_uneven": ("uneven", found.ELEVENTH),
    "decay": ("alike", found.DECAY),
    "decay_uneven": ("uneven", found.DECAY),
    "eleventh": ("alike", found.ELEVENTH),
    "fine": ("alike", found.FINE),
}
GAMMA = {"alike": [1.3, 0.95, 0.95], "uneven": [1.2, 0.96, 0.96]}


def runs(**planted: float) -> Comparison:
    """The arms at .1 and then .5, but so many points more; `known` of own images."""
    known, gamma = planted.pop("known", 0.9), planted.pop("gamma", 1.0)
    length = planted.pop("length", 6.0)
    more = {ARMS[name]: points for name, points in planted.items()}
    return made(
        {
            (where, arm): {
                "accuracy": [0.1, *[0.5 + points / 100] * 2],
                "length": [5.0, 5.5, length],
                "known": [0.5, *[known if arm in (FIXED, SURE) else 0.99] * 2],
                "gamma": [gamma * v for v in GAMMA[where]],
                "temper": [v**3 for v in GAMMA[where]],
            }
            for (where, arm), points in (RIGHT | more).items()
        }
    )


def brief(points: float = -30.0, left: float = 1.0) -> Comparison:
    long = [5.0, 3.0, left]
    return made(
        {
            ("alike", arm): {"accuracy": [0.1, *[0.5 + more / 100] * 2], "length": long}
            for arm, more in (("FedAvg", 0.0), (FIXED, points))
        }
    )


def test_a_fixed_factor_has_to_gain_once_and_to_lose_twice():
    said = found.by_hand(runs(), brief())
    assert supported(said) and [r.says for r in said["rows"]] == [
        "gains",
        "loses",
        "loses",
    ]
    assert [r.values[0] for r in said["rows"]] == pytest.approx([3, -3, -30])
    assert (
        said["note"]
        == "FedAvg itself: 50 % (alike), 50 % (uneven); after four rounds 50 % and 50 "
        "%. With one epoch: 50 %."
    )
    for planted in (
        (runs(fixed=0.0), brief()),
        (runs(uneven=1.0), brief()),
        (runs(), brief(1.0)),
        (runs(), brief(left=3.0)),
        (runs(length=4.0), brief()),
    ):
        assert not supported(found.by_hand(*planted))


def test_the_guess_after_one_epoch_is_what_the_runs_say():
    same, less, ruined = found.ONE_EPOCH
    guesses = {-30.0: ruined, 1.0: same, 0.0: less, -2.0: less}
    assert {v: found.after_one_epoch(brief(v)) for v in guesses} == guesses


def test_less_sure_has_to_gain_and_still_sure_to_break():
    said = found.apart(runs())
    assert supported(said) and said["note"] == "“Still sure”: 0 of 3 runs diverged."
    assert [r.values[0] for r in said["rows"]] == pytest.approx([2, 0, 3, 2, 1])
    for planted in (
        {"less_sure": 0.0},
        {"small": 2.0},
        {"fixed": -1.0},
        {"still": 1.0},
        {"still": -2.0},
    ):
        assert not supported(found.apart(runs(**planted))), planted


def test_a_gain_that_seeds_do_not_carry_is_none():
    """A mean as it should be, and an interval that contains zero."""
    loose = runs()
    for shift, history in zip(40 * NONE, loose.of(SURE, "alike"), strict=True):
        for row in history.rows:
            row["accuracy"] += shift / 100
    assert not supported(found.apart(loose))


def test_the_guess_that_is_right_is_what_gains_alone():
    short, sure, neither = found.WHICH
    assert found.which(runs()) == sure
    assert found.which(runs(less_sure=0.0)) == neither
    assert found.which(runs(less_sure=0.0, still=1.0)) == short


def test_what_is_learned_by_heart_is_of_own_images():
    assert found.by_heart(runs()) and not found.by_heart(runs(known=0.99))


def test_the_learned_factor_begins_above_one_and_ends_below():
    assert found.falls(runs())
    assert not found.falls(runs(gamma=1.2)) and not found.falls(runs(gamma=0.8))
    assert not found.falls(runs(), least=0.97)
    far = runs()
    for history in far.of(LAW, "alike"):
        for row in history.rows:
            row["temper"] *= 1.5
    assert not found.falls(far)
    low = runs()  # near enough, but never above one
    for history in low.of(LAW, "alike"):
        history.rows[0]["gamma"], history.rows[0]["temper"] = 1.02, 0.99
    assert not found.falls(low)
    curve, points = found.learned(runs())
    assert "alike from 1.30 to 0.95 ± 0.00" in curve.said
    assert "18 points: correlation 1.00. Mean difference +0" in points.said


@pytest.mark.slow
def test_a_learned_factor_is_worth_its_labels_among_the_alike_alone():
    said = found.worth(runs())
    assert supported(said) and len(said["rows"]) == 10
    assert said["rows"][3].values == pytest.approx(4 - 1)
    wrong = {"law": 0.0, "factor": 0.0, "decay": 0.0, "eleventh": 5.0, "fine": 5.0}
    wrong |= {"law_uneven": 2.0, "factor_uneven": -2.0, "eleventh_uneven": 0.0}
    for name, points in (wrong | {"decay_uneven": 1.0}).items():
        assert not supported(found.worth(runs(**{name: points}))), name


def test_a_run_that_diverged_is_drawn_as_far_as_it_came():
    broken = runs()
    for history in broken.of(SHORT, "alike")[1:]:
        del history.rows[2:]
    lost = {k: replace(h, diverged_at=2) if k[1] == SHORT else h
            for k, h in broken.runs.items()}  # fmt: skip
    broken = replace(broken, runs=lost)
    with warnings.catch_warnings(action="error"):
        _, alt = picture(*found.four_cells(broken))
    assert f"{FIXED} from 0.0 to 3.0 ± 0.0" in alt and "FedAvg from 50.0 to 99.0" in alt
    assert "3 of 3 runs diverged" in found.apart(broken)["note"]


def test_how_sure_a_round_is_and_its_temperature_are_seen():
    bench = Bench(samples=300, tests=60, sizes={"hidden": [8]}, proxy=fl.Proxy(3))
    world = bench.place("dirichlet", clients=4, alpha=1.0)(7)
    train = fl.fedavg(fl.Training(lr=0.2, epochs=3))
    run = fl.federate(world, train, 2, seed=7, observe=seen.sureness, progress=False)
    row, model = run.rows[-1], {n: v[0] for n, v in run.states.items()}
    out = torch.func.functional_call(world.model, model, (world.x_test,))
    assert row["sure"] == pytest.approx(float(out.softmax(1).amax(1).mean()), rel=1e-4)
    assert row["known"] == pytest.approx(seen.right(world, model, world.x, world.y))
    whole = torch.cat([w.flatten() for w in model.values()])
    ended: Any = SimpleNamespace(world=world, after=run.states)
    assert seen.length(ended)["length"] == pytest.approx(float(whole.norm()))
    assert row["length"] == pytest.approx(float(whole.norm())) and "beta" not in row
    louder = arms.amplified(lambda _: world)(7)
    loud = fl.federate(louder, train, 1, seed=7, observe=seen.sureness, progress=False)
    assert loud.rows[-1]["beta"] == 1
    server = SimpleNamespace(metrics={"gamma": torch.tensor(1.0)})
    now: Any = SimpleNamespace(world=world, servers=[server], after=run.states)
    best = seen.temperature(now)["temper"]
    assert world.proxy is not None
    x, y = world.proxy
    out = torch.func.functional_call(world.model, model, (x,))
    each = (best / 1.1, best, 1.1 * best)
    losses = {s: float(F.cross_entropy(s * out, y)) for s in each}
    assert min(losses, key=lambda s: losses[s]) == best and np.isfinite(best)
