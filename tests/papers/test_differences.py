"""Differences of paper and code: each pair differs in one thing and can be run."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fedlab_core.errors import InputError
from fedlab_core.rounds.run import run_all
from fedlab_ledger import Setting
from fedlab_ledger.papers import DIFFERENCES
from fedlab_ledger.papers.differences import Difference, Reading, effects
from fedlab_ledger.run.build import run_of
from tests.once import the_book

RUN = [d for d in DIFFERENCES if d.stated]


def test_names_and_papers():
    names = [d.name for d in RUN]
    assert len(names) >= 25
    assert len({d.name for d in DIFFERENCES}) == len(DIFFERENCES)
    assert {d.paper for d in DIFFERENCES} == {
        "feddisco", "fedlaw", "rfedavg", "fedimpro", "fedcollab",
    }  # fmt: skip


@pytest.mark.parametrize("d", RUN, ids=lambda d: f"{d.paper} {d.name}")
def test_a_pair_shares_its_world_and_differs(d):
    assert d.stated and d.done
    one, two = d.stated.setting, d.done.setting
    assert (one.key, d.stated.metric) != (two.key, d.done.metric)
    for name in ("dataset", "data", "kind", "scenario", "rounds", "network", "proxy"):
        assert getattr(one, name) == getattr(two, name), name


@pytest.mark.slow
def test_what_differs_reaches_the_models():
    """After two rounds, unless one run is only read in two ways."""
    found = {r.setting.key: r.setting for d in RUN for r in (d.stated, d.done) if r}
    runs = [run_of(replace(s, rounds=2), 0) for s in found.values()]
    ends = dict(zip(found, run_all(runs, progress=False), strict=True))
    for d in RUN:
        assert d.stated and d.done
        one, two = (ends[r.setting.key].states for r in (d.stated, d.done))
        alike = all(torch.equal(v, two[n]) for n, v in one.items())
        assert alike == (d.stated.setting == d.done.setting), d.name


@pytest.mark.slow
def test_effects_are_code_minus_paper_by_seed():
    """Of a step size of nearly zero and a usual one, by hand from their own runs."""
    little = Setting(
        "letters",
        "fedavg",
        6,
        data={"n_train": 300, "n_test": 200, "noise": 0.1},
        scenario={"clients": 3},
        network={"hidden": [16]},
        local={"lr": 1e-6, "batch_size": 16},
    )
    usual = replace(little, local={"lr": 0.2, "batch_size": 16})
    best, last = (Reading(usual, which) for which in ("best", "last"))
    pair = Difference("p", "name", "says", "does", "s", Reading(little), Reading(usual))
    same = Difference("p", "best", "says", "does", "s", stated=last, done=best)
    found = effects([pair, same], seeds=(0, 1))
    assert found["name"].shape == (2,) and (found["name"] > 5).all()
    assert (found["best"] >= 0).all()
    alone = effects([pair], seeds=(1,))
    np.testing.assert_allclose(alone["name"], found["name"][1:], atol=1.0)


def test_a_difference_has_two_readings_or_a_reason():
    reading = Reading(Setting("letters", "fedavg", 1))
    about = ("p", "n", "says", "does", "switch")
    with pytest.raises(InputError, match="n: two readings, or none"):
        Difference(*about, stated=reading)
    with pytest.raises(InputError, match="n: say why nothing is run"):
        Difference(*about)
    with pytest.raises(InputError, match="n: say why nothing is run"):
        Difference(*about, stated=reading, done=reading, why="both")


@pytest.mark.slow
def test_at_its_own_scale_feddisco_s_best_round_is_far_above_its_last_ten():
    """So `differences.toml` has it of the reported round, which letters cannot show."""
    (told,) = [d for d in DIFFERENCES if d.name == "the reported round"]
    assert told.stated is None and "far above the last ten" in told.why
    book = the_book()
    for row in ("FedAvg", "SCAFFOLD", "FedDyn"):
        cell = book.tables["feddisco/table3"].at(row, "accuracy")
        assert cell is not None
        lines = book.found.of(cell.key("paper")).values()
        apart = [v["metrics"]["best"] - v["metrics"]["mean-10"] for v in lines]
        assert len(apart) >= 3 and min(apart) > 3
