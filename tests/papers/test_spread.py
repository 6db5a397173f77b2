"""The deviations that the papers print after ±, where they print any."""

from collections import Counter
from dataclasses import replace

import pytest

from fedlab_core.errors import InputError
from fedlab_ledger import Cell
from fedlab_ledger.papers import TABLES
from tests.ledger_cases import lettered

CELLS = [cell for table in TABLES.values() for cell in table.cells]
# FedLAW prints none; FedCollab's are not in the text at hand.
PRINTED = {
    "feddisco/table1": 9 * 7,
    "feddisco/table10": 7 * 2,
    "fedimpro/table1": 16 * 6,
    "fedimpro/table11": 8 * 2,
    "rfedavg/table1": 6 * 8,
    "rfedavg/table2": 6 * 8,
}


def at(path: str, row: str, column: str) -> Cell:
    cell = TABLES[path].at(row, column)
    assert cell is not None, (path, row, column)
    return cell


def test_every_table_has_as_many_as_it_prints():
    there = [c for c in CELLS if c.paper_spread is not None]
    assert Counter(f"{c.paper}/{c.table}" for c in there) == PRINTED
    assert all(c.paper_value is not None for c in there)


# Corners and middles of each table, read again from the papers' texts.
@pytest.mark.parametrize(
    ("path", "row", "column", "number", "spread"),
    [
        ("feddisco/table1", "FedAvg", "HAM10000 NIID-1", 42.54, 0.59),
        ("feddisco/table1", "FedAvg", "FMNIST NIID-2", 86.46, 0.03),
        ("feddisco/table1", "FedProx", "HAM10000 NIID-1", 44.76, 1.35),
        ("feddisco/table1", "FedNova", "CINIC-10 NIID-2", 50.37, 0.73),
        ("feddisco/table1", "FedDC", "CIFAR-10 NIID-2", 67.89, 0.44),
        ("feddisco/table1", "FedDisco", "CINIC-10 NIID-2", 53.84, 0.08),
        ("feddisco/table1", "FedDisco", "FMNIST NIID-2", 87.85, 0.20),
        ("feddisco/table10", "FedAvg", "accuracy", 54.27, 3.44),
        ("feddisco/table10", "SCAFFOLD + Disco", "accuracy", 64.10, 0.76),
        ("feddisco/table10", "MOON + Disco", "accuracy", 58.79, 3.07),
        ("fedimpro/table1", "FedAvg", "CIFAR-10, a=0.1, E=1, K=10", 83.65, 2.03),
        ("fedimpro/table1", "SCAFFOLD", "CIFAR-10, a=0.05, E=1, K=10", 33.6, 3.87),
        ("fedimpro/table1", "FedDyn", "FMNIST, a=0.05, E=1, K=10", 83.20, 1.19),
        ("fedimpro/table1", "FedImpro", "SVHN, a=0.1, E=5, K=10", 91.58, 0.72),
        ("fedimpro/table1", "FedImpro", "CIFAR-100, a=0.1, E=1, K=100", 56.07, 0.75),
        ("fedimpro/table11", "FedAvg", "a=0.05, E=1, 10 of 10", 78.36, 1.58),
        ("fedimpro/table11", "FedImpro", "a=0.1, E=1, 20 of 100", 85.39, 1.15),
        ("rfedavg/table1", "FedAvg", "MNIST 0 %", 97.07, 0.34),
        ("rfedavg/table1", "FedProx", "MNIST 0 %", 85.74, 5.61),
        ("rfedavg/table1", "q-FedAvg", "Sent140 IID", 60.07, 5.36),
        ("rfedavg/table1", "rFedAvg+", "CIFAR-10 0 %", 47.41, 0.32),
        ("rfedavg/table2", "q-FedAvg", "MNIST 0 %", 74.42, 10.17),
        ("rfedavg/table2", "rFedAvg", "CIFAR-10 0 %", 43.09, 1.85),
        ("rfedavg/table2", "rFedAvg+", "Sent140 IID", 77.74, 0.16),
    ],
)
def test_some_are_the_papers(path, row, column, number, spread):
    cell = at(path, row, column)
    assert (cell.paper_value, cell.paper_spread) == (number, spread)


def test_what_fedimpro_prints_twice_is_the_same():
    seen = 0
    for cell in TABLES["fedimpro/table11"].cells:
        alike = [
            c
            for c in TABLES["fedimpro/table1"].cells
            if c.row == cell.row and c.settings["paper"] == cell.settings["paper"]
        ]
        for c in alike:
            same = (c.paper_value, c.paper_spread)
            assert same == (cell.paper_value, cell.paper_spread)
            seen += 1
    assert seen == 8


def test_what_is_no_deviation_over_trials_says_so():
    """Of rounds: so FedDisco's Table 10, and rFedAvg's by its authors' code."""
    for cell in (c for c in CELLS if c.paper_spread is not None):
        rounds = cell.paper == "rfedavg" or cell.table == "table10"
        assert ("±" in cell.reading and "rounds" in cell.reading) is rounds, cell.name
    for cell in TABLES["feddisco/table10"].cells:
        if cell.column == "accuracy":
            own = at("feddisco/table10", cell.row, "deviation").paper_value
            assert cell.paper_spread == own


def test_a_spread_is_not_in_the_key_and_needs_a_number():
    cell = lettered()
    assert replace(cell, paper_spread=1.0).key("tiny") == cell.key("tiny")
    with pytest.raises(InputError, match="a spread without a number"):
        replace(cell, paper_value=None, paper_spread=1.0)
    with pytest.raises(InputError, match="paper_spread must be a number of 0 or more"):
        replace(cell, paper_spread=-1.0)
