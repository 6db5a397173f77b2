"""FedLAW's Figures 2 and 11: a learned factor by local epochs, and its balance r.

`learned` has a comparison of FedAvg and GWS for each number of local epochs, in the
same places.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from fedlab_book.bench import Comparison, pm
from fedlab_book.chapters.fedlaw_figures.common import Numbers, Picture, late, line_of
from fedlab_book.figures import INK, PALETTE, canvas, styled
from fedlab_book.findings import Row
from fedlab_core.metrics import mean_interval

Learned = Mapping[int, Comparison]  # by local epochs
ALIKE, UNEVEN = "Dir 100", "Dir 0.1"
_OURS = {ALIKE: ("blue", "o", "-"), UNEVEN: ("magenta", "D", ":")}
_PAPERS = {"IID": ("sky", "s", "-"), "α = 1": ("orange", "^", "--")}
_TITLES = ("gain of GWS (points)", "γ", "step |γ g|")
_CAPTION = (
    "One is what a standstill gives: if the network no longer moves, the two terms of "
    "the step cancel."
)
_BEGUN = 2  # rounds that the balance is not counted in


def gain(learned: Learned, epochs: int, where: str) -> np.ndarray:
    """Points that GWS is ahead of FedAvg at the end, seed by seed."""
    return learned[epochs].gain("GWS", where=where)


@styled
def figure(learned: Learned, paper: pd.DataFrame, until: int) -> Picture:
    """Gain, factor and step by local epochs, with what the paper prints of them.

    The factor and the step are those of the rounds until `until`, which all have.
    """
    fig, axes = canvas(740, 330, ncols=3)
    for where, style in _OURS.items():
        _ours(axes, learned, where, until, line_of(*style, name=where))
    for setting, style in _PAPERS.items():
        rows = paper[paper.setting == setting]
        theirs = line_of(*style, name=f"paper, {setting}")
        axes[0].plot(rows.epochs, rows.with_ - rows.without, **theirs)
        axes[1].plot(rows.epochs, rows.gamma, **theirs)
    ticks = sorted({1, *learned})
    for ax, title in zip(axes, _TITLES, strict=True):
        room = (0.5, max(learned) + 0.5)
        ax.set(xlabel="local epochs E", title=title, xlim=room, xticks=ticks)
        ax.grid(axis="y")
    axes[0].axhline(0, color=INK, linewidth=1.2)
    fig.legend(*axes[1].get_legend_handles_labels(), loc="outside upper left", ncols=4)
    caption = (
        "Of its curves the paper prints two points, in its Tables 10 and 2, and no "
        "step. Our gains are those of the end; our γ and step are of the last rounds "
        f"until {until}, which all runs have."
    )
    return fig, _alt(learned, paper, until), caption


def _ours(
    axes: np.ndarray, learned: Learned, where: str, until: int, style: dict[str, Any]
) -> None:
    gains = [mean_interval(gain(learned, e, where)) for e in learned]
    mean, half = np.array(gains).T
    aside = np.array([*learned]) + (0.15 if where == UNEVEN else 0)
    axes[0].errorbar(aside, mean, yerr=half, capsize=4, **style)
    for ax, what in zip(axes[1:], ("gamma", "g_norm"), strict=True):
        values = [late(c, "GWS", where, what, until) for c in learned.values()]
        ax.plot([*learned], np.mean(values, axis=1), **style)


def _alt(learned: Learned, paper: pd.DataFrame, until: int) -> str:
    ours = "; ".join(
        f"{where}, E = {e}: gain {pm(gain(learned, e, where))}, gamma "
        f"{late(c, 'GWS', where, 'gamma', until).mean():z.3f}, step "
        f"{late(c, 'GWS', where, 'g_norm', until).mean():z.2f}"
        for where in _OURS
        for e, c in learned.items()
    )
    theirs = "; ".join(
        f"{r['setting']}, E = {r['epochs']:g}: {r['with_'] - r['without']:+z.1f} and "
        f"{r['gamma']:z.3f}"
        for r in paper.to_dict("records")
    )
    return (
        "Three panels against local epochs: the gain of learned shrinking over FedAvg, "
        f"the learned gamma, and the length of the step. Ours: {ours}. The paper's "
        f"gain and gamma: {theirs}."
    )


def facts(learned: Learned) -> dict[str, Row]:
    """The gain by place and local epochs, and how fewer epochs change it."""
    few, many = min(learned), max(learned)
    rows = {
        f"{where}, {e}": Row(f"{where}, E = {e}", gain(learned, e, where))
        for where in _OURS
        for e in (few, many)
    }
    for where in _OURS:
        more = gain(learned, few, where) - gain(learned, many, where)
        name = f"{where}: E = {few} less E = {many}"
        rows[f"{where}, fewer"] = Row(name, more, claim=1)
    return rows


def factors(learned: Learned, until: int) -> dict[str, Row]:
    """Changes of the learned factor and of the step, each as the paper claims it."""
    few, many = min(learned), max(learned)
    mine, base = learned[few], learned[many]
    fewer = late(mine, "GWS", ALIKE, "gamma") - late(base, "GWS", ALIKE, "gamma")
    longer = late(base, "GWS", ALIKE, "g_norm") - late(mine, "GWS", ALIKE, "g_norm")
    ends = {w: late(base, "GWS", w, "gamma", until) for w in _OURS}
    later = late(base, "GWS", ALIKE, "gamma") - ends[ALIKE]
    return {
        "fewer": Row(f"γ, alike: E = {few} less E = {many}", fewer, claim=1),
        "step": Row(f"step, alike: E = {many} less E = {few}", longer, claim=1),
        "uneven": Row(
            f"γ, E = {many}: uneven less alike", ends[UNEVEN] - ends[ALIKE], claim=1
        ),
        "later": Row(f"γ, alike, E = {many}: end less round {until}", later, claim=1),
    }


def balances(learned: Learned) -> np.ndarray:
    """The balance r of all rounds after the first two, of every run of GWS."""
    parts = [
        c.curves("GWS", where, "r")[:, _BEGUN:].ravel()
        for c in learned.values()
        for where in _OURS
    ]
    return np.concatenate(parts)


@styled
def histogram(learned: Learned, theirs: float) -> Picture:
    """How often each balance is met, and the paper's mean."""
    import seaborn as sns  # a second that only a drawing has to wait for

    r = balances(learned)
    fig, ax = canvas(500, 270)
    ends = np.log10(min(0.3, r.min())), np.log10(max(40, r.max()))
    look = {"color": PALETTE["periwinkle"], "alpha": 1, "linewidth": 0}
    sns.histplot(r, ax=ax, log_scale=True, bins=30, binrange=ends, **look)
    ax.set(xlabel="balance r, step over shrinking (log)", ylabel="rounds")
    ticks = [0.5, 1, 2, 5, 10, 20]
    ax.set_xticks(ticks, [f"{v:g}" for v in ticks])
    ax.minorticks_off()
    ax.grid(axis="y")
    ax.set_ylim(top=1.15 * ax.get_ylim()[1])
    for at, name in ((1, "standstill"), (theirs, "paper's mean")):
        _marked(ax, at, name)
    alt = (
        f"Histogram of the balance r over {len(r)} rounds of learned shrinking: median "
        f"{np.median(r):z.1f}, eight in ten from {np.percentile(r, 10):z.1f} to "
        f"{np.percentile(r, 90):z.1f}. The paper's mean is {theirs:g}."
    )
    return fig, alt, _CAPTION


