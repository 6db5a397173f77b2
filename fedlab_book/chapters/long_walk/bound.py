"""FedDisco's theory: the bound that its weights come from, and how large a can be.

| paper | here |
|---|---|
| n_k, p_k, d_k | `n` share of letters, `p` weight, `d` discrepancy |
| tau, eta, T | `tau` local steps, `eta` local learning rate, `rounds` |
| L, B, sigma | `smoothness`, `dissimilarity`, `sigma` |
| A | `drift`, 2 tau (tau - 1) eta^2 L^2 |
| lambda | `lam` |

W_D = 2 K sum_k (n_k - p_k)^2 has the factor K of the proof (Eq. (49), Eq. (54)); the
statement of the theorem lacks it: `proof=False` reads it that way. The constants of the
paper's Table 6 are not given: the defaults are ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.axes import Axes

import fedlab_core as fl
from fedlab_book.figures import INK, PALETTE
from fedlab_book.findings import Facts, Row
from fedlab_book.panels import Panel
from fedlab_core.metrics import discrepancy

SAFE, SHIPPED = (0.4, 0.6), 0.5  # a: called safe in the paper; of its scripts
TRIED = [(a, b) for a in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7) for b in (0.05, 0.1, 0.2, 0.4)]
GUESSES = {
    "Any a, if clinics differ enough": "The more they differ, the larger B; but B also "
    "makes the pull to the sizes stronger.",
    "Below one": "Further down.",
    "Below one half": "Further down: that is where the published scripts are.",
    "Below one quarter": "A has to stay below one third, or the bound says nothing.",
}


@dataclass(frozen=True)
class Constants:
    """Constants of Theorem 4.5; by default, A = 0.1. Paper: FedDisco Thm. 4.5."""

    tau: int = 10
    eta: float = 1800**-0.5
    rounds: int = 100
    smoothness: float = 1.0
    dissimilarity: float = 0.1
    sigma: float = 0.1
    gap: float = 0.5  # F at the start, less the infimum
    lam: float = 0.05

    @property
    def drift(self) -> float:
        """A, the bound on a client's drift in a round: 0 for a single step."""
        return 2 * self.tau * (self.tau - 1) * (self.eta * self.smoothness) ** 2


def terms(
    p: np.ndarray, n: np.ndarray, d: np.ndarray, c: Constants, proof: bool = True
) -> np.ndarray:
    """T_0 to T_5 for weights p, or for rows of them. Paper: FedDisco Thm. 4.5."""
    stay, factor = 1 - c.drift, 2 * len(n) if proof else 2
    apart = factor * ((n - p) ** 2).sum(-1)  # W_D
    start = 2 * stay * c.gap / (c.tau * c.eta * c.rounds)
    alone = 2 * (c.tau - 1) * (c.sigma * c.smoothness * c.eta) ** 2
    return np.array(
        [
            1 - 3 * c.drift - apart * stay,
            start + 0 * apart,
            stay * apart * c.dissimilarity * d.mean(),
            2 * stay * c.smoothness * c.eta * c.sigma**2 * (p**2).sum(-1),
            alone + 0 * apart,
            2 * c.drift * c.dissimilarity * (p * d).sum(-1),
        ]
    )


def bound(
    p: np.ndarray, n: np.ndarray, d: np.ndarray, c: Constants, proof: bool = True
) -> np.ndarray:
    """Bound (T_1 + ... + T_5) / T_0; infinite where T_0 is not positive."""
    found = terms(p, n, d, c, proof)
    with np.errstate(divide="ignore"):
        return np.where(found[0] > 0, found[1:].sum(0) / found[0], np.inf)


def surrogate(p: np.ndarray, n: np.ndarray, d: np.ndarray, c: Constants) -> float:
    """J = T_1 + ... + T_5 - lam T_0, minimised instead. Paper: FedDisco Eq. (1)."""
    found = terms(p, n, d, c)
    return float(found[1:].sum() - c.lam * found[0])


def lowest(n: np.ndarray, d: np.ndarray, c: Constants) -> np.ndarray:
    """Weights at which J is least, if none is below zero. Paper: FedDisco Eq. (54)."""
    u = 4 * len(n) * (1 - c.drift) * (c.dissimilarity * d.mean() + c.lam)
    v = 4 * (1 - c.drift) * c.smoothness * c.eta * c.sigma**2
    free = (u * n - 2 * c.drift * c.dissimilarity * d) / (u + v)
    return free + (1 - free.sum()) / len(n)


