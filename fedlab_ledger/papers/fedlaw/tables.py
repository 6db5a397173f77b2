"""FedLAW's Tables 1 to 5, 9 and 10: shrinking, and the methods against one another."""

from fedlab_ledger.model import Table
from fedlab_ledger.papers.common import Plain, numbers, table
from fedlab_ledger.papers.fedlaw.worlds import Place, cell, over, shrunk

GAMMAS = (1.0, 0.99, 0.97, 0.95, 0.93, 0.9)
TABLE_1 = {
    "SimpleCNN, IID": "65.53 67.60 69.20 69.52 70.16 69.83",
    "AlexNet, IID": "74.16 74.80 75.54 75.24 75.25 75.03",
    "ResNet8, IID": "75.51 76.64 76.80 77.87 76.80 76.74",
    "SimpleCNN, α=1": "65.58 67.04 68.36 68.66 69.28 68.93",
    "AlexNet, α=1": "73.56 73.83 74.37 74.45 74.40 74.24",
    "ResNet8, α=1": "75.02 76.06 75.73 77.00 75.04 75.31",
}
TABLE_9 = {
    "SimpleCNN, α=10": "65.96 67.19 69.41 69.81 69.69 69.59",
    "AlexNet, α=10": "73.9 74.43 74.96 75.12 75.33 74.06",
    "ResNet8, α=10": "76.26 75.63 76.92 77.23 76.9 76.61",
    "SimpleCNN, α=0.5": "65.78 66.59 67.93 68.85 68.75 68.25",
    "AlexNet, α=0.5": "73.72 73.06 73.89 73.98 73.6 73.33",
    "ResNet8, α=0.5": "73.4 73.93 75.39 74.12 73.66 73.46",
    "SimpleCNN, α=0.2": "63.52 64.68 63.72 65.82 65.4 64.97",
    "AlexNet, α=0.2": "68.41 70.46 70.87 70.74 70.58 69.42",
    "ResNet8, α=0.2": "71.85 70.96 72.76 72.04 71.25 62.32",
    "SimpleCNN, α=0.1": "60.57 61.22 61.83 62.05 62.05 60.85",
    "AlexNet, α=0.1": "66.18 65.25 64.74 64.23 64.16 61.24",
    "ResNet8, α=0.1": "63.89 60.55 61.38 59.23 58.76 39.85",
}
DECAYS = (0.0, 5e-5, 1e-4, 5e-4, 1e-3)
TABLE_2 = {
    ("IID", "FedAvg"): "66.43 66.20 66.45 67.51 68.66",
    ("IID", "adaptive GWS"): "71.47 71.36 71.35 71.44 71.54",
    ("IID", "γ"): "0.9472 0.9477 0.948 0.9493 0.953",
    ("α=1", "FedAvg"): "65.35 65.19 65.77 66.37 67.4",
    ("α=1", "adaptive GWS"): "70.31 69.93 70.44 70.47 69.99",
    ("α=1", "γ"): "0.9492 0.9499 0.9505 0.9529 0.9561",
}
COLUMNS_3 = tuple(
    f"{data} {network}, α={alpha}"
    for data, networks in (
        ("FMNIST", ("MLP", "LeNet")),
        ("CIFAR-10", ("SimpleCNN", "ResNet20")),
        ("CIFAR-100", ("SimpleCNN", "ResNet20")),
    )
    for alpha in (100, 0.1)
    for network in networks
)
TABLE_3 = {
    "FedAvg": "89.29 90.54 85.11 88.08 65.78 74.57 60.13 46.04 25.74 27.49 27.74 24.92",
    "FedProx": "87.68 89.77 84.33 87.01 67.66 68.51 60.48 48.84 9.49 27.15 12.52 23.73",
    "FedDyn": "88.47 89.92 77.68 72.68 66.1 76.62 41.53 35.77 24.44 32.18 22.67 29.00",
    "FedDF": "86.16 89.09 78.48 85.90 69.60 77.36 57.38 54.09 28.52 27.42 24.52 23.10",
    "FedBE": "86.22 89.14 79.12 85.96 69.88 77.94 59.84 52.86 28.38 27.73 25.41 23.74",
    "Server-FT": (
        "89.09 90.56 85.71 88.10 66.83 74.73 60.43 47.59 25.37 26.14 24.33 23.03"
    ),
    "FedLAW": "88.51 90.66 86.30 88.26 70.17 80.46 62.46 52.83 32.51 33.17 32.30 24.84",
    "FedLAW (SWA)": (
        "88.27 90.51 86.89 88.18 69.9 79.55 62.12 57.08 32.39 33.17 32.27 25.31"
    ),
}
COLUMNS_4 = (
    "IID, 50 clients",
    "IID, 100 clients",
    "α=1, 50 clients",
    "α=1, 100 clients",
)
TABLE_4 = {
    "FedAvg": "68.04 62.41 66.87 64.13",
    "FedDF": "48.24 38.66 38.70 22.51",
    "Server-FT": "67.77 62.30 66.73 64.63",
    "FedLAW": "78.88 74.09 75.59 71.34",
}
NETWORKS_5 = ("ResNet20", "ResNet56", "ResNet110", "WRN56-4", "DenseNet121")
TABLE_5 = {
    "FedAvg": "74.11 74.22 74.50 78.67 85.13",
    "FedLAW": "78.72 78.93 78.11 79.61 86.50",
    "FedLAW (SWA)": "78.64 79.08 79.19 80.70 87.06",
}
RATES = (0.5, 1.0, 1.5)
TABLE_10 = {
    ("IID", "FedAvg"): "69.15 68.18 64.35",
    ("IID", "adaptive GWS"): "71.45 71.98 71.13",
    ("IID", "γ"): "0.986 0.974 0.963",
    ("α=1", "FedAvg"): "68.71 67.09 64.00",
    ("α=1", "adaptive GWS"): "69.65 71.02 71.04",
    ("α=1", "γ"): "0.991 0.979 0.967",
}
STUDIED = 200  # of each class are the server's where the dynamics are studied
_GAMMA: Plain = {"metric": "middle:gamma", "unit": "γ", "tolerance": 0.02}


