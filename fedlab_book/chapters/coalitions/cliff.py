"""Coalitions that the solver makes as C grows, and what they read of their letters."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from IPython.display import HTML
from matplotlib.axes import Axes

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison, Place
from fedlab_book.chapters.coalitions import worlds
from fedlab_book.figures import INK, PALETTE
from fedlab_book.panels import Panel, drawn
from fedlab_core.methods.collab_distance import distances
from fedlab_core.methods.fedcollab import descend, solve

Measured = Mapping[int, np.ndarray]  # by seed: a distance for every two clinics
Homes = Mapping[float, Mapping[int, tuple[int, ...]]]  # by C and seed
NAMED = {  # the coalition of each clinic, where the solver is told exact distances
    (0, 0, 1, 1, 1, 2, 2, 3, 3, 3): worlds.KINDS,
    (0, 0, 1, 1, 1, 2, 2, 2, 2, 2): worlds.SPLIT,
    (0, 0, 0, 0, 0, 1, 1, 1, 1, 1): worlds.WORLDS,
    (0,) * 10: worlds.SIZE,
}
GUESSES = {
    "It rises, and then stays: the more together, the better": "They do come together, "
    "but in the end with those that have none of their letters.",
    "It has one clear peak, and falls slowly to both sides": "On the one side it "
    "hardly falls: two kinds of one world may train together or apart.",
    "It hardly changes, and then falls at once": "As long as the worlds stay apart, "
    "it hardly matters who is with whom. Then all ten fall into one.",
    "It hardly changes at all": "Not as long as the worlds stay apart; but then?",
}


def exact(held: np.ndarray) -> np.ndarray:
    """Distances by the letters alone: the share that would have to be exchanged."""
    share = held / held.sum(1, keepdims=True)
    return np.abs(share[:, None] - share).sum(2) / 2


def measured(bench: Bench, place: Place, **look: Any) -> Measured:
    """The core's estimates, on the letters of each seed."""

    def told(seed: int) -> object:
        return distances(place(seed), seed=seed, **look)

    return dict(zip(bench.seeds, map(np.asarray, bench.each(told)), strict=True))


def told(apart: Measured, held: np.ndarray) -> str:
    """Measured distances beside the exact ones, within a world and across."""
    d, true = np.stack([*apart.values()]), exact(held)
    near = true[0, 2]
    spots = (true == near, true == 1)
    kinds, across = (d[:, spot] for spot in spots)
    return (
        f"Over all seeds, kinds of one world are measured {kinds.mean():.2f} apart "
        f"(exactly: {near:.2f}), the two worlds {across.mean():.2f} (exactly: 1). A "
        f"single pair of the two worlds can come out at {across.min():.2f}."
    )


def homes(apart: Measured, sizes: np.ndarray, values: Sequence[float]) -> Homes:
    """The coalition of every clinic by each C, on each seed's distances."""
    return {
        C: {
            s: tuple(solve(d, sizes, C, restarts=20).group_of) for s, d in apart.items()
        }
        for C in values
    }


def stuck(held: np.ndarray, apart: Measured, C: float, runs: int = 40) -> str:
    """How often the search that moves one client at a time finds the best."""
    m, true = held.sum(1), exact(held)
    best = solve(true, m, C, restarts=10).cost
    ways = (np.random.default_rng(r) for r in range(runs))
    one = sum(descend(true, m, C, w, merge=False).cost < best + 1e-9 for w in ways)
    many = sum(
        solve(d, m, C, restarts=20, merge=False).cost
        < solve(d, m, C, restarts=20).cost + 1e-9
        for d in apart.values()
    )
    return (
        f"Told the *exact* distances, with C = {C:g}, {one} of {runs} runs of this "
        f"search find the two worlds. With *measured* ones, whose noise can help a "
        f"client across, the best of twenty runs does in {many} of {len(apart)} seeds."
    )


def strange(found: Homes, known: Mapping[tuple[int, ...], str] = NAMED) -> list[float]:
    """Values of C at which some seed has coalitions that no arm has trained in."""
    return [C for C, of in found.items() if not {*of.values()} <= known.keys()]


def by_seed(training: fl.Training, of: Mapping[int, tuple[int, ...]]) -> fl.Method:
    """FedAvg in the coalitions that each seed has."""
    groups = fl.Groups("measured", lambda world, seed: list(of[seed]))
    return fl.fedavg(training, groups=groups)


def accuracy(found: Comparison, at: Homes) -> dict[float, np.ndarray]:
    """Own letters read by all ten at each C, seed by seed, in percent."""
    seeds, other = [h.seed for h in found.of(worlds.ALONE)], strange(at)

    def of(C: float, i: int, seed: int) -> float:
        arm = f"C = {C:g}" if C in other else NAMED[at[C][seed]]
        return float(worlds.read(found, arm)[i])

    return {C: np.array([of(C, i, s) for i, s in enumerate(seeds)]) for C in at}


def plateaus(held: np.ndarray, values: Sequence[float]) -> dict[float, str]:
    """The coalitions at each C, by exact distances."""
    told = homes({0: exact(held)}, held.sum(1), values)
    return {C: NAMED[of[0]] for C, of in told.items()}


def right(found: Comparison, arms: Sequence[str]) -> str:
    """The guess that coalitions from the finest to the coarsest bear out."""
    rises, peak, falls, same = GUESSES
    level = [worlds.read(found, arm).mean() for arm in dict.fromkeys(arms)]
    drop = max(level) - level[-1]
    if drop < 2:
        return rises if level[-1] > level[0] + 2 else same
    return falls if max(level[:-1]) - min(level[:-1]) < drop / 4 else peak


def picture(
    found: Comparison,
    on: Mapping[float, str],
    dots: Mapping[float, np.ndarray],
    caption: str,
) -> HTML:
    """Accuracy against C: a line by exact distances, a dot a seed by measured ones."""
    level = {C: worlds.read(found, arm).mean() for C, arm in on.items()}
    edge = next(C for C, arm in on.items() if arm == worlds.SIZE)

    def draw(ax: Axes) -> None:
        ax.step([*on], [*level.values()], where="post", color=INK, linewidth=1.5)
        for C, values in dots.items():
            x = C + np.linspace(-0.3, 0.3, len(values))
            ax.plot(x, values, "o", color=PALETTE["blue"], alpha=0.6, markersize=5)
        ax.axvline(edge, color=PALETTE["red"], linestyle=":", linewidth=1.5)
        ax.text(edge + 0.2, max(level.values()), "cliff", color=PALETTE["red"])
        ax.set(xlabel="C", ylabel="own letters read (%)", ylim=(20, 85))
        ax.set_xticks([*dots], [f"{C:g}" for C in dots])
        ax.grid(axis="y")

    line = "; ".join(f"{v:.1f} from C = {C:g}, {on[C]}" for C, v in _starts(on, level))
    each = "; ".join(
        f"C = {C:g}: {', '.join(f'{v:.0f}' for v in values)}"
        for C, values in dots.items()
    )
    said = f"Percent of own letters read against C. By exact distances {line}. "
    return drawn(
        Panel(draw, f"{said}By measured ones, a dot a seed: {each}."), caption=caption
    )


def _starts(
    on: Mapping[float, str], level: Mapping[float, float]
) -> list[tuple[float, float]]:
    """Each kind of coalitions' first C, and its level."""
    first = {arm: C for C, arm in reversed([*on.items()])}
    return [(C, level[C]) for C in sorted(first.values())]
