"""FedDisco at its paper's own scale, as the ledger has it: CIFAR-10, ten of sixty."""

from dataclasses import dataclass

import numpy as np

from fedlab_book.bench import pm, side
from fedlab_core.errors import require
from fedlab_ledger.model.describe import data
from fedlab_ledger.report.book import Book, opened

_FROM, _TO = "FedAvg", "FedAvg + Disco"
ACCURACY, SOONER = "accuracy", "to 55 %"


@dataclass(frozen=True)
class Scale:
    """Gains over FedAvg in points, seed by seed; rounds until 55 %, on average."""

    end: np.ndarray  # in the last ten rounds
    all: np.ndarray  # in all rounds
    rounds: tuple[float, float]  # by size, FedDisco
    ran: str  # its data set
    paper: float
    paper_rounds: tuple[float, float]

    @property
    def said(self) -> str:
        """The ledger's numbers beside the paper's, in a sentence: ahead, by less."""
        ahead = side(self.end) == 1 and self.end.mean() < self.paper
        require(ahead, f"FedDisco gains {pm(self.end)}, the paper's {self.paper:+.1f}")
        by_size, disco = self.rounds
        theirs, sooner = self.paper_rounds
        return (
            f"On {self.ran}, {len(self.end)} seeds, FedDisco gains {pm(self.end)} "
            f"points in the last ten rounds and {pm(self.all)} over all hundred, where "
            f"the paper has {self.paper:+.1f}; it first reads 55 % after {disco:.0f} "
            f"rounds, by size after {by_size:.0f} (the paper: {sooner:.0f} and "
            f"{theirs:.0f})."
        )


def measured(book: Book | None = None) -> Scale:
    """The headline's two runs, with and without FedDisco's weights."""
    book = book or opened()
    quotes = {(q.cell.row, q.cell.column): q for q in book.headline("feddisco")}
    base, disco = quotes[_FROM, ACCURACY], quotes[_TO, ACCURACY]
    seeds = sorted(base.lines.keys() & disco.lines.keys())

    def values(quote) -> np.ndarray:
        return np.array([quote.seeds[s] for s in seeds], float)

    def curve(quote) -> np.ndarray:
        return np.array([100 * np.mean(quote.lines[s]["curve"]) for s in seeds])

    printed = {key: float(q.cell.paper_value or np.nan) for key, q in quotes.items()}
    sooner = [quotes[row, SOONER] for row in (_FROM, _TO)]
    return Scale(
        end=values(disco) - values(base),
        all=curve(disco) - curve(base),
        rounds=(values(sooner[0]).mean(), values(sooner[1]).mean()),
        ran=data(base.cell.settings["paper"]),
        paper=printed[_TO, ACCURACY] - printed[_FROM, ACCURACY],
        paper_rounds=(printed[_FROM, SOONER], printed[_TO, SOONER]),
    )
