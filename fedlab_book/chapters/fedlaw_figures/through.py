"""FedLAW's Figure 10: length and flatness on the way, from the ledger's runs."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from IPython.display import HTML

from fedlab_book.chapters.fedlaw_figures.common import Numbers
from fedlab_book.findings import Row
from fedlab_book.ledger.panels import courses, followed, sweep
from fedlab_ledger.report.book import Book

PLAIN, LEARNED = "FedAvg", "adaptive GWS"
THREE = {  # the ledger's rows, in words
    "norm of the model": "length of the parameters",
    "top eigenvalue": "largest eigenvalue",
    "top over fifth": "largest over fifth",
}
Courses = Mapping[str, Mapping[str, np.ndarray]]  # by row and arm: (seeds, rounds)


def seen(record: Book) -> Courses:
    """Measures of the ledger's runs in every round."""
    return courses(record, "fedlaw/figure10", list(THREE), [PLAIN, LEARNED])


def ended(record: Book) -> dict[str, np.ndarray]:
    """Their last measures, by row: (seeds, 2), of the seeds that both have."""
    return sweep(record, "fedlaw/figure10", {PLAIN: PLAIN, LEARNED: LEARNED})


def picture(found: Courses) -> HTML:
    """A panel each, over the rounds."""
    return followed(
        found,
        THREE,
        "Three panels over the rounds, for FedAvg and for adaptive shrinking.",
        "Letters, clients alike: mean and range of the seeds. Eigenvalues are looked "
        "at in some rounds only.",
        {LEARNED: "GWS"},
    )


def facts(ends: Mapping[str, np.ndarray]) -> dict[str, Row]:
    """How much a learned factor changes each at the end, in percent of FedAvg's.

    Each row of `ends` is (seeds, 2), FedAvg and the learned factor on the same seeds.
    """
    return {
        what: Row(name, 100 * (ends[what][:, 1] / ends[what][:, 0] - 1), claim=-1)
        for what, name in THREE.items()
    }


def begins_higher(found: Courses) -> bool:
    """Whether, in round 1, all three are higher in every seed with a learned factor."""
    firsts = [[found[what][arm][:, 0] for arm in (PLAIN, LEARNED)] for what in THREE]
    return all(bool((ours > plain).all()) for plain, ours in firsts)


def numbers(found: Courses) -> Numbers:
    """Until which round the mean with a learned factor is higher, and both ends."""
    rows = []
    for what, name in THREE.items():
        plain, ours = found[what][PLAIN], found[what][LEARNED]
        there = np.isfinite(plain).all(0) & np.isfinite(ours).all(0)
        at = np.flatnonzero(there)
        above = at[(ours.mean(0) > plain.mean(0))[there]] + 1
        row = {
            "": name,
            "GWS is higher": f"until round {above[-1]}" if len(above) else "never",
            "seen last in round": f"{at[-1] + 1}",
            "FedAvg there": f"{plain[:, at[-1]].mean():z.1f}",
            "GWS there": f"{ours[:, at[-1]].mean():z.1f}",
        }
        rows.append(row)
    return pd.DataFrame(rows), "From the ledger: means of the seeds."
