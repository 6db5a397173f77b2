"""What FedImpro claims, as pairs of cells."""

from fedlab_ledger.model import Cell, Claim
from fedlab_ledger.papers.fedimpro import ablations, figures, tables

_TABLES = {t.name: t for t in (*tables.TABLES, *ablations.TABLES, *figures.TABLES)}
_AHEAD = "FedImpro ends higher than"
_HARD, _HARDER = "FMNIST, a=0.1, E=1, K=10", "FMNIST, a=0.05, E=1, K=10"
_CIFAR = "CIFAR-10, a=0.1, E=1, K=10"


def _at(name: str, row: str, column: str) -> Cell:
    found = _TABLES[name].at(row, column)
    assert found is not None, (name, row, column)
    return found


def _claim(name: str, sentence: str, one: tuple, other: tuple, **more) -> Claim:
    return Claim("fedimpro", name, sentence, _at(*one), _at(*other), **more)


def _beats(arm: str, column: str) -> Claim:
    ours, theirs = ("table1", "FedImpro", column), ("table1", arm, column)
    return _claim(f"{arm}, {column}", f"{_AHEAD} {arm}: {column}", ours, theirs)


CLAIMS = (
    *(_beats(arm, _HARD) for arm in tables.ARMS[:-1]),
    _beats("FedAvg", _HARDER),
    _beats("FedAvg", _CIFAR),
    _claim(
        "faster",
        "FedImpro learns faster than FedAvg",
        ("figure2", "FedImpro", "accuracy, all rounds"),
        ("figure2", "FedAvg", "accuracy, all rounds"),
    ),
    _claim(
        "less divergence",
        "after the first half, clients' models are less apart with FedImpro",
        ("figure2", "FedImpro", "divergence"),
        ("figure2", "FedAvg", "divergence"),
        sign=-1,
    ),
    _claim(
        "less divergence above the cut",
        "what trains on shared features is less apart",
        ("figure2", "FedImpro", "divergence of the head"),
        ("figure2", "FedAvg", "divergence of the head"),
        sign=-1,
    ),
    _claim(
        "low layers settle first",
        "FedAvg's low layers come together faster than its high ones",
        ("figure3", "below the cut", "CIFAR-10"),
        ("figure3", "above the cut", "CIFAR-10"),
        sign=-1,
    ),
    _claim(
        "not too high",
        "cut at the last stage, FedImpro gains less",
        ("table3", "FedImpro", "17th layer"),
        ("table3", "FedImpro", "9th layer"),
        sign=-1,
    ),
    _claim(
        "noise does not matter",
        "noise of .1 on the shared statistics changes nothing",
        ("table7", "FedImpro", "σ=0.1"),
        ("table7", "FedImpro", "σ=0"),
        sign=0,
        without=_at("table1", "FedAvg", _CIFAR),
    ),
)
