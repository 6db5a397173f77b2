"""FedDisco's numbers against what the paper says of them, and its worlds by hand."""

import numpy as np
import pytest

from fedlab_ledger import Cell, Setting
from fedlab_ledger.model.verdict import DIFFERS
from fedlab_ledger.papers import TABLES
from fedlab_ledger.papers.feddisco import PAPER
from fedlab_ledger.papers.feddisco.tables import target
from fedlab_ledger.papers.feddisco.worlds import ARMS
from fedlab_ledger.run.build import data_of, scenario_of
from tests.once import the_book

# Printed in parentheses in Table 2: what Disco adds, method by method
GAINS = {
    "FedAvg": "8.41 1.58 2.70 0.57 2.11 0.30 1.10",
    "FedAvgM": "7.46 1.48 1.72 0.69 1.68 0.05 0.40",
    "FedProx": "5.72 1.35 2.72 0.55 2.32 0.27 0.48",
    "SCAFFOLD": "2.54 0.61 2.17 0.58 0.32 0.09 0.98",
    "FedDyn": "4.61 1.91 1.36 1.66 1.15 0.19 0.80",
    "FedNova": "6.51 1.47 2.22 0.77 1.86 0.23 1.05",
    "MOON": "6.99 1.37 2.10 1.18 1.55 0.21 1.15",
    "FedDC": "3.77 1.03 1.05 0.44 0.82 0.32 0.54",
}
# and in Tables 3 and 10: points gained, rounds saved, in % of those without Disco
PARTIAL = {
    "FedAvg": (7.32, 38, 65.52),
    "FedAvgM": (2.90, 16, 44.44),
    "FedProx": (4.69, 24, 54.55),
    "SCAFFOLD": (3.67, 14, 41.18),
    "FedDyn": (3.09, 6, 18.18),
    "FedNova": (4.02, 37, 60.66),
    "MOON": (4.49, 32, 57.14),
    "FedDC": (1.72, 7, 25.93),
}

ODD = ("FedProx", "FMNIST NIID-1")  # .27 is printed between 89.28 and 89.58


def at(path: str, row: str, column: str) -> Cell:
    cell = TABLES[f"feddisco/{path}"].at(row, column)
    assert cell is not None, (path, row, column)
    return cell


def typed(path: str, row: str, column: str) -> float:
    value = at(path, row, column).paper_value
    assert value is not None
    return value


def test_everything_is_declared():
    names = {f"table{n}" for n in (*range(1, 8), *range(9, 14))}
    names |= {f"figure{n}" for n in (2, 4, 5, 8)}
    names |= {"stragglers", "regression", "femnist"}
    assert {t.name for t in TABLES.values() if t.paper == "feddisco"} == names


def test_what_differs_in_table_3_is_read_with_the_papers_own_scatter():
    """As the folder's docstring says: ten rounds' deviation, over the root of ten."""
    book, tables = the_book(), TABLES["feddisco/table10"]
    columns = [c for c in tables.cells if c.column == "deviation"]
    errors = {c.row: (c.paper_value or 0) / 10**0.5 for c in columns}
    assert 1 < max(errors.values()) < 1.3
    near = set()
    for s in book.cells(book.tables["feddisco/table3"]):
        if s.word == DIFFERS and s.cell.column == "accuracy":
            apart = abs(s.verdict.mean - (s.cell.paper_value or 0)) - s.verdict.half
            same, _, _ = s.cell.row.partition(",")  # with other constants, too
            if apart < s.cell.tolerance + errors[same]:
                near.add(s.cell.row)
    assert near == {"SCAFFOLD", "FedDyn"}


@pytest.mark.parametrize("method", GAINS)
def test_the_gains_are_those_that_the_paper_prints(method):
    said = [float(v) for v in GAINS[method].split()]
    for gain, column in zip(said, TABLES["feddisco/table1"].columns, strict=True):
        without = typed("table1", method, column)
        found = typed("table2", f"{method} + Disco", column) - without
        fits = found == pytest.approx(gain, abs=0.006)
        assert fits != ((method, column) == ODD), column


@pytest.mark.parametrize("method", PARTIAL)
def test_partial_participation_gains_what_the_paper_prints(method):
    gain, saved, share = PARTIAL[method]
    for path in ("table3", "table10"):
        if method not in TABLES[f"feddisco/{path}"].rows:
            assert (path, method) == ("table10", "FedDC")  # not in it
            continue
        both = [typed(path, f"{method}{s}", "accuracy") for s in ("", " + Disco")]
        assert both[1] - both[0] == pytest.approx(gain, abs=0.006)
        a, b = (typed(path, f"{method}{s}", "to 55 %") for s in ("", " + Disco"))
        assert a - b == saved
        assert 100 * (a - b) / a == pytest.approx(share, abs=0.006)


