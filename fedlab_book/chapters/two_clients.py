"""Chapter 7's first picture: what two clients gain from each other.

points = [(200, 0), (200, 2), (50, 2)]  # samples of each, classes renamed
met = bench.compare(pairs(bench, points), arms, rounds=16, judge_every=16)
two = judged(met, ["alone", "together"])
fig, alt = two_panels(points, two)
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison, Place, pm, side
from fedlab_book.figures import INK, canvas, look, styled
from fedlab_core.errors import require
from fedlab_core.metrics import mean_interval

Point = tuple[int, int]  # samples of each client, classes that the second renames

CLASSES = 10
OWN_TESTS = 500  # images that each client is judged on
TRAIN = 800  # samples of a seed; a client has at most half of them
ARMS = ("alone", "together")


def renamed(classes: int) -> np.ndarray:
    """Names a client has for the classes, if it passes on those of the first few."""
    names = np.arange(CLASSES)
    names[:classes] = np.roll(names[:classes], 1)
    return names


def pairs(bench: Bench, points: Sequence[Point]) -> Place:
    """A pair of clients for every point, all of them in one world of a seed.

    All pairs hold the same first samples: the first clients those of one half of the
    data, the second clients those of the other.
    """
    half = TRAIN // 2
    most = max(m for m, _ in points)
    require(most <= half, f"a client has at most {half} samples, not {most}")
    enough = replace(bench, samples=TRAIN, tests=2 * OWN_TESTS)

    def made(seed: int) -> fl.Scenario:
        data = enough.task(seed)
        train, test, names = [], [], []
        for m, classes in points:
            train += [np.arange(m), half + np.arange(m)]
            test += [np.arange(OWN_TESTS), OWN_TESTS + np.arange(OWN_TESTS)]
            names += [np.arange(CLASSES), renamed(classes)]
        both = replace(
            data,
            x_train=data.x_train[np.concatenate(train)],
            y_train=_named(data.y_train, train, names),
            x_test=data.x_test[np.concatenate(test)],
            y_test=_named(data.y_test, test, names),
        )
        held, own = (
            fl.Partition("pairs", {"seed": seed}, _in_turn(parts))
            for parts in (train, test)
        )
        return fl.Scenario(both, held, own)

    return bench.place(made)


def judged(met: Comparison, arms: Sequence[str] = ARMS) -> np.ndarray:
    """Accuracy in percent, mean of a pair's two clients: (seeds, arms, points)."""
    runs = [[np.asarray(h.clients) for h in met.of(arm)] for arm in arms]
    each = np.stack([np.stack(seeds) for seeds in runs], axis=1)
    return 100 * each.reshape(*each.shape[:2], -1, 2).mean(-1)


def series(points: Sequence[Point]) -> tuple[list[int], list[int]]:
    """Points alike in samples, by distance; and alike in distance, by samples."""
    at = sorted(range(len(points)), key=lambda i: points[i])
    (m, _), *_ = Counter(samples for samples, _ in points).most_common()
    (far, _), *_ = Counter(classes for _, classes in points).most_common()
    alike = [i for i in at if points[i][0] == m]
    return alike, [i for i in at if points[i][1] == far]


def worth(gains: Sequence[np.ndarray]) -> str:
    """When training together pays, from gains by rising number of samples.

    "always" or "never" if all gains that their intervals decide have that sign, "few"
    or "many" samples if both occur, by the first; "neither" if none is decided.
    """
    decided = [side(gain) for gain in gains if side(gain)]
    if not decided:
        return "neither"
    if len(set(decided)) == 1:
        return "always" if decided[0] == 1 else "never"
    return "few" if decided[0] == 1 else "many"


@styled
def two_panels(
    points: Sequence[Point], two: np.ndarray, chosen: Sequence[int] | None = None
) -> tuple[Figure, str]:
    """Alone and together, against distance and against samples.

    With `chosen`, 0 for alone and 1 for together, a ring is on what is chosen at every
    point.
    """
    fig, axes = canvas(620, 310, ncols=2, sharey=True)
    by_distance, by_samples = series(points)
    m, classes = points[by_distance[0]][0], points[by_samples[0]][1]
    far = [points[i][1] / CLASSES for i in by_distance]
    many = [points[i][0] for i in by_samples]
    _panel(axes[0], far, by_distance, two, chosen)
    _panel(axes[1], many, by_samples, two, chosen)
    axes[0].set(xlabel="distance D", title=f"{m} samples each")
    axes[0].set_ylabel("accuracy on own kind (%)")
    axes[0].legend(loc="lower left")
    axes[1].set_xscale("log")
    axes[1].set_xticks(many, [f"{v}" for v in many])
    axes[1].minorticks_off()
    axes[1].set(xlabel="samples of each client", title=f"D = {classes / CLASSES:g}")
    gain = two[:, 1] - two[:, 0]
    told = [pm(gain[:, i], space="\u00a0") for i in range(len(points))]
    alt = (
        "Test accuracy alone and together. Left, against the distance, the gain of "
        "training together in points: "
        + ", ".join(
            f"{told[i]} at {d:g}" for i, d in zip(by_distance, far, strict=True)
        )
        + f". Right, against the number of samples, at distance {classes / CLASSES:g}: "
        + ", ".join(
            f"{told[i]} with {v}" for i, v in zip(by_samples, many, strict=True)
        )
        + "."
    )
    return fig, alt


def _panel(
    ax: Axes,
    x: Sequence[float],
    at: Sequence[int],
    two: np.ndarray,
    chosen: Sequence[int] | None,
) -> None:
    """One series of points: both arms, and rings on what is chosen."""
    for arm, method in enumerate(("Local", "FedAvg")):
        mean, half = mean_interval(two[:, arm, at], axis=0)
        ax.errorbar(x, mean, half, capsize=3, **look(method), label=ARMS[arm])
        if chosen is not None:
            here = [j for j, i in enumerate(at) if chosen[i] == arm]
            ring = {"s": 190, "facecolor": "none", "edgecolor": INK, "linewidth": 2}
            ax.scatter(np.array(x)[here], mean[here], **ring)
    ax.grid(axis="y")


def _named(
    y: np.ndarray, held: Sequence[np.ndarray], names: Sequence[np.ndarray]
) -> np.ndarray:
    """The labels of all clients in turn, as each calls them."""
    return np.concatenate([n[y[i]] for i, n in zip(held, names, strict=True)])


def _in_turn(held: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Places of all clients' samples, once they lie one after the other."""
    ends = np.cumsum([0] + [len(i) for i in held])
    return tuple(np.arange(a, b) for a, b in itertools.pairwise(ends))
