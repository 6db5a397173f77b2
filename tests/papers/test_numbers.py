"""FedImpro's, FedCollab's and rFedAvg's numbers, against what the papers say of them.

A number that is typed wrong seldom fits the averages, gains and sums of the same paper.
"""

import itertools
from collections.abc import Mapping

import numpy as np
import pytest

from fedlab_core import models
from fedlab_ledger import Cell
from fedlab_ledger.model.lines import Found
from fedlab_ledger.papers import TABLES
from fedlab_ledger.papers.fedcollab import tuning, worlds
from fedlab_ledger.papers.fedimpro.worlds import ARMS
from tests.once import the_book


def at(path: str, row: str, column: str) -> Cell:
    cell = TABLES[path].at(row, column)
    assert cell is not None, (path, row, column)
    return cell


def typed(path: str, row: str, column: str) -> float:
    value = at(path, row, column).paper_value
    assert value is not None
    return value


# -- FedImpro ----------------------------------------------------------------------

AVERAGES = {  # the last line of each part of its Table 1
    "CIFAR-10": "79.53 78.66 64.89 80.08 80.96 83.97",
    "FMNIST": "87.28 87.85 85.16 86.98 87.82 89.53",
    "SVHN": "86.90 86.94 85.34 88.26 89.42 91.91",
    "CIFAR-100": "63.70 64.34 54.92 64.37 64.46 65.44",
}


@pytest.mark.parametrize("dataset", AVERAGES)
def test_fedimpros_averages_are_those_of_its_rows(dataset):
    every = TABLES["fedimpro/table1"].columns
    columns = [c for c in every if c.split(",")[0] == dataset]
    assert len(columns) == 4
    mean = [np.mean([typed("fedimpro/table1", a, c) for c in columns]) for a in ARMS]
    said = [float(v) for v in AVERAGES[dataset].split()]
    assert np.abs(np.subtract(mean, said)).max() < 0.011


# The paper contradicts itself in these places: 88.10 without ever reaching 86 %, and
# 67.99 having reached 68 %.
ODD = {
    ("SVHN, a=0.1, E=5, K=10", "FedNova"),
    ("CIFAR-100, a=0.1, E=5, K=10", "FedNova"),
}


def test_fedimpro_reaches_what_it_ends_above():
    """Rounds to a target are given exactly where the best accuracy is above it."""
    odd = set()
    columns = TABLES["fedimpro/table2"].columns
    assert len(columns) == 16
    for column, arm in itertools.product(columns, ARMS):
        where, target = column.removesuffix(" %").split(", to ")
        reached = at("fedimpro/table2", arm, column).paper_value is not None
        if reached != (typed("fedimpro/table1", arm, where) >= float(target)):
            odd.add((where, arm))
    assert odd == ODD


def test_what_fedimpro_says_twice_is_the_same():
    here = "CIFAR-10, a=0.1, E=1, K=10"
    first = at("fedimpro/table1", "FedImpro", here)
    for path, column in (("table3", "9th layer"), ("table7", "σ=0")):
        again = at(f"fedimpro/{path}", "FedImpro", column)
        assert again.paper_value == first.paper_value
        assert again.key("paper") == first.key("paper")
    for row in ("FedAvg", "FedImpro"):
        for a, E, K, part in ((0.1, 1, 10, 5), (0.05, 1, 10, 5), (0.1, 1, 100, 10)):
            one = at("fedimpro/table1", row, f"CIFAR-10, a={a}, E={E}, K={K}")
            other = at("fedimpro/table11", row, f"a={a}, E={E}, {part} of {K}")
            assert one.paper_value == other.paper_value
            assert one.key("paper") == other.key("paper")
    assert typed("fedimpro/table10", "FedImpro, CIFAR-100", "accuracy") == 70.28


def test_fedimpros_settings_are_what_they_are_called():
    deep = at("fedimpro/table3", "FedImpro", "17th layer").settings["paper"]
    assert deep.network == {"split": "stage4"}
    pushed = at("fedimpro/table6", "SCAFFOLD", "SVHN, a=0.1, E=1, K=100")
    local = pushed.settings["paper"].local
    assert (local["momentum"], local["lr"], local["epochs"]) == (0.9, 0.001, 1)
    assert pushed.settings["paper"].options == {"factor": False, "after": True}
    noisy = at("fedimpro/table7", "FedImpro", "σ=0.05").settings
    assert all(s.options["noise"] == 0.05 for s in noisy.values())
    many = at("fedimpro/table11", "FedAvg", "a=0.1, E=1, 20 of 100").settings["paper"]
    assert many.participants == 20 and many.scenario["clients"] == 100
    long = at("fedimpro/figure8", "FedAvg", "10,000 rounds, rate decayed")
    setting = long.settings["paper"]
    assert setting.rounds == 10_000 and setting.local["decay"] == 0.997
    writers = at("fedimpro/table8", "FedImpro", "accuracy").settings["paper"]
    assert writers.kind == "natural" and writers.scenario == {}
    assert writers.method == "fedimpro" and writers.local["lr"] == 0.05