def _marked(ax: Axes, at: float, name: str) -> None:
    ax.axvline(at, color=INK, linestyle=":", linewidth=1.5)
    at_top = {"va": "top", "transform": ax.get_xaxis_transform()}
    ax.text(at * 0.95, 0.98, name, rotation=90, ha="right", **at_top)


def numbers(learned: Learned, theirs: float, factor: float) -> Numbers:
    """The balance by setting: over the last rounds, and over all but the first two.

    What the paper's mean and one of its learned factors make of a step is said below.
    """
    rows = []
    for where in _OURS:
        for e, c in learned.items():
            r = c.curves("GWS", where, "r")
            last, every = r[:, -c.last :], r[:, _BEGUN:]
            low, high = np.percentile(every, [10, 90])
            row = {"setting": f"{where}, E = {e}"}
            row[f"median r, last {c.last} rounds"] = f"{np.median(last):z.1f}"
            row["eight in ten of all rounds"] = f"{low:z.1f} to {high:z.1f}"
            rows.append(row)
    caption = (
        "The balance r; the first two rounds are left out. No comparison is claimed: "
        f"the paper's mean, {theirs:g}, is of longer runs of another network. With its "
        f"learned factor of {factor:z.3f} it makes one round's step "
        f"{theirs * (1 - factor):z.1f} times as long as the network itself; if that "
        "does not grow all the same, such a step goes mostly sideways."
    )
    return pd.DataFrame(rows), caption
