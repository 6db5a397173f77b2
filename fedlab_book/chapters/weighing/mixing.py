"""Every mixture of two clients' models.

    mixed = bench.compare(
        {name: pair(bench, counts) for name, counts in PAIRS.items()},
        arms, rounds=4, observe=along_the_line,
    )
    lines = {name: 100 * mixed.curves("FedAvg", name, "line") for name in PAIRS}
    frames(partial(mixing, lines), Axis("pair", [*PAIRS]))
    finding("...", **leaning(lines))

Lines are (seeds, rounds, points of `R`), in percent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import fedlab_core as fl
from fedlab_book import draw
from fedlab_book.bench import Bench, Place, side
from fedlab_book.figures import INK, canvas, look, styled
from fedlab_book.findings import Row
from fedlab_core import tree
from fedlab_core.metrics import evaluate

R = np.linspace(0, 1, 21)  # weights of B; A has the rest
HALF = 10  # where in them both weigh the same
IMAGES = 800  # of the test set, that every mixture is judged on
EACH = 360  # samples of each class that a pair is counted out of
ROUNDS = (1, 4)  # that are looked at
PAIRS = {  # samples of each class, for A and for B, out of `EACH`
    "seven and three": [[86] * 6 + [84] + [0] * 3, [0] * 7 + [200] * 3],
    "ten and five": [[60] * 10, [120] * 5 + [0] * 5],
    "five and five": [[120] * 5 + [0] * 5, [0] * 5 + [120] * 5],
}
ASKED = "seven and three"
GUESSES = {
    "half": (
        "At one half: they hold the same amount, so they know the same amount",
        "The amount is all that FedAvg looks at. But A has seen seven letters of ten.",
    ),
    "A": (
        "At r = 0: A knows more letters, so B can only do harm",
        "Alone, B is poor. But nobody else knows its three letters.",
    ),
    "between": (
        "Left of one half, but not at zero",
        "A knows more, so it counts more; only B knows its three, so it counts, too.",
    ),
    "B's side": (
        "Right of one half: B has more images of each of its letters",
        "It knows its three well, and has never seen the other seven.",
    ),
}


def pair(bench: Bench, counts: Sequence[Sequence[int]]) -> Place:
    """Two clients in the world of each seed: samples of every class, for A and for B.

    Counted out of `EACH` of each class; where data have more, both have more.
    """

    def made(seed: int) -> fl.Scenario:
        data = bench.task(seed)
        unit = len(data.y_train) // (EACH * len(data.classes))
        who = fl.designed(data.y_train, unit * np.array(counts), seed=seed)
        return fl.Scenario(data, who)

    return bench.place(made)


def along_the_line(now: Any) -> dict[str, np.ndarray]:
    """Accuracy of the 21 mixtures of the two models trained in this round."""
    a, b = (tree.take(now.trained.states, k) for k in (0, 1))
    line = tree.stack([tree.mix(a, b, r) for r in R])
    w = now.world
    x, y = w.x_test[:IMAGES], w.y_test[:IMAGES]
    scores = evaluate(w.model, line, x, y, len(w.classes))
    return {"line": scores.accuracy.cpu().numpy()}


@dataclass(frozen=True, eq=False)
class Facts:
    """A pair in one round; arrays have one number a seed, differences are in points."""

    best: np.ndarray  # the best weight of B
    chosen: np.ndarray  # the weight that is best on the other seeds
    gain: np.ndarray  # of the chosen one, judged on this seed, over one half
    over_a: np.ndarray  # the same, over A alone
    ahead: np.ndarray  # of B alone over A alone

    @property
    def lean(self) -> int:
        """1 if the best mixture leans to the better client, -1 if to the other.

        0 where the intervals do not say that a mixture beats one half or that a client
        is better alone, or where seeds choose different sides.
        """
        sides = set(np.sign(np.round(self.chosen - R[HALF], 9)).astype(int).tolist())
        if side(self.gain) != 1 or len(sides) > 1:
            return 0
        return sides.pop() * side(self.ahead)

    @property
    def even(self) -> bool:
        """Whether one half is what all seeds choose."""
        return bool(np.isclose(self.chosen, R[HALF]).all())


def facts(curves: np.ndarray, t: int) -> Facts:
    """Facts of a pair's lines in round `t`, the first being 1.

    The mixture is chosen on the other seeds and judged on the one that is left.
    """
    seen = curves[:, t - 1]
    seeds = range(len(seen))
    others = [np.delete(seen, k, axis=0).mean(axis=0) for k in seeds]
    at = np.array([mean.argmax() for mean in others])
    ours = seen[seeds, at]
    return Facts(
        best=R[seen.argmax(axis=1)],
        chosen=R[at],
        gain=ours - seen[:, HALF],
        over_a=ours - seen[:, 0],
        ahead=seen[:, -1] - seen[:, 0],
    )


def leaning(lines: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Arguments of `finding`: every pair's best mixture over one half, and over A.

    In the last round it beats A alone where B knows letters that A does not; where B
    knows none, it is within a point of it.
    """
    seen = {(n, t): facts(v, t) for n, v in lines.items() for t in ROUNDS}
    rows = [
        Row(f"{n}, round {t}", f.gain, within=0.5 if f.even else None)
        for (n, t), f in seen.items()
    ]
    even = {key for key in seen if key[0] == "five and five"}
    holds = all(f.even if key in even else f.lean == 1 for key, f in seen.items())
    last = ROUNDS[-1]
    for name in lines:
        over, nothing_new = seen[name, last].over_a, name == "ten and five"
        called = f"{name}, round {last}, over A alone"
        rows.append(Row(called, over, within=1 if nothing_new else None))
        holds &= rows[-1].near if nothing_new else side(over) == 1
    return {"rows": rows, "holds": holds}


