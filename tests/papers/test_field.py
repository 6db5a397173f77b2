"""Everyone on one field: every arm runs, every combination is what it is called."""

import json
from dataclasses import replace
from itertools import product
from statistics import fmean

import pytest
import torch

from fedlab_core.rounds.run import run_all
from fedlab_ledger.model.cells import Setting
from fedlab_ledger.model.lines import Found
from fedlab_ledger.papers import field
from fedlab_ledger.run.build import data_of, method_of, run_of
from fedlab_ledger.run.jobs import jobs
from fedlab_ledger.run.player import play
from tests.once import the_book

ALL, OWN, COLLAPSE, TUNING, COMPOSER = field.TABLES
TWICE = {"for_all": ALL, "for_own": OWN}
COMPOSED = {(c.row, c.column): c for c in COMPOSER.cells}


def test_every_method_is_on_every_field():
    for table in TWICE.values():
        places = {(c.row, c.column) for c in table.cells}
        assert places == {(a, f) for a in field.ARMS for f in field.FIELDS}


def test_arms_of_a_field_differ_in_the_method_only():
    """Else a difference between arms would not be the method's; nor between judgements,
    for which they train on the same samples."""
    of_methods = ("method", "options", "parts", "proxy")
    for name in field.FIELDS:
        worlds = set()
        for cell in (c for t in TWICE.values() for c in t.cells if c.column == name):
            plain = cell.settings["small"].plain()
            if cell.row == RATE:  # which chooses its learning rate, and nothing else
                rate = field.FIELDS[name]["local"]["lr"]
                plain["local"] = plain["local"] | {"lr": rate}
            rest = {k: v for k, v in plain.items() if k not in of_methods}
            worlds.add(json.dumps(rest, sort_keys=True))
        assert len(worlds) == 1, name


@pytest.mark.slow
@pytest.mark.parametrize("arm", field.ARMS)
def test_one_run_is_judged_twice(arm):
    """One training serves both tables if constants agree; samples are not shared."""
    both = tuple(t.at(arm, "FedLAW's") for t in TWICE.values())
    assert both[0] and both[1]
    (job, *more) = jobs([c for c in both if c], "tiny", [3], Found())
    assert more or len(job.cells) == 2
    lines = [line for one in (job, *more) for line in play(one)]
    common, own = sorted(lines, key=lambda line: line["table"])
    assert common["table"] == "for_all" and own["table"] == "for_own"
    assert common["value"] == pytest.approx(fmean(common["seen"]["common.accuracy"]))
    assert 0 <= common["value"] <= 100 and 0 <= own["value"] <= 100


def test_nobody_is_judged_on_what_somebody_trains_with():
    for name in field.FIELDS:
        cell = ALL.at("FedLAW", name)
        assert cell
        s = cell.settings["tiny"]
        world = run_of(s, 3).world
        assert world.tests and world.common is not None and world.proxy
        own = torch.cat(world.tests)
        assert not set(own.tolist()) & set(world.common.tolist())
        places = len(own) + len(world.common) + len(world.proxy[1])
        assert places == len(world.x_test)


def test_a_run_that_ends_at_chance_is_known():
    def line(ended):
        return {"metrics": {"mean-5": ended}}

    assert field.at_chance(line(10.7)) and field.at_chance(line(None))
    assert not field.at_chance(line(15.0))
    assert field.at_chance(line(24.0), classes=5)


RATE = "FedAvg, rate chosen"  # whose constant is of the clients' training
METHODS = list(product(field.TUNED, field.FIELDS, TWICE))


@pytest.mark.slow
@pytest.mark.parametrize(("method", "place", "judged"), METHODS)
def test_constants_are_the_best_of_the_runs_that_they_are_chosen_by(
    method, place, judged
):
    used = field.CHOSEN[judged].get(place, {}).get(method, 1.0)
    best = field.tuning.best(the_book().found, method, place, judged)
    assert best is None or used == best
    cell = TWICE[judged].at(method, place)
    name, value = field.TUNED[method][0], field.constant(method, used)
    assert cell
    s, rate = cell.settings["small"], field.FIELDS[place]["local"]["lr"]
    given = s.local["lr"] / rate if name == "rate" else s.options[name]
    assert given == pytest.approx(value)


def test_every_method_has_the_same_number_of_values_to_choose_from():
    for method, (name, usual) in field.TUNED.items():
        tried = [field.constant(method, t) for t in field.TRIED[method]]
        assert len(set(tried)) == len(tried) == 3 and usual in tried, name


