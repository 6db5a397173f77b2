"""FedLAW's Figure 8, left: fewer clients in a round, from the ledger's runs."""

import numpy as np
from IPython.display import HTML

from fedlab_book.findings import Row
from fedlab_book.ledger.panels import sweep, swept
from fedlab_ledger.report.book import Book

PRESENT = {f"{v} % of clients": f"{v} %" for v in (20, 40, 60, 80, 100)}


def picture(record: Book) -> HTML:
    """The accuracy of four methods by the share of clients in a round."""
    return swept(
        sweep(record, "fedlaw/figure8", PRESENT),
        PRESENT,
        ("clients that take part in a round", "accuracy (%)"),
        "Accuracy of four methods against the share of clients in a round.",
        "Letters, 95 % intervals. FedDF and Server-FT train on the same server images.",
    )


def gains(record: Book) -> np.ndarray:
    """FedLAW over FedAvg: (seeds, shares of clients)."""
    return sweep(record, "fedlaw/figure8", PRESENT, gains=True)["FedLAW"]


def facts(ahead: np.ndarray) -> dict[str, Row]:
    """FedLAW over FedAvg by the share of clients, which the paper claims is a gain."""
    each = zip(PRESENT.items(), ahead.T, strict=True)
    return {key: Row(f"{name} take part", v, claim=1) for (key, name), v in each}
