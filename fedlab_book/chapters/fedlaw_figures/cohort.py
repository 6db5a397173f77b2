"""FedLAW's Figure 7: when few take part, whose classes are in the average?"""

from collections.abc import Sequence

import numpy as np
import torch
from matplotlib.axes import Axes

from fedlab_book.bench import Comparison
from fedlab_book.chapters.fedlaw_figures.common import Picture, by_rounds
from fedlab_book.figures import INK, canvas, look, styled
from fedlab_book.findings import Row, told
from fedlab_book.shares import shares_of
from fedlab_core.metrics import heterogeneity_coherence
from fedlab_core.rounds.records import Round

SHOWN = 3  # the round whose mix is drawn
_CAPTION = (
    "Left: one round of one seed, by size (plain) and by attentive shares (hatched); "
    "dotted: the mix of all data, about even. Right: mean of the seeds."
)
LEARNED = ("Attentive", "FedLAW")


def mixture(now: Round) -> dict:
    """The classes in the average, and how like the mix of all data they are."""
    shares = shares_of(now)
    counts, who = now.world.counts, torch.as_tensor(now.ids)
    held = (counts[who] / counts[who].sum(1, keepdim=True)).to(torch.float64)
    mix = shares.to(torch.float64) @ held
    alike = float(heterogeneity_coherence(counts, shares, now.ids))
    return {"alike": alike, "mix": mix.numpy()}


@styled
def figure(found: Comparison, classes: Sequence[str]) -> Picture:
    """The mix of one round and seed, by size and by learned shares; the accuracy."""
    fig, axes = canvas(680, 310, ncols=2)
    _mixes(axes[0], found, classes)
    for arm in ("FedAvg", *LEARNED):
        mean = 100 * found.curves(arm).mean(0)
        at = range(1, len(mean) + 1)
        axes[1].plot(at, mean, **look(arm), markevery=3, label=arm)
    axes[1].set_title("test accuracy (%)")
    by_rounds(axes[1], len(mean))
    named = axes[1].get_legend_handles_labels()
    fig.legend(*named, loc="outside upper left", ncols=3)
    alt = (
        f"Left: bars of the class mix in the average of the drawn clients, round "
        f"{SHOWN} of one seed, weighed by size and by attentive shares. Right: test "
        "accuracy against rounds for FedAvg, attentive weighing and FedLAW. Over "
        f"FedAvg: {told(facts(found))}."
    )
    return fig, alt, _CAPTION


def _mixes(ax: Axes, found: Comparison, classes: Sequence[str]) -> None:
    for i, arm in enumerate(("FedAvg", "Attentive")):
        mix = 100 * found.curves(arm, what="mix")[0, SHOWN - 1]
        at = np.arange(len(mix)) + 0.4 * (i - 0.5)
        ax.bar(
            at,
            mix,
            0.38,
            color=look(arm)["color"],
            hatch=("", "//")[i],
            edgecolor=INK,
            linewidth=0.6,
        )
    ax.axhline(100 / len(classes), color=INK, linestyle=":")
    long = any(len(str(name)) > 2 for name in classes)
    labels = [str(name)[:3] for name in classes]
    ax.set_xticks(range(len(classes)), labels, rotation=90 if long else 0)
    ax.set_title(f"classes in the average, round {SHOWN} (%)")
    ax.grid(axis="y")


def facts(found: Comparison) -> dict[str, Row]:
    """Likeness in hundredths over all rounds, and accuracy at the end, over FedAvg."""
    rows = {}
    alike = {
        a: 100 * found.curves(a, what="alike").mean(1) for a in ("FedAvg", *LEARNED)
    }
    for arm in LEARNED:
        more = alike[arm] - alike["FedAvg"]
        rows[f"alike, {arm}"] = Row(f"likeness in hundredths, {arm}", more, claim=1)
    for arm in LEARNED:
        rows[f"gain, {arm}"] = Row(f"accuracy, {arm}", found.gain(arm), claim=1)
    return rows
