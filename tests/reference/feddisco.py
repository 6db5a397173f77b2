"""FedDisco as in Algorithm 1 of Ye et al. 2023, in plain Python numbers.

Training and averaging are FedAvg's (`fedavg.run`); what is new is `disco_weights`. The
second half of the file is the paper's theory: the bound its weights come from.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from tests.reference.fedavg import Client, Weights

Numbers = Sequence[float]


def label_distribution(y: Tensor | Sequence[int], classes: int) -> list[float]:
    """D_k: the share of each class among one client's labels."""
    counts = [0] * classes
    for label in y:
        counts[int(label)] += 1
    if sum(counts) == 0:
        raise ValueError("y: a client without samples has no label distribution")
    return [count / sum(counts) for count in counts]


def discrepancy(D: Numbers, T: Numbers, metric: str) -> float:
    """d_k = e(D_k, T): how far local labels are from the target.

    KL(local || target) in nats, with 0 log 0 = 0; infinite where the client holds a
    class that the target lacks. Paper: FedDisco Sec. 5.1.
    """
    pairs = list(zip(D, T, strict=True))
    if metric == "l1":
        return sum(abs(p - q) for p, q in pairs)
    if metric == "l2":
        return math.sqrt(sum((p - q) ** 2 for p, q in pairs))
    if metric == "cosine":
        dot = sum(p * q for p, q in pairs)
        return 1 - dot / (math.hypot(*D) * math.hypot(*T))
    if metric == "kl":
        total = 0.0
        for p, q in pairs:
            if p > 0:
                total += p * math.log(p / q) if q > 0 else math.inf
        return total
    raise ValueError(f"metric: {metric!r} is not one of l1, l2, cosine, kl")


def weights(
    sizes: Numbers, discrepancies: Numbers, a: float, b: float, normalise: bool = True
) -> list[float]:
    """p_k = ReLU(n_k - a d_k + b), scaled to sum to one. Paper: FedDisco Eq. (3).

    `normalise` first divides the discrepancies by their sum, as the authors' code does
    and their text does not say. Where every client is clipped, p_k = n_k.
    """
    n = [m / sum(sizes) for m in sizes]
    d = list(discrepancies)
    if normalise and sum(d) > 0:
        d = [d_k / sum(d) for d_k in d]
    raw = []
    for n_k, d_k in zip(n, d, strict=True):
        raw.append(max(0.0, n_k - a * d_k + b))
    if sum(raw) == 0:
        return n
    return [r / sum(raw) for r in raw]


def disco_weights(
    clients: Sequence[Client],
    classes: int,
    a: float,
    b: float,
    metric: str = "kl",
    normalise: bool = True,
    target: Numbers | None = None,
) -> Weights:
    """The weights of a round's participants, for `fedavg.run`. Paper: FedDisco Alg. 1.

    Every client reports its discrepancy once, before the first round.
    """
    T = [1 / classes] * classes if target is None else list(target)
    d = []
    for _, y in clients:
        d.append(discrepancy(label_distribution(y, classes), T, metric))

    def of_round(round: int, ids: Sequence[int]) -> list[float]:
        sizes = [len(clients[k][1]) for k in ids]
        return weights(sizes, [d[k] for k in ids], a, b, normalise)

    return of_round


@dataclass(frozen=True)
class Constants:
    """The constants of Theorem 4.5, under the paper's assumptions 4.1 to 4.4."""

    tau: int  # local steps per round
    eta: float  # local learning rate
    rounds: int  # T
    smoothness: float  # L
    dissimilarity: float  # B: ||grad F_k||^2 <= ||grad F||^2 + B d_k
    sigma: float  # standard deviation of a stochastic gradient
    gap: float  # F(w_0) - F_inf

    @property
    def A(self) -> float:
        """2 tau (tau - 1) eta^2 L^2: how far a client drifts in a round."""
        return 2 * self.tau * (self.tau - 1) * (self.eta * self.smoothness) ** 2


def terms(p: Numbers, n: Numbers, d: Numbers, c: Constants) -> tuple[float, float]:
    """(T_0, T_1 + ... + T_5) of the bound. Paper: FedDisco Thm. 4.5, Eq. (48).

    W_D carries the factor K of the proof, which the statement in the text has lost:
    it comes from Cauchy-Schwarz over the K clients, and Eq. (54) needs it.
    """
    K, A, L, B = len(p), c.A, c.smoothness, c.dissimilarity
    W_D = 2 * K * sum((n_k - p_k) ** 2 for n_k, p_k in zip(n, p, strict=True))
    T_0 = 1 - 3 * A - W_D * (1 - A)
    T_1 = 2 * (1 - A) * c.gap / (c.tau * c.eta * c.rounds)
    T_2 = (1 - A) * W_D * B * sum(d) / K
    T_3 = 2 * (1 - A) * L * c.eta * c.sigma**2 * sum(p_k**2 for p_k in p)
    T_4 = 2 * (c.tau - 1) * (c.sigma * L * c.eta) ** 2
    T_5 = 2 * A * B * sum(p_k * d_k for p_k, d_k in zip(p, d, strict=True))
    return T_0, T_1 + T_2 + T_3 + T_4 + T_5


def bound(p: Numbers, n: Numbers, d: Numbers, c: Constants) -> float:
    """Upper bound on min_t E||grad F(w^t)||^2. Paper: FedDisco Thm. 4.5.

    Infinite where T_0 <= 0: there the theorem says nothing.
    """
    T_0, above = terms(p, n, d, c)
    return above / T_0 if T_0 > 0 else math.inf


def surrogate(p: Numbers, n: Numbers, d: Numbers, c: Constants, lam: float) -> float:
    """T_1 + ... + T_5 - lam T_0, minimised in place of the bound.

    Paper: FedDisco Eq. (1).
    """
    T_0, above = terms(p, n, d, c)
    return above - lam * T_0


def surrogate_minimiser(
    n: Numbers, d: Numbers, c: Constants, lam: float
) -> tuple[list[float], float, float]:
    """(p, a, b): where the surrogate is stationary on the simplex, unless p_k < 0.

    p_k is proportional to n_k - a d_k + b. Paper: FedDisco Eq. (54) and (55).
    """
    K, A, B = len(n), c.A, c.dissimilarity
    pull = 4 * (1 - A) * (B * sum(d) + K * lam)  # towards n
    noise = 4 * (1 - A) * c.smoothness * c.eta * c.sigma**2  # towards equal weights
    a = 2 * A * B / pull
    b = a * sum(d) / K + noise / (K * pull)  # the multiplier that makes sum(p) = 1
    scale = pull / (pull + noise)
    p = [scale * (n_k - a * d_k + b) for n_k, d_k in zip(n, d, strict=True)]
    return p, a, b
