"""FedLAW's Figure 9: a learned factor by how uneven clients are, from the ledger."""

import numpy as np

from fedlab_book.bench import pm
from fedlab_book.chapters.fedlaw_figures.common import Picture, zero
from fedlab_book.figures import canvas, look, styled
from fedlab_book.findings import Row
from fedlab_book.ledger.panels import sweep
from fedlab_core.metrics import mean_interval
from fedlab_ledger.report.book import Book

_ALPHAS = ("0.1", "0.2", "0.5", "1", "10")
SKEWS = {f"α={v}": v.removeprefix("0") for v in _ALPHAS} | {"IID": "IID"}
_CAPTION = (
    "Letters, 95 % intervals; gains are paired by seed. At the left clients hold few "
    "classes, at the right all hold the same mix."
)
_TITLES = ("gain of GWS (points)", "learned γ", "step |γ g|")


def measured(record: Book) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gain, factor and step of the ledger's runs, each (seeds, splits)."""
    gains = sweep(record, "fedlaw/figure9", SKEWS, gains=True)
    found = sweep(record, "fedlaw/figure9", SKEWS)
    return gains["adaptive GWS"], found["γ"], found["norm of the step"]


@styled
def figure(gains: np.ndarray, factors: np.ndarray, steps: np.ndarray) -> Picture:
    """Gain, factor and step, each (seeds, splits), from uneven to alike."""
    fig, axes = canvas(740, 290, ncols=3)
    names = [*SKEWS.values()]
    for ax, values, title in zip(axes, (gains, factors, steps), _TITLES, strict=True):
        mean, half = mean_interval(values, 0)
        ax.errorbar(names, mean, yerr=half, capsize=4, **look("GWS"))
        ax.set(xlabel="Dirichlet parameter", title=title)
        ax.grid(axis="y")
    zero(axes[0])
    each = zip(names, gains.T, factors.T, steps.T, strict=True)
    said = "; ".join(
        f"{x}: {pm(g)} points, {v.mean():z.3f}, {d.mean():z.2f}" for x, g, v, d in each
    )
    alt = (
        "Three panels against the Dirichlet parameter of the split, from uneven to "
        "alike clients: the gain of learned shrinking over FedAvg, the learned gamma, "
        f"and the length of the step. {said}."
    )
    return fig, alt, _CAPTION


def facts(gains: np.ndarray) -> dict[str, Row]:
    """The gain in every split; the paper claims one in all."""
    named = {f"α={v}": f"Dirichlet {v}" for v in _ALPHAS} | {"IID": "alike (IID)"}
    each = zip(named.items(), gains.T, strict=True)
    return {key: Row(name, values, claim=1) for (key, name), values in each}


def factors_of(factors: np.ndarray, steps: np.ndarray) -> dict[str, Row]:
    """From the most uneven split to alike clients, the factor and the step."""
    return {
        "factor": Row(
            "γ: alike less most uneven", factors[:, -1] - factors[:, 0], claim=-1
        ),
        "step": Row(
            "step: alike less most uneven", steps[:, -1] - steps[:, 0], claim=1
        ),
    }