def test_what_the_text_says_of_its_tables():
    ham = "HAM10000 NIID-1"
    ratio = typed("table2", "FedAvg + Disco", ham) / typed("table1", "FedAvg", ham)
    assert 100 * (ratio - 1) == pytest.approx(19.8, abs=0.05)
    kl = typed("table7", "KL", "CIFAR-10 NIID-1")
    assert kl == typed("table2", "FedAvg + Disco", "CIFAR-10 NIID-1")
    for row in ("reformulated", "original"):  # both fall, together
        values = [cell.paper_value or 0 for cell in TABLES["feddisco/table6"].cells]
        assert (np.diff(values[:5]) < 0).all() and (np.diff(values[5:]) < 0).all(), row
    # FedDisco is ahead of everybody in every setting of Tables 1 and 5
    for path in ("table1", "table5"):
        for column in TABLES[f"feddisco/{path}"].columns:
            best = typed(path, "FedDisco", column)
            assert all(typed(path, row, column) < best for row in ARMS)


def paper(path: str, row: str, column: str) -> Setting:
    return at(path, row, column).settings["paper"]


def test_settings_of_the_paper_by_hand():
    late = paper("table9", "MOON + Disco", "ρ=10")
    assert list(late.tail or ()) == [10, 1] and late.kind == "dirichlet"
    assert paper("table5", "FedAvg", "ρ=50").tail == [50, 50]
    news = paper("table4", "FedProx", "partial")
    assert news.scenario == {"biased": 40, "unbiased": 10} and news.participants == 10
    assert paper("table4", "FedProx", "full").scenario == {"biased": 4, "unbiased": 1}
    fine = paper("table11", "FedDC", "CIFAR-100 NIID-1")
    assert fine.scenario["alpha"] == 5 and fine.network["groups"] == 2
    slow = paper("stragglers", "FedAvg", "CIFAR-10 NIID-2")
    assert slow.local["iterations"] == [50, 500] and slow.kind == "niid2"
    assert paper("table12", "FedAvg", "round 40").rounds == 40
    assert paper("figure2", "accuracy with size", "CIFAR-10").rounds == 1
    grid = paper("figure4", "a=0.7, b=0.05", "MOON, CIFAR-10 NIID-1")
    assert grid.weigh == {"name": "disco", "a": 0.7, "b": 0.05}
    assert grid.method == "moon"


def test_what_is_shown_twice_is_trained_once():
    """Figures' usual settings are those of Tables 1, 2 and 9."""
    with_disco = paper("table2", "FedAvg + Disco", "CIFAR-10 NIID-1").key
    assert paper("figure5", "FedAvg + Disco", "K=10").key == with_disco
    usual = ("a=0.5, b=0.1", "FedAvg, CIFAR-10 NIID-1")
    assert paper("figure4", *usual).key == with_disco
    without = paper("table1", "FedAvg", "CIFAR-10 NIID-1").key
    assert paper("figure5", "FedAvg", "β=0.5").key == without
    tail = paper("figure8", "FedAvg", "tail")
    assert tail.key == paper("table9", "FedAvg", "ρ=10").key
    assert at("table10", "MOON", "accuracy").key("paper") == at(
        "table3", "MOON", "accuracy"
    ).key("paper")


def test_the_target_of_a_long_tail_is_the_test_sets():
    s = at("table5", "FedDisco", "ρ=10").settings["small"]
    data = data_of(s)
    share = np.bincount(data.y_test) / len(data.y_test)
    assert s.weigh is not None
    assert np.allclose(share, s.weigh["target"], atol=0.003)
    assert target(1.0) == [0.1] * 10
    made = scenario_of(s, data, 0)
    held = made.counts.sum(0)
    assert held[0] / held[-1] == pytest.approx(10, rel=0.02)


def test_the_main_claims_are_there():
    said = {claim.name: claim for claim in PAPER.claims}
    assert said["table2: FedAvg, FMNIST NIID-2"].gain == pytest.approx(1.10)
    assert said["table3: FedAvg, accuracy"].gain == pytest.approx(7.32)
    assert said["table10: FedAvg, to 55 %"].gain == -38
    assert said["figure8: tail"].gain == 8 and said["figure8: head"].sign == 0
    assert said["stragglers: FedAvg, CIFAR-10 NIID-2"].gain == pytest.approx(2.99)
    for base in ARMS:
        assert f"table2: {base}, CIFAR-10 NIID-2" in said
