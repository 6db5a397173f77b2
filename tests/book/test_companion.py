"""A paper figure by figure: nothing forgotten, every sentence carried, nothing run."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedlab_book.findings import Unsupported
from fedlab_book.ledger import companion
from fedlab_book.ledger.companion import Entry, broken, entries, opened_paper
from fedlab_book.ledger.drawings import Ran, differences, panel_of, several, told
from fedlab_core.errors import InputError
from fedlab_ledger.model.describe import network
from fedlab_ledger.papers import PAPERS
from tests.once import the_book
from tests.test_architecture import MODULES, imported
from tools import paths

PAGES = sorted((paths.ROOT / "notebooks").glob("*_figure_by_figure.ipynb"))
SHOWN = [path.stem.removesuffix("_figure_by_figure") for path in PAGES]

every_paper = pytest.mark.parametrize("paper", SHOWN)


@every_paper
def test_every_table_and_figure_is_there_once(paper: str):
    cited = {name for name, sheet in PAPERS[paper].numbers.items() if sheet.cited}
    named = [name for entry in entries(paper) for name in entry.of]
    assert sorted(named) == sorted(PAPERS[paper].numbers.keys() - cited)


@every_paper
@pytest.mark.slow
def test_every_sentence_is_carried_and_what_was_measured_has_one(paper: str):
    book = the_book()
    mine = opened_paper(book, paper)
    for entry in entries(paper):
        assert broken(entry, mine) == [], entry.found
        tables = [book.tables[f"{paper}/{name}"] for name in entry.of]
        assert bool(entry.found) == any(map(book.measured, tables)), entry.title


@pytest.mark.parametrize(
    "verdict, claim",
    [
        ("opposite", "table8: over FedAvg, 25 %"),
        ("same", "table4: over FedAvg, IID, 50 clients"),
        ("open", "table8: over FedAvg, 25 %"),
        ("matches", "table8: over FedAvg, 25 %"),
        ("cells", "table8 FedLAW | 25 % < FedAvg | 25 %"),
        ("cells", "table8 FedLAW | 25 % ~ FedAvg | 25 %"),
        ("cells", "figure4 loss more at 0.9 | FedAvg > 0"),
        ("fits", "table3 FedDF | FMNIST MLP, α=0.1"),
        ("less", "table3: over FedAvg, FMNIST MLP, α=0.1"),
        ("one lost", "table8: over FedAvg, 25 %"),
    ],
)
@pytest.mark.slow
def test_a_false_sentence_is_refused(verdict: str, claim: str, monkeypatch):
    false = Entry(("table8",), "T", "They say.", "A planted one.", {verdict: [claim]})
    assert broken(false, opened_paper(the_book(), "fedlaw")) == [claim]
    monkeypatch.setattr(companion, "entries", lambda paper: [false])
    with pytest.raises(Unsupported, match="fedlaw: .* carry 'A planted one.': "):
        companion.companion(the_book(), "fedlaw")


@pytest.mark.slow
def test_the_larger_gain_over_all_rounds_is_not_the_smaller_nor_one_without_runs():
    smaller = "table3: FedAvg, accuracy"
    larger, unrun = "table3: FedAvg, a=0.7, b=0.05", "table3: FedAvg, 40 + 10 clients"
    mine = opened_paper(the_book(), "feddisco")
    false = [f"{smaller} > {larger}", f"{larger} > {larger}", f"{larger} > {unrun}"]
    holds = {"more over rounds": [f"{larger} > {smaller}", *false]}
    planted = Entry(("table3",), "T", "They say.", "A planted one.", holds)
    assert broken(planted, mine) == false


@pytest.mark.slow
def test_braces_stand_for_what_two_groups_of_seeds_do(monkeypatch):
    """FedCollab with C = 10: some seeds find the coalitions, the others do not."""
    name = "Local, label shift, FMNIST, fixed C"
    holds = {"open": [name]}
    split = Entry(("table1",), "T", "They say.", f"So: {{{name}}}.", holds)
    monkeypatch.setattr(companion, "entries", lambda paper: [split])
    gains = opened_paper(the_book(), "fedcollab").claim(name).by_seed.values()
    up, down = ([100 * v for v in gains if (v > 0) is side] for side in (True, False))
    said = f"So: {len(up)} seeds by {np.mean(up):+.1f} and {len(down)} seeds by "
    said += f"−{abs(np.mean(down)):.1f} points."
    assert said in str(companion.companion(the_book(), "fedcollab").data)
    false = replace(split, found="So: {who gains, label shift, FMNIST}.")
    monkeypatch.setattr(companion, "entries", lambda paper: [false])
    with pytest.raises(Unsupported, match="are one group"):
        companion.companion(the_book(), "fedcollab")


def test_fedimpros_network_is_as_deep_as_its_page_says():
    """Two hidden layers at the small scale; ResNet-18 is named after its layers."""
    cell = the_book().tables["fedimpro/figure3"].cells[0]
    assert network(cell.settings["small"]) == "MLP 128-128"
    assert network(cell.settings["paper"]) == "ResNet-18"


def test_a_sentence_needs_something_that_carries_it():
    mine = opened_paper(the_book(), "fedlaw")
    bare = Entry(("table8",), "T", "They say.", "Just so.")
    with pytest.raises(InputError, match="T: holds what"):
        broken(bare, mine)
    for holds in ({"sure": ["x"]}, {"same": ["x"]}, {"cells": ["table8 x | y > 0"]}):
        with pytest.raises(InputError, match=r"unknown 'sure'|no claim|no cell"):
            broken(replace(bare, holds=holds), mine)


def test_a_comparison_is_paired_by_seed_at_one_scale():
    mine = opened_paper(the_book(), "fedlaw")
    gain = mine.claim("table8: over FedAvg, 25 %")
    ours = differences(mine, "table8 FedLAW | 25 % > FedAvg | 25 %")
    assert ours.mean() == pytest.approx(gain.verdict.mean)
    # half of the cells were never run
    with pytest.raises(InputError, match="not measured at one scale"):
        differences(mine, "table8 FedDF | 25 % > FedAvg | 25 %")


def test_shares_are_shown_in_points():
    mine = opened_paper(the_book(), "fedcollab")
    place = "table1 FedAvg + FedCollab | Acc, feature shift, CIFAR-10"
    assert 50 < np.mean(differences(mine, f"{place} > 0")) < 70


def test_a_panel_says_what_it_cannot_draw():
    mine = opened_paper(the_book(), "fedlaw")
    with pytest.raises(InputError, match="kind='pie': one of gains"):
        panel_of(mine, {"kind": "pie"})
    with pytest.raises(InputError, match="'table5: over FedAvg, ResNet20' was not run"):
        rows = {"deep": "table5: over FedAvg, ResNet20"}
        panel_of(mine, {"kind": "gains", "rows": rows})


def test_on_what_a_picture_ran():
    ran = [
        Ran("letters, MLP 8", f"letters, MLP 8, {n} clients, {t} rounds", s)
        for n, t, s in ((5, 9, 8), (7, 9, 3))
    ]
    assert told(ran[:1], ran[0].whole) == ""
    assert (
        told(ran, "")
        == "Ran on letters, MLP 8, 5 or 7 clients, 9 rounds, 3 to 8 seeds."
    )
    assert several(["5 clients", "2 of 5 clients"]) == "5 clients or 2 of 5 clients"
    assert several(["a", "b", "a", "c"]) == "a, b or c"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_trains_nothing(path: Path):
    cells = json.loads(path.read_text())["cells"]
    code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
    runs = ("federate", "run_all", "Bench", "fedlab_core.")
    assert [word for text in code[1:] for word in runs if word in text] == []


def test_nothing_that_trains_is_imported_for_it():
    modules = ("companion", "drawings")
    found = [imported(MODULES[f"fedlab_book.ledger.{name}"]) for name in modules]
    rooms = {
        n.split(".")[1] for n in set().union(*found) if n.startswith("fedlab_core")
    }
    assert rooms == {"errors"}


@pytest.mark.slow
def test_nearer_to_the_papers_number_is_by_every_seed():
    mine = opened_paper(the_book(), "rfedavg")
    own, others = "table2 FedAvg | MNIST 0 %", "rfedavg-inputs: inputs from -1 to 1"
    unrun = "table2 rFedAvg+ | MNIST 0 %"
    holds = {"nearer": [f"{own} < {others}", f"{unrun} < {others}"], "not run": [unrun]}
    planted = Entry(("table2",), "T", "They say.", "A planted one.", holds)
    assert broken(planted, mine) == holds["nearer"][1:]
    run = replace(planted, holds={"not run": [own]})
    assert broken(run, mine) == [own]
    same = "table3 FedAvg | accuracy < table3: FedAvg, accuracy"  # the same runs
    as_near = replace(planted, holds={"nearer": [same]})
    assert broken(as_near, opened_paper(the_book(), "feddisco")) == [same]
