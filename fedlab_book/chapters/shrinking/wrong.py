"""Clients whose labels are wrong: who gets which share, and what that is worth."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fedlab_book.bench import Bench, Comparison, Place, pm
from fedlab_book.chapters.shrinking.found import ELEVENTH, UNIT
from fedlab_book.figures import INK, PALETTE, canvas, styled
from fedlab_book.findings import Facts, Row
from fedlab_core.partition.scenarios import Scenario

CROWD, ALONE = "half wrong", "the right half alone"  # with all clients, and without
WAYS = TEN, LONG = "ten steps", "800 steps"  # of one round's search
GUESSES = {  # of whose share falls to nearly nothing, and what is told to each
    "Only wrong clinics'": "Some right ones fall as low.",
    "Wrong clinics', and some right ones'": "A search for the least loss owes nobody "
    "a share.",
    "Nobody's: fifty images are too few": "They are enough to find the wrong half.",
}
_NEAR = 5.0  # points of a share that "near" allows
_LEFT = 10.0  # percent that are "little" for the wrong half, of fifty
_NONE = 2.0  # percent that are "nearly nothing" for a clinic, of ten


def half(bench: Bench) -> tuple[Place, Place, Callable[[int], np.ndarray]]:
    """Ten alike clients of which half permute their labels; the right half alone; who.

    The last says of a seed which clients are wrong.
    """

    def crowd(seed: int) -> Scenario:
        how = {"corrupt": 0.5, "how": "permute", "capacity": False}
        return bench.scenario(seed, "dirichlet", clients=10, alpha=100, **how)

    def who(seed: int) -> np.ndarray:
        return np.isin(range(10), crowd(seed).corrupted)

    return bench.place(crowd), bench.place(lambda seed: without(crowd(seed))), who


def without(crowd: Scenario) -> Scenario:
    """The same federation of its clients with right labels alone."""
    stay = [k for k in range(len(crowd)) if k not in crowd.corrupted]
    held = tuple(crowd.train.indices[k] for k in stay)
    return replace(crowd, train=replace(crowd.train, indices=held), corrupted=())


def held(found: Comparison) -> dict[str, np.ndarray]:
    """Every client's share after a run's last round, in percent: (seeds, clients)."""
    return {
        arm: 100 * np.array([h.rows[-1]["shares"] for h in found.of(arm, CROWD)])
        for arm in WAYS
    }


@styled
def both_ways(
    found: Comparison, wrong: Sequence[np.ndarray], limit: float
) -> tuple[Figure, str]:
    """Every client's share after each way to search, those of wrong labels below.

    Args:
        wrong: who is wrong, a row a seed.
        limit: the least share of the wrong half after the first way, in percent.
    """
    false = np.array(wrong)
    fig, axes = canvas(520, 260, ncols=len(WAYS), sharex=True, sharey=True)
    told = []
    for ax, (way, share) in zip(axes, held(found).items(), strict=True):
        for row, (part, colour) in enumerate(((~false, "green"), (false, "red"))):
            up = row + np.linspace(-0.3, 0.3, part.sum())
            style = {"color": PALETTE[colour], "markersize": 6, "alpha": 0.8}
            ax.plot(share[part], up, "ox"[row], markeredgewidth=1.5, **style)
        ax.axvline(100 / share.shape[1], color=INK, linestyle=":", linewidth=1.5)
        ours, theirs = share[~false], share[false]
        kept = _kept(share, false).mean()
        place = {"transform": ax.get_yaxis_transform(), "ha": "right"}
        ax.text(0.97, 1, f"together {kept:.0f} %", **place)
        ax.set(title=way, xlabel="share λ (%)", ylim=(1.5, -0.5))
        told.append(
            f"{way}: the wrong half holds {kept:.1f} percent together, single clinics "
            f"{theirs.min():.0f} to {theirs.max():.0f}, those with right labels "
            f"{ours.min():.0f} to {ours.max():.0f}"
        )
    least = limit / false.sum(axis=1).mean()
    style = {"color": INK, "linestyle": "--", "linewidth": 2, "zorder": 3}
    axes[0].plot([least] * 2, [0.55, 1.45], **style)
    axes[0].set_yticks([0, 1], ["right labels", "wrong labels"])
    alt = (
        f"Every clinic's share after one round's search, all {len(false)} seeds. "
        f"{'; '.join(told)}. Ten steps of their full length would leave the wrong half "
        f"{limit:.1f}."
    )
    return fig, alt


def stopped_short(found: Comparison, wrong: Sequence[np.ndarray], full: float) -> Facts:
    """Whether ten steps leave more than `full` ones, and many steps far less.

    And whether some right client then has hardly any share, and the average is still
    right about more test images.
    """
    false = np.array(wrong)
    ten, many = held(found).values()
    short, long = (_kept(share, false) for share in (ten, many))
    honest, aside = many[~false], dict[str, Any](words=("more", "less"), aside=True)
    rows = [
        Row("ten steps minus ten full ones", short - full, sign=1, **aside),
        Row(f"their share: {LONG} minus ten", long - short, sign=-1, **aside),
        Row(f"accuracy: {LONG} minus ten", found.gain(LONG, TEN, CROWD), sign=1),
    ]
    near, far = np.mean(short - full) < _NEAR, long.mean() < _LEFT
    return {
        "rows": rows,
        "holds": bool(near and far and honest.min() < _NONE),
        "note": f"After {LONG} the wrong half keeps {pm(long, sign='')} %, and single "
        f"clinics with right labels between {honest.min():.0f} and {honest.max():.0f} "
        "%.",
    }


def fell(found: Comparison, wrong: Sequence[np.ndarray]) -> str:
    """The guess that the long search bears out."""
    false, share = np.array(wrong), held(found)[LONG]
    only, both, nobody = GUESSES
    if _kept(share, false).mean() >= _LEFT:
        return nobody
    return both if share[~false].min() < _NONE else only


def _kept(share: np.ndarray, false: np.ndarray) -> np.ndarray:
    """Share of the wrong half together, seed by seed."""
    return np.where(false, share, 0).sum(axis=1)


def rescued(found: Comparison, clean: Comparison) -> Facts:
    """Whether shares rescue the average, and all else with the same images far less.

    That is the factor, a clinic more, and imitation.

    `clean` has FedAvg among the alike, all labels right, for as many rounds or more.
    """
    arms = ["GWS", "FedLAW", "FedDF", ELEVENTH]
    gain = {arm: found.gain(arm, where=CROWD) for arm in arms}
    alone = found.scores("FedAvg", ALONE) - found.scores("FedAvg", CROWD)
    others = {a: gain[a] for a in arms if a != "FedLAW"} | {ALONE: alone}
    rows = [
        Row(name, v, sign=1 if name == "FedLAW" else None)
        for name, v in (gain | {ALONE: alone}).items()
    ]
    for name, v in others.items():
        sign, less = -1 if name == ALONE else 1, gain["FedLAW"] - v
        rows.append(Row(f"FedLAW minus {name}", less, aside=True, sign=sign))
    level = found.scores("FedAvg", CROWD).mean()
    end = found.curves("FedAvg", CROWD).shape[1]
    seen = 100 * clean.curves("FedAvg", "alike")[:, end - found.last : end].mean()
    note = f"FedAvg itself: {level:.1f} %; with right labels, as long, {seen:.1f} %."
    how = {"unit": UNIT, "folded": "points", "note": note}
    return {"rows": rows, **how}