def clients(seed: int) -> tuple[np.ndarray, np.ndarray, fl.Members]:
    """Shares and discrepancies of ten clients of a Dirichlet split, and themselves."""
    labels = np.repeat(np.arange(10), 200)
    counts = fl.dirichlet(labels, 10, 0.5, seed=seed).counts(labels, 10)
    held = fl.Members.holding(torch.from_numpy(counts))
    return counts.sum(1) / counts.sum(), discrepancy(held.counts).numpy(), held


def changes(seed: int, proof: bool) -> np.ndarray:
    """Percent by which the paper's weights change the bound: (pairs (a, b), constants).

    The constants are 30 drifts A, and three dissimilarities B with each.
    """
    n, d, held = clients(seed)
    weights = np.array([fl.Disco(a, b)(held).numpy() for a, b in TRIED])
    grid = [
        Constants(eta=(A / 180) ** 0.5, dissimilarity=B)
        for A in np.linspace(0.01, 0.3, 30)
        for B in (0.1, 1.0, 10.0)
    ]
    at = np.array([bound(n, n, d, c, proof) for c in grid])
    moved = np.array([bound(weights, n, d, c, proof) for c in grid])
    return 100 * (moved.T / at - 1)


def facts(seeds: Sequence[int]) -> Facts:
    """Arguments of `finding`: with K no pair that was tried tightens the bound."""
    proved, printed = (
        np.array([changes(s, proof) for s in seeds]) for proof in (True, False)
    )
    own = TRIED.index((SHIPPED, 0.1))
    kindest = {
        "as proved, a = .5, b = .1": (proved[:, own].min(1), 1),
        "as proved, the kindest of 24 pairs": (proved.min((1, 2)), 1),
        "as printed, a = .5, b = .1": (printed[:, own].min(1), -1),
    }
    words = ("looser", "tighter")
    rows = [Row(n, v, words=words, sign=sign) for n, (v, sign) in kindest.items()]
    return {"rows": rows, "holds": bool((proved > 0).all())}


def largest(drift: np.ndarray | float) -> np.ndarray:
    """The largest a, in the units of the code, that the theory has for a drift A."""
    return np.asarray(drift) / (2 * (1 - np.asarray(drift)))


def drawn_at_random(seeds: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """A and a of constants drawn at random for which the bound says something."""
    A, a = [], []
    for seed in seeds:
        rng, (_, d, _) = np.random.default_rng(seed), clients(seed)
        drift = rng.uniform(0.001, 1 / 3, 40)
        B, lam = 10 ** rng.uniform([[-2], [-3]], [[2], [1]], (2, 40))
        A.append(drift)
        a.append(largest(drift) * B * d.mean() / (B * d.mean() + lam))
    return np.concatenate(A), np.concatenate(a)


def right(seeds: Sequence[int]) -> str:
    """Answer to how large a can be: the smallest bound that all draws keep."""
    top, names = drawn_at_random(seeds)[1].max(), [*GUESSES]
    kept = [
        name
        for name, most in zip(names, (np.inf, 1, 0.5, 0.25), strict=True)
        if top < most
    ]
    return kept[-1]


def reach(seeds: Sequence[int]) -> Panel:
    """The largest a that the theory has by the drift, and the a of the paper."""
    A, a = drawn_at_random(seeds)

    def draw(ax: Axes) -> None:
        line = np.linspace(0, 0.6, 121)
        ax.axvspan(1 / 3, 0.6, color=INK, alpha=0.12, linewidth=0)
        ax.axhspan(*SAFE, color=PALETTE["orange"], alpha=0.25, linewidth=0)
        ax.plot(line, largest(line), color=INK)
        ax.scatter(A, a, s=12, color=PALETTE["blue"], alpha=0.6)
        ax.plot(1 / 2, SHIPPED, "*", color=PALETTE["orange"], mec=INK, markersize=17)
        ax.text(0.595, 0.04, "the bound says nothing", ha="right")
        ax.text(0.01, 0.48, "the paper’s safe a")
        ax.set(xlim=(0, 0.6), ylim=(0, 0.7), xlabel="drift A", ylabel="a")
        ax.grid(axis="y")

    return Panel(
        draw,
        f"The largest a by the drift A: {largest(1 / 3):.2f} at A = 1/3, beyond which "
        f"the bound says nothing. {len(a)} random sets of constants lie below, the "
        f"highest at {a.max():.2f}. The paper's safe a is from {SAFE[0]} to "
        f"{SAFE[1]}; the curve reaches {SHIPPED} at A = 1/2.",
    )