# -- rFedAvg -----------------------------------------------------------------------


def test_rfedavgs_summary_fits_its_tables():
    """Gains over FedAvg: 0.95 to 2.19 points across silos, 0.34 to 3.50 otherwise."""
    for table, least, most in (("table1", 0.95, 2.19), ("table2", 0.34, 3.50)):
        path = f"rfedavg/{table}"
        gains = [
            max(typed(path, row, c) for row in ("rFedAvg", "rFedAvg+"))
            - typed(path, "FedAvg", c)
            for c in TABLES[path].columns
            if c.endswith((" 0 %", "non-IID"))
        ]
        low, high = min(gains), max(gains)
        where = (table, gains)
        assert high == pytest.approx(most, abs=1e-9), where
        # across silos Sent140's 0.66 is left out of the summary
        low = sorted(gains)[1] if table == "table1" else low
        assert low == pytest.approx(least, abs=1e-9), where


def test_rfedavgs_bytes_are_features_and_an_envelope():
    """760 bytes for every vector, beside 4 for each of its numbers."""
    width = models.describe("mcmahan_cnn", (1, 28, 28), 10).features
    for network, d in (("CNN", width), ("RNN", 256)):
        for how, vectors in (("silo", 20), ("device", 100)):
            column = f"{network}, cross-{how}"
            one, every = (typed("rfedavg/table3", r, column) for r in COPIES)
            assert one == 4 * d + 760 and every == vectors * one
            assert at("rfedavg/table3", "rFedAvg", column).tolerance == vectors * 760


COPIES = ("rFedAvg+", "rFedAvg")


def test_a_parameter_is_all_that_rfedavgs_study_changes():
    base = at("rfedavg/figure9", "rFedAvg+", "λ × 1").settings["paper"].plain()
    for column, name, value in (
        ("λ × 10", "options", {"lam": 1e-4, "form": "code"}),
        ("SR = 0.5", "participants", 250),
        ("E = 2", "local", base["local"] | {"epochs": 2}),
    ):
        plain = at("rfedavg/figure9", "rFedAvg+", column).settings["paper"].plain()
        assert plain == base | {name: value}
    fewer = at("rfedavg/figure9", "FedAvg", "N = 50").settings["paper"]
    assert fewer.participants == 10 and fewer.scenario["clients"] == 50
    same = at("rfedavg/table2", "rFedAvg+", "CIFAR-10 0 %")
    assert same.settings["paper"].plain() == base
    cheap = at("rfedavg/figure8", "q-FedAvg", "500 clients, low cost")
    setting = cheap.settings["paper"]
    assert (setting.participants, setting.local["epochs"]) == (50, 10)


# -- FedCollab ---------------------------------------------------------------------


def test_fedcollabs_shares_are_of_twenty_clients():
    shares = [c for c in TABLES["fedcollab/table1"].cells if c.metric == "ipr"]
    found = [c.paper_value for c in shares if c.paper_value is not None]
    assert len(found) == 8
    assert all(v * 20 == pytest.approx(round(v * 20)) for v in found)


def test_fedcollabs_numbers_of_parameters():
    """512 features and 10 labels, 200 units, one logit; the usual ResNet-18."""
    inside = 512 + 10
    parts = "Client discriminator (MLP)", "FL model (ResNet-18)"
    mlp = {c: typed("fedcollab/table5", parts[0], c) for c in WHAT}
    assert mlp["multiplications"] == inside * 200 + 200
    assert mlp["parameters"] == (inside + 2) * 200 + 200 + 1
    net = models.describe("resnet18", (3, 32, 32), 10, stem="imagenet")
    assert typed("fedcollab/table5", parts[1], "parameters") == net.parameters


WHAT = ("multiplications", "parameters")


