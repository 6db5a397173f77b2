"""FedLAW's Tables 6, 7 and 8 and Figure 8: other proxy sets, clients that are wrong,
and who takes part."""

from fedlab_ledger.model import Table
from fedlab_ledger.papers.common import Plain, table
from fedlab_ledger.papers.fedlaw.tables import skew
from fedlab_ledger.papers.fedlaw.worlds import Place, cell, over

COLUMNS_6 = tuple(
    f"{world}, {proxy} proxy"
    for world in ("IID", "α=1")
    for proxy in ("balanced", "long-tailed", "resampled")
)
TABLE_6 = {
    "FedAvg": "75.24 75.24 75.24 73.46 73.46 73.46",
    "FedDF": "76.20 74.04 73.31 74.39 73.99 73.14",
    "FedLAW": "79.40 77.14 78.56 76.70 76.78 70.42",
}
TABLE_7 = {"FedAvg": "61.12 59.82", "FedDF": "39.03 40.68", "FedLAW": "67.61 66.48"}
TABLE_8 = {
    "FedAvg": "63.40 61.14 58.21",
    "FedDF": "68.73 66.94 66.07",
    "Server-FT": "63.61 61.24 58.36",
    "FedLAW": "67.87 66.67 63.91",
    "FedLAW (SWA)": "68.04 66.95 65.51",
}
# places on the axes of Figure 8; the text does not give the paper's
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
SIZES = (10, 100, 1000, 5000)
_METHODS_8 = ("FedAvg", "FedDF", "Server-FT", "FedLAW")
# Of the network, epochs and the proxy's size, which are not given
_RESNET = "not given, and a guess: ResNet20, 3 epochs"
_PLOT = "read off a plot in the paper: no number; its places are not in the text"


def _table_6() -> Table:
    cells = []
    for (row, column), value in table(TABLE_6, COLUMNS_6).items():
        proxy = column.split(", ")[1].split()[0]
        place = Place(
            network="ResNet20",
            alpha=skew(column),
            per_class=100,
            proxy_rho=1.0 if proxy == "balanced" else 10.0,
            resample=proxy == "resampled",
            letters=True,
        )
        more: Plain = {"where": "Table 6", "over": over("table6", row, [*TABLE_6])}
        more["notes"] = {"paper": f"{_RESNET}, a proxy set of up to 100 a class"}
        cells.append(cell("table6", row, column, value, place, row, **more))
    title = "A proxy set with a long tail, ρ=10, or resampled to be balanced"
    return Table("fedlaw", "table6", title, tuple(cells))


def _table_7() -> Table:
    cells = []
    for (row, column), value in table(TABLE_7, ("IID", "α=1")).items():
        place = Place(network="ResNet20", alpha=skew(column), tail=5.0, letters=True)
        more: Plain = {"where": "Table 7", "over": over("table7", row, [*TABLE_7])}
        more["notes"] = {"paper": f"{_RESNET}, a proxy set of 10 a class"}
        cells.append(cell("table7", row, column, value, place, row, **more))
    title = "Clients' classes with a long tail, ρ=5, and a balanced proxy set"
    return Table("fedlaw", "table7", title, tuple(cells))


def _table_8() -> Table:
    cells = []
    for (row, column), value in table(TABLE_8, ("25 %", "50 %", "75 %")).items():
        place = Place(corrupt=int(column[:2]) / 100, per_class=100)
        more: Plain = {"where": "Table 8", "over": over("table8", row, [*TABLE_8])}
        says = "each corrupted client has two labels of its own exchanged"
        cells.append(cell("table8", row, column, value, place, row, says=says, **more))
    title = "Corrupted clients, IID"
    return Table("fedlaw", "table8", title, tuple(cells))


def _figure_8() -> Table:
    cells = []
    places = {
        f"{100 * v:g} % of clients": Place(alpha=1.0, share=v, least=10) for v in SHARES
    }
    for v in SIZES:
        letters = min(v // 10, 100)
        places[f"{v} proxy samples"] = Place(
            alpha=0.1, per_class=v // 10, small_per_class=letters, least=10
        )
    for row in _METHODS_8:
        for column, place in places.items():
            where, beside = "Fig. 8", over("figure8", row, _METHODS_8)
            more: Plain = {"where": where, "over": beside, "says": _PLOT}
            cells.append(cell("figure8", row, column, None, place, row, **more))
    title = "Fewer clients a round (α=1), and proxy sets of other sizes (α=0.1)"
    return Table("fedlaw", "figure8", title, tuple(cells))


TABLES = (_table_6(), _table_7(), _table_8(), _figure_8())