def skew(name: str) -> float:
    """Alpha of a row's or a column's name."""
    return float(name.split("α=")[1].split(",")[0]) if "α=" in name else 100.0


def _fixed(name: str, rows: dict[str, str], title: str) -> Table:
    """Tables 1 and 9: a fixed gamma, two epochs."""
    cells = []
    columns = [f"γ={g:g}" for g in GAMMAS]
    for (row, column), value in table(rows, columns).items():
        gamma, network = float(column[2:]), row.split(",")[0]
        place = Place(
            network=network, alpha=skew(row), epochs=2, per_class=STUDIED, least=2
        )
        beside = None if gamma == 1 else (name, f"{row}, γ=1")
        more: Plain = {"where": f"Table {name[5:]}", "over": beside}
        at = (f"{row}, {column}", "accuracy", value, place, shrunk(gamma))
        cells.append(cell(name, *at, **more))
    return Table("fedlaw", name, title, tuple(cells))


def learned(
    name: str, where: str, columns: dict[str, tuple[Place, Plain, Plain]], values: dict
) -> list:
    """Cells of FedAvg, of adaptive GWS and of the gamma that it learns, by column.

    A column has a place, and what is said besides to FedAvg and to GWS.
    """
    cells = []
    for (row, column), value in values.items():
        place, to_average, to_shrink = columns[column]
        if row == "FedAvg":
            cells.append(
                cell(name, row, column, value, place, row, to_average, where=where)
            )
            continue
        more: Plain = {"where": where}
        more |= _GAMMA if row == "γ" else {"over": (name, "FedAvg")}
        at = (row, column, value, place, "adaptive GWS", to_shrink)
        cells.append(cell(name, *at, **more))
    return cells


def _table_2() -> Table:
    columns, values = {}, {}
    for (world, row), text in TABLE_2.items():
        for decay, value in zip(DECAYS, numbers(text), strict=True):
            place = Place(alpha=skew(world), epochs=2, per_class=STUDIED, decay=decay)
            columns[f"{world}, decay {decay:g}"] = (place, {}, {})
            values[row, f"{world}, decay {decay:g}"] = value
    title = "Adaptive shrinking and the clients' weight decay"
    return Table(
        "fedlaw", "table2", title, tuple(learned("table2", "Table 2", columns, values))
    )


def _table_3() -> Table:
    cells = []
    for (row, column), value in table(TABLE_3, COLUMNS_3).items():
        data, network = column.split(",")[0].split()
        place = Place(data=data, network=network, alpha=skew(column), least=10)
        more: Plain = {"where": "Table 3", "over": over("table3", row, [*TABLE_3])}
        cells.append(cell("table3", row, column, value, place, row, **more))
    title = "Mean accuracy of the last 10 rounds, three epochs, 20 clients"
    return Table("fedlaw", "table3", title, tuple(cells))


def _table_4() -> Table:
    cells = []
    for (row, column), value in table(TABLE_4, COLUMNS_4).items():
        clients = int(column.split()[-2])
        place = Place(
            network="ResNet20", alpha=skew(column), clients=clients, letters=True
        )
        more: Plain = {"where": "Table 4", "over": over("table4", row, [*TABLE_4])}
        cells.append(cell("table4", row, column, value, place, row, **more))
    return Table("fedlaw", "table4", "ResNet20 with more clients", tuple(cells))


def _table_5() -> Table:
    cells = []
    for (row, column), value in table(TABLE_5, NETWORKS_5).items():
        place = Place(network=column, alpha=1.0, epochs=1, per_class=100)
        more: Plain = {"where": "Table 5", "over": over("table5", row, [*TABLE_5])}
        cells.append(cell("table5", row, column, value, place, row, **more))
    title = "Deeper and wider networks, one epoch"
    return Table("fedlaw", "table5", title, tuple(cells))


def _table_10() -> Table:
    columns, values = {}, {}
    for (world, row), text in TABLE_10.items():
        for rate, value in zip(RATES, numbers(text), strict=True):
            place = Place(
                alpha=skew(world), epochs=1, per_class=STUDIED, small_epochs=2
            )
            step: Plain = {}
            if rate != 1:
                step = {"method": "fedavgm", "options": {"beta": 0.0, "lr": rate}}
            far: Plain = {"options": {"global_lr": rate}} if rate != 1 else {}
            columns[f"{world}, rate {rate:g}"] = (place, step, far)
            values[row, f"{world}, rate {rate:g}"] = value
    title = "Adaptive shrinking and the server's learning rate"
    return Table(
        "fedlaw",
        "table10",
        title,
        tuple(learned("table10", "Table 10", columns, values)),
    )


TABLES = (
    _fixed("table1", TABLE_1, "A fixed shrinking factor, on CIFAR-10"),
    _table_2(),
    _table_3(),
    _table_4(),
    _table_5(),
    _fixed("table9", TABLE_9, "A fixed shrinking factor under other skews"),
    _table_10(),
)
