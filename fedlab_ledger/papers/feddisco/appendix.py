"""FedDisco's Tables 6 and 12, and the numbers of its appendix that no table has."""

from fedlab_ledger.model import Cell, Table
from fedlab_ledger.papers.common import (
    TINY,
    TINY_LOCAL,
    Plain,
    joined,
    numbers,
    settings,
    table,
)
from fedlab_ledger.papers.feddisco.worlds import DISCO, FEDAVG, N2, Place, cell

ROUNDS = (1, 10, 20, 30, 40)
STEPS = (0, 100, 200, 300, 400)
TABLE_6 = {
    "reformulated": "0.0684 0.0670 0.0663 0.0660 0.0658",
    "original": "0.0524 0.0513 0.0507 0.0504 0.0502",
}
TABLE_12 = {
    "FedAvg": "178.05 226.38 73.65 94.49 89.97",
    "FedAvg + Disco": "167.40 110.63 74.70 84.72 73.45",
}
STRAGGLERS = {"FedAvg": 60.21, "FedAvg + Disco": 63.20}
REGRESSION = {"FedAvg": 0.432, "FedAvg + Disco": 0.407}
FEMNIST = {"FedAvg": 76.40, "FedAvg + Disco": 78.36}
_BOUND = (
    "not a training run, and the paper does not give its constants: the chapter “Where "
    "the weights come from” computes both values with others"
)
_NUMBERS = "a number is predicted, and what is trained here are classes"
_WRITERS = "no small part of FEMNIST is at hand"


def _weights(row: str) -> tuple[Plain, ...]:
    return (FEDAVG, DISCO) if "Disco" in row else (FEDAVG,)


def _table_6() -> Table:
    cells = []
    for (row, name), value in table(TABLE_6, [f"step {n}" for n in STEPS]).items():
        more: Plain = {"unit": "bound", "tolerance": 0.001, "better": "low"}
        more |= {"where": "Table 6", "lacks": _BOUND, "metric": "last"}
        cells.append(Cell("feddisco", "table6", row, name, {}, value, **more))
    title = "The reformulated bound is minimised: its value and the bound's"
    return Table("feddisco", "table6", title, tuple(cells))


def _table_12() -> Table:
    place = Place("CIFAR-10", rounds=max(ROUNDS))
    says = (
        "the split and the clients' test data are not given: NIID-1, and the test set "
        "by the labels that a client has"
    )
    cells = []
    for row, text in TABLE_12.items():
        for t, value in zip(ROUNDS, numbers(text), strict=True):
            more: Plain = {"metric": f"at-{t}:clients.variance", "unit": "%²"}
            more |= {"tolerance": 20.0, "better": "low", "where": "Table 12"}
            over = ("table12", "FedAvg") if "Disco" in row else None
            at = (row, f"round {t}", value, place, *_weights(row))
            cells.append(cell("table12", *at, says=says, over=over, **more))
    title = "Variance of accuracy over clients"
    return Table("feddisco", "table12", title, tuple(cells))


def _stragglers() -> Table:
    cells = []
    place = Place("CIFAR-10", N2, steps=(50, 500))
    for row, value in STRAGGLERS.items():
        over = ("stragglers", "FedAvg") if "Disco" in row else None
        at = (row, "CIFAR-10 NIID-2", value, place, *_weights(row))
        more: Plain = {"where": "App. B.7", "notes": {"small": "8 to 80 steps"}}
        cells.append(cell("stragglers", *at, over=over, **more))
    title = "Clients that take 50 to 500 steps, drawn anew in every round"
    return Table("feddisco", "stragglers", title, tuple(cells))


def _regression() -> Table:
    more: Plain = {"unit": "loss", "tolerance": 0.01, "better": "low"}
    more |= {"where": "App. B.8", "metric": "last:loss", "lacks": _NUMBERS}
    cells = [
        Cell("feddisco", "regression", row, "Facebook comments", {}, value, **more)
        for row, value in REGRESSION.items()
    ]
    title = "The number of comments on a post is predicted: test loss"
    return Table("feddisco", "regression", title, tuple(cells))


def _femnist() -> Table:
    split: Plain = {"kind": "natural", "scenario": {"sample": 200, "min_size": 50}}
    paper = joined(
        {"dataset": "femnist", "model": "disco_cnn", "rounds": 100},
        {"local": {"lr": 0.01, "momentum": 0.9, "weight_decay": 1e-5}},
        {"local": {"epochs": 10, "batch_size": 64, "drop_last": True}},
        split,
        {"participants": 10},
    )
    clients = {"kind": "dirichlet", "scenario": {"clients": 5, "alpha": 0.5}}
    local = {"local": {**TINY_LOCAL, "momentum": 0.9}}
    tiny = joined(TINY, local, clients)
    notes = {
        "tiny": "NIID-1",
        "paper": "200 writers drawn of those with 50 samples, 10 a round",
    }
    cells = []
    for row, value in FEMNIST.items():
        made = settings(
            tiny=joined(tiny, *_weights(row)), paper=joined(paper, *_weights(row))
        )
        over = ("femnist", "FedAvg") if "Disco" in row else None
        more: Plain = {"where": "App. B.8", "notes": notes, "over": over}
        at = ("feddisco", "femnist", row, "FEMNIST")
        cells.append(Cell(*at, made, value, lacks=_WRITERS, **more))
    title = "Writers as clients: features differ too"
    return Table("feddisco", "femnist", title, tuple(cells))


TABLES = (_table_6(), _table_12(), _stragglers(), _regression(), _femnist())