def where_best(found: Facts) -> str:
    """Place of the best mixture, as far as the intervals say.

    One of "half", "A", "between" and "B's side": "A" where no mixture is above A alone.
    """
    if side(found.gain) != 1:
        return "half"
    if found.chosen.mean() > R[HALF]:
        return "B's side"
    return "between" if side(found.over_a) == 1 else "A"


@styled
def mixing(lines: Mapping[str, np.ndarray], pair: str) -> tuple[Figure, str]:
    """Accuracy along the line of a pair in two rounds, on the scale of all pairs."""
    fig, ax = canvas(height=350)
    told = []
    for t, method, dash in zip(ROUNDS, ("Equal", "FedDisco"), ("--", "-"), strict=True):
        curves, colour = lines[pair][:, t - 1], look(method)["color"]
        mean = curves.mean(axis=0)
        best = int(mean.argmax())
        draw.banded(ax, R, curves, color=colour, linestyle=dash, label=f"round {t}")
        draw.mark_best(ax, R, mean, colour)
        told.append(
            f"Round {t}: {mean[0]:.1f} % at r = 0, {mean[HALF]:.1f} % at one half, "
            f"{mean[-1]:.1f} % at r = 1, the best {mean[best]:.1f} % at {R[best]:.2f}."
        )
    ax.axvline(R[HALF], color=INK, linestyle=":", linewidth=1.5)
    low = min(float(v.min()) for v in lines.values())
    high = max(float(v.max()) for v in lines.values())
    ax.set(xlabel="weight r of clinic B", ylabel="accuracy (%)", title=pair)
    ax.set_ylim(5 * np.floor(low / 5), 5 * np.ceil(high / 5) + 2)
    ax.grid(axis="y")
    ax.legend(loc="lower left")
    lead = f"Accuracy of the mixture against the weight r of clinic B, {pair}, "
    return fig, f"{lead}mean of {len(curves)} seeds. {' '.join(told)}"