def test_fedcollab_is_the_same_wherever_it_is_shown():
    """The C that is chosen is in every table; Figure 6 has it, and the constant."""
    acc = "Acc, label shift, FMNIST"
    first = at("fedcollab/table1", "FedAvg + FedCollab", acc)
    for path in ("fedcollab/table2", "fedcollab/table3"):
        cell = at(path, "FedCollab", acc)
        assert cell.paper_value == first.paper_value == 0.9247
        assert all(cell.key(s) == first.key(s) for s in ("tiny", "small", "paper"))
    fixed = at("fedcollab/table1", "FedAvg + FedCollab, fixed C", acc)
    same = at("fedcollab/figure6", "accuracy", "C = 10")
    assert fixed.paper_value == same.paper_value == 0.9247
    assert all(fixed.key(s) == same.key(s) for s in ("tiny", "small", "paper"))
    assert fixed.settings["paper"].options["C"] == 10
    chosen = at("fedcollab/figure6", "accuracy", "C = 8")
    assert fixed.key("small") == first.key("small")  # where the constant is chosen
    assert fixed.key("paper") != first.key("paper") == chosen.key("paper")
    other = at("fedcollab/figure6", "accuracy", "C = 20").settings
    assert other["paper"].options["C"] == 20 and other["small"].options["C"] == 10


@pytest.mark.slow
@pytest.mark.parametrize("shift", [worlds.LABEL, worlds.FEATURE])
@pytest.mark.parametrize("scale", ("tiny", "small", "paper"))
def test_fedcollabs_c_is_the_best_of_the_runs_that_it_is_chosen_by(shift, scale):
    """At a scale where they are not all played, the cells say so."""
    best = tuning.best(the_book().found, shift, scale)
    assert best is not None or scale != "small"
    used = worlds.chosen(shift, scale)["C"]
    ours = at("fedcollab/table1", worlds.OURS, f"Acc, {shift}")
    assert ours.settings[scale].options["C"] == used
    assert ("yet to be played" in ours.said(scale)) is (
        best is None and scale != "tiny"
    )
    if best is not None:
        assert used == worlds.looking(shift, scale, best)["C"]


def test_the_best_of_equals_is_the_middle_one():
    def found(values: Mapping[float, float | None], seeds=tuning.SEEDS) -> Found:
        lines = {}
        for times, value in values.items():
            cell = at("fedcollab/tuning", tuning.row(times), worlds.LABEL)
            lines[cell.key("small")] = {s: {"value": value} for s in seeds}
        return Found(lines)

    flat = dict.fromkeys(worlds.TRIED, 70.0)
    args = worlds.LABEL, "small"
    assert tuning.best(found(flat), *args) == 0.8
    assert tuning.best(found(flat | {0.1: 69.0, 0.25: 69.0}), *args) == 1.0
    assert tuning.best(found(flat | {0.5: 71.0, 0.25: 71.0}), *args) == 0.5
    assert tuning.best(found(flat | {1.0: None, 1.2: 69.0, 2.0: 70.5}), *args) == 2.0
    assert tuning.best(found(flat, seeds=(0, 1, 2)), *args) is None
    assert tuning.best(found({1.0: 70.0}), *args) is None
    assert tuning.best(found(flat), worlds.CONCEPT, "paper") is None


@pytest.mark.slow
def test_seeds_that_choose_are_not_reported():
    """Their lines have keys that no other cell has."""
    keys = {c.key(s) for c in TABLES["fedcollab/tuning"].cells for s in c.settings}
    others = {
        c.key(s)
        for path, table in TABLES.items()
        for c in table.cells
        for s in c.settings
        if path != "fedcollab/tuning"
    }
    assert len(keys) > 30 and not keys & others
    lines = the_book().found.lines
    assert {seed for key in keys & lines.keys() for seed in lines[key]} == {
        *tuning.SEEDS
    }


def test_coalitions_are_those_of_fedcollab_whatever_trains_in_them():
    acc = "Acc, label shift, FMNIST"
    ours = at("fedcollab/table1", "FedAvg + FedCollab", acc)
    ditto = at("fedcollab/table1", "Ditto + FedCollab", acc)
    alone = at("fedcollab/table1", "Ditto", acc)
    for scale, setting in ditto.settings.items():
        groups = dict(setting.parts["groups"])
        assert groups.pop("of") == "fedcollab"
        assert groups == ours.settings[scale].options
        assert not alone.settings[scale].parts
        gains = at("fedcollab/table1", "Ditto + FedCollab", acc.replace("Acc", "IPR"))
        assert gains.settings[scale] == setting
        assert gains.against[scale].method == "local"
        assert gains.against[scale].kind == setting.kind
