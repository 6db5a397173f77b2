"""FedLAW's numbers against what the paper says of them, and its worlds by hand."""

import numpy as np
import pytest

from fedlab_ledger import Cell, Setting
from fedlab_ledger.papers import TABLES
from fedlab_ledger.papers.fedlaw import PAPER, tables
from fedlab_ledger.papers.fedlaw.worlds import LawWorld, methods, scales


def at(path: str, row: str, column: str) -> Cell:
    cell = TABLES[f"fedlaw/{path}"].at(row, column)
    assert cell is not None, (path, row, column)
    return cell


def typed(path: str, row: str, column: str) -> float:
    value = at(path, row, column).paper_value
    assert value is not None
    return value


def paper(path: str, row: str, column: str) -> Setting:
    return at(path, row, column).settings["paper"]


def test_everything_is_declared():
    names = {f"table{n}" for n in range(1, 12)} | {f"figure{n}" for n in range(1, 15)}
    assert {t.name for t in TABLES.values() if t.paper == "fedlaw"} == names


def test_what_the_text_says_of_its_tables():
    for world in ("IID", "α=1"):
        # a stronger decay, a larger gamma; a larger rate, a smaller one
        gammas = [typed("table2", "γ", f"{world}, decay {d:g}") for d in tables.DECAYS]
        assert (np.diff(gammas) > 0).all()
        gammas = [typed("table10", "γ", f"{world}, rate {r:g}") for r in tables.RATES]
        assert (np.diff(gammas) < 0).all()
        # and a small rate is good for FedAvg
        rates = [
            typed("table10", "FedAvg", f"{world}, rate {r:g}") for r in tables.RATES
        ]
        assert (np.diff(rates) < 0).all()
    for column in (*TABLES["fedlaw/table4"].columns, *TABLES["fedlaw/table5"].columns):
        path = "table4" if "clients" in column else "table5"
        assert typed(path, "FedLAW", column) > typed(path, "FedAvg", column) + 0.9
    # the proxy set is nothing to FedAvg
    for world in ("IID", "α=1"):
        row = [typed("table6", "FedAvg", f"{world}, {p} proxy")
               for p in ("balanced", "long-tailed", "resampled")]  # fmt: skip
        assert len(set(row)) == 1
    # what matters more, by local epochs
    gaps = {
        column: typed("table11", "dataset size", column)
        - typed("table11", "heterogeneity degree", column)
        for column in ("E=1", "E=5")
    }
    assert gaps["E=1"] < 0 < gaps["E=5"]


def test_corners_of_the_tables():
    """Read again from the paper's text."""
    assert typed("table9", "ResNet8, α=0.1, γ=0.9", "accuracy") == 39.85
    assert typed("table9", "AlexNet, α=10, γ=0.93", "accuracy") == 75.33
    assert typed("table3", "FedProx", "CIFAR-100 SimpleCNN, α=100") == 9.49
    assert typed("table4", "FedDF", "α=1, 100 clients") == 22.51
    assert typed("table5", "FedLAW (SWA)", "DenseNet121") == 87.06
    assert typed("table6", "FedLAW", "α=1, resampled proxy") == 70.42
    assert typed("table7", "FedDF", "IID") == 39.03
    assert typed("table8", "FedLAW (SWA)", "75 %") == 65.51
    assert typed("table10", "adaptive GWS", "IID, rate 1") == 71.98
    assert typed("table11", "both", "E=1 and E=5") == 0.31


def test_settings_of_the_paper_by_hand():
    many = paper("table4", "Server-FT", "α=1, 100 clients")
    assert many.scenario["clients"] == 100 and many.network == {"depth": 20}
    assert many.local["epochs"] == 3 and many.proxy == {"per_class": 10}
    deep = paper("table5", "FedLAW", "WRN56-4")
    assert deep.model == "wrn56_4" and deep.proxy == {"per_class": 100}
    assert deep.options["statistics"] == "running"
    assert deep.local["statistics"] == "local" and deep.local["epochs"] == 1
    long = paper("table6", "FedDF", "IID, resampled proxy")
    assert long.proxy == {"per_class": 100, "rho": 10, "resample": True}
    assert list(paper("table7", "FedAvg", "IID").tail or ()) == [5, 1]
    wrong = paper("table8", "FedLAW", "25 %")
    assert wrong.scenario["corrupt"] == 0.25 and wrong.scenario["alpha"] == 100
    slow = paper("table10", "FedAvg", "IID, rate 0.5")
    assert slow.method == "fedavgm" and slow.options == {"beta": 0.0, "lr": 0.5}
    assert paper("table10", "γ", "α=1, rate 1.5").options["global_lr"] == 1.5
    assert paper("table2", "FedAvg", "IID, decay 0.001").local["weight_decay"] == 1e-3
    three = paper("figure12", "loss less at the best weights", "FedAvg")
    assert three.kind == "hybrid" and three.scenario["clients"] == 3
    assert three.rounds == 10
    few = paper("figure8", "FedLAW", "20 % of clients")
    assert few.participants == 4
    assert paper("figure8", "FedLAW", "5000 proxy samples").proxy == {"per_class": 500}


def test_rates_are_those_of_the_data():
    """Server: .01 on CIFAR-10, else .005. Clients: .08, and .01 on CIFAR-100."""
    rates = {
        "CIFAR-10": (0.01, 0.08),
        "CIFAR-100": (0.005, 0.01),
        "FMNIST": (0.005, 0.08),
    }
    for data, (server, clients) in rates.items():
        world = LawWorld(data=data)
        how = {
            scale: methods(world, scale)["FedLAW"]
            for scale in ("tiny", "small", "paper")
        }
        made = scales(world, how)["paper"]
        assert made.options == {"server_epochs": 100, "lr": server}
        assert made.local["lr"] == clients


def test_what_is_shown_twice_is_trained_once():
    """Accuracy, gamma and norms of one run; Figure 9's usual skews are Figure 2's."""
    keys = {
        paper("figure2", row, "IID, E=2").key
        for row in ("adaptive GWS", "γ", "norm of the step")
    }
    keys |= {paper("figure9", "γ", "IID").key, paper("figure3", "r", "middle").key}
    keys |= {paper("figure10", "top eigenvalue", "adaptive GWS").key}
    assert keys == {paper("table2", "γ", "IID, decay 0.0005").key}


def test_the_main_claims_are_there():
    said = {claim.name: claim for claim in PAPER.claims}
    assert said["table1: SimpleCNN, IID"].gain == pytest.approx(4.63)
    assert said["table1: SimpleCNN, IID"].cell.row.endswith("γ=0.93")
    # a table's exception is a number, not what its authors claim
    assert not any("FedLAW ends below" in claim.sentence for claim in PAPER.claims)
    for rival in ("FedAvg", "Server-FT", "FedDF"):
        assert said[f"table3: over {rival}, CIFAR-10 SimpleCNN, α=0.1"].sign == 1
    assert said["table8: over FedAvg, 50 %"].gain == pytest.approx(5.53)
    assert said["table9: ResNet8, α=0.1 at 0.9"].gain == pytest.approx(-24.04)