def test_feddisco_chooses_within_the_range_of_its_paper():
    """Beyond it most clients of its field count nothing, and one trains alone."""
    tried = [field.constant("FedDisco", t) for t in field.TRIED["FedDisco"]]
    assert min(tried) == 0.2 and max(tried) == 0.7


def test_what_is_best_is_not_known_before_all_of_it_is_played():
    def found(values, seeds=field.tuning.SEEDS):
        lines = {}
        for times, value in values.items():
            at = field.tuning.row("FedLAW", times), "FedLAW's, for own"
            cell = TUNING.at(*at)
            assert cell
            lines[cell.key("small")] = {s: {"value": value} for s in seeds}
        return Found(lines)

    args = "FedLAW", "FedLAW's", "for_own"
    assert field.tuning.best(found({0.25: 60.0, 1.0: 60.0, 4.0: 60.0}), *args) == 1
    assert field.tuning.best(found({0.25: 60.0, 1.0: None, 4.0: 61.0}), *args) == 4
    assert field.tuning.best(found({0.25: 60.0, 1.0: 60.0}), *args) is None
    whole = {0.25: 60.0, 1.0: 60.0, 4.0: 60.0}
    assert field.tuning.best(found(whole, seeds=(0, 1, 2)), *args) is None


def test_seeds_that_choose_are_not_reported():
    keys = {c.key("small") for c in TUNING.cells}
    others = {c.key("small") for t in field.TABLES if t is not TUNING for c in t.cells}
    assert not keys & others
    lines = the_book().found.lines
    seeds = {seed for key in keys & lines.keys() for seed in lines[key]}
    assert seeds == {*field.tuning.SEEDS}


def test_combinations_have_their_parts_constants():
    for judged, table in TWICE.items():
        for arm, place in product(field.ARMS, field.FIELDS):
            cell = table.at(arm, place)
            assert cell
            s = cell.settings["small"]
            given = [s.options, *s.parts.values()]
            for method in set(field.ARMS[arm]) & set(field.TUNED) - {RATE}:
                times = field.CHOSEN[judged].get(place, {}).get(method, 1.0)
                name, value = field.TUNED[method][0], field.constant(method, times)
                assert value in [part.get(name) for part in given], (arm, place)


def test_combinations_are_those_that_the_core_takes():
    built = {names for names in field.combinations() if field.possible(names)}
    assert {(field.row(n), f) for n in built for f in field.COMPOSED} == set(COMPOSED)
    assert len(built) == 60
    for names in (
        ("SGD", "FedDisco", "average", "nobody", "nothing"),  # nobody to weigh
        ("FedImpro", "size", "FedLAW", "everyone", "nothing"),  # sends no features
        ("SGD", "FedDisco", "FedLAW", "FedCollab", "fine-tune"),  # minutes
    ):
        assert not field.possible(names)
    assert field.possible(("SGD", "FedDisco", "FedLAW", "everyone", "fine-tune"))


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (("SGD", "size", "average", "everyone", "nothing"), "FedAvg"),
        (
            ("FedImpro", "FedDisco", "average", "FedCollab", "fine-tune"),
            "FedImpro + FedDisco + FedCollab + Fine-tune",
        ),
        (("rFedAvg+", "equal", "FedLAW", "everyone", "nothing"), "rFedAvg+ + "),
    ],
)
def test_a_row_is_the_method_that_it_names(names, title):
    for place in field.COMPOSED:
        setting = COMPOSED[field.row(names), place].settings["small"]
        method = method_of(setting, data_of(replace(setting, data={"n_train": 200})))
        assert method.name.startswith(title)


SOME = [n for n in field.combinations() if field.possible(n)][::7]


@pytest.mark.slow
@pytest.mark.parametrize("names", SOME, ids=field.row)
@pytest.mark.parametrize("place", field.COMPOSED)
def test_combinations_run(names, place):
    setting = COMPOSED[field.row(names), place].settings["small"]
    parts = {k: dict(v) for k, v in setting.parts.items()}
    if "groups" in parts and parts["groups"]["of"] == "fedcollab":
        parts["groups"] |= {"rounds": 5, "restarts": 1}
    small: Setting = replace(setting, rounds=1, parts=parts)
    small = replace(small, data=setting.data | {"n_train": 2500})
    (seen,) = run_all([run_of(small, 3)], progress=False)
    assert 0 < seen.rows[-1]["accuracy"] <= 1 and seen.diverged_at is None
