"""Notes on a cell: each is said only at its own scale, and is true there."""

import csv
import io

import pytest

from fedlab_core.errors import InputError
from fedlab_ledger import Cell
from fedlab_ledger.judge.show import as_csv, as_html, shown
from fedlab_ledger.model.lines import Found
from fedlab_ledger.model.store import Store
from fedlab_ledger.papers import PAPERS, TABLES
from fedlab_ledger.papers.common import noted
from tests.ledger_cases import lettered
from tools import paths

CELLS = [cell for p in PAPERS.values() for t in p.tables for cell in t.cells]
NAMES = {"letters": "letters", "fashion_mnist": "Fashion-MNIST", "mnist": "MNIST"}


def at(path: str, row: str, column: str) -> Cell:
    cell = TABLES[path].at(row, column)
    assert cell is not None, (path, row, column)
    return cell


def test_a_note_is_said_at_its_scale_and_the_reading_at_all():
    cell = lettered(reading="both", notes={"tiny": "one"})
    assert cell.said("tiny") == "both; one"
    assert cell.said("paper") == cell.said("-") == "both"
    assert lettered(notes={"tiny": "one"}).said("tiny") == "one"
    assert lettered().said("tiny") == ""


def test_a_note_at_no_scale_is_refused():
    with pytest.raises(InputError, match="unknown scale large"):
        lettered(notes={"large": "one"})


def test_no_table_has_a_note_where_nothing_is_run():
    every = [cell for table in TABLES.values() for cell in table.cells]
    assert all(cell.notes.keys() <= cell.settings.keys() for cell in every)


def test_notes_of_several_sources_are_joined_scale_by_scale():
    parts = {"small": "a", "paper": "b"}, {"small": "c", "paper": ""}, {"tiny": "d"}
    assert noted(("small", "paper"), *parts) == {"small": "a; c", "paper": "b"}
    assert noted(("small",), {}) == {}


def test_no_text_for_every_scale_names_one():
    for table in TABLES.values():
        for cell in table.cells:
            for text in (cell.reading, cell.where):
                starts = tuple(f"{scale}: " for scale in ("tiny", "small"))
                parts = text.split("; ")
                assert not [p for p in parts if p.startswith(starts)], cell.name


@pytest.mark.parametrize("paper", PAPERS)
def test_what_stands_in_is_named_at_the_small_scale_and_nowhere_else(paper):
    """Other data, fewer samples, another network, other clients."""
    seen = 0
    for cell in (c for c in CELLS if c.paper == paper and "small" in c.settings):
        small, whole = cell.settings["small"], cell.settings.get("paper")
        note = cell.notes.get("small", "")
        elsewhere = [cell.reading, cell.notes.get("paper", "")]
        if whole is None:
            assert NAMES[small.dataset] in note, cell.name
            continue
        if small.dataset != whole.dataset:
            assert NAMES[small.dataset] in note, cell.name
            assert not any("letters" in text for text in elsewhere), cell.name
        if small.sample is not None:
            assert f"{small.sample:,}" in note, cell.name
        if small.model != whole.model:
            kinds = ("a small network", "a small CNN", "an MLP")
            assert any(kind in note for kind in kinds), cell.name
        clients = [s.scenario.get("clients") for s in (small, whole)]
        if clients[0] != clients[1]:
            assert f"{clients[0]} clients" in note, cell.name
        epochs = [s.local.get("epochs", 1) for s in (small, whole)]
        if epochs[0] != epochs[1] and "E=" in f"{cell.row} {cell.column}":
            assert f"of {epochs[0]} epochs" in note, cell.name
        seen += 1
    assert seen > 10


def test_some_notes_are_what_is_run():
    small = at("rfedavg/figure9", "rFedAvg+", "λ × 10")
    assert "λ = 0.003," in small.notes["small"] and "λ" not in small.reading
    assert small.settings["small"].options["lam"] == pytest.approx(0.003)
    cut = at("fedimpro/table3", "FedImpro", "17th layer")
    assert cut.said("paper") == "cut after stage4"
    assert cut.said("small").endswith("a small CNN; cut after hidden2")
    ours = at("fedcollab/table1", "FedAvg + FedCollab", "Acc, feature shift, CIFAR-10")
    assert "letters" in ours.said("small") and "letters" not in ours.said("paper")
    assert "C = 15, images seen as 8 x 8 averaged pixels" in ours.said("paper")
    many = at("fedlaw/figure8", "FedLAW", "5000 proxy samples")
    small = "10 clients, 25 rounds of 5 epochs, a proxy set of 100 a class"
    assert many.said("small").endswith(small)
    late = at("feddisco/stragglers", "FedAvg", "CIFAR-10 NIID-2")
    assert late.said("small").endswith("8 to 80 steps") and not late.said("paper")


def test_a_shown_cell_says_what_holds_at_its_scale():
    table = TABLES["fedcollab/table1"]
    for cells, there in (
        (shown(table, Found(), "small"), True),
        (shown(table, Found(), "paper"), False),
    ):
        rows = list(csv.DictReader(io.StringIO(as_csv(table, cells))))
        first = next(r for r in rows if r["column"] == "Acc, label shift, FMNIST")
        assert ("12 clients with letters" in first["reading"]) is there
        assert ("12 clients with letters" in as_html(table, cells)) is there


@pytest.mark.slow
def test_whatever_was_played_of_a_cell_is_counted_with_the_seeds_that_are_its_own():
    """A search plays seeds of its own: with the rule's alone it would be “not run”."""
    found = Store(paths.ROOT / "results" / "ledger").read()
    for table in TABLES.values():
        for one in shown(table, found):
            here = one.cell.settings.get(one.scale)
            if here is not None and found.of(one.cell.key(one.scale)):
                assert one.status != "not run", one.cell.name
