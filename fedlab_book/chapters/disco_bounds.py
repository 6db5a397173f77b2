"""FedDisco's theory: the bound behind its weights, and what minimises it.

| paper | here |
|---|---|
| n_k, p_k, d_k | `n` share of samples, `p` weight, `d` discrepancy |
| tau, eta, T | `tau` local steps, `eta` local learning rate, `rounds` |
| L, B, sigma | `smoothness`, `dissimilarity`, `sigma` |
| A | `drift`, 2 tau (tau - 1) eta^2 L^2 |
| W_D | 2 K sum_k (n_k - p_k)^2 |
| lambda | `lam` |

Deviations from the paper:

1. W_D has the factor K of the proof (Eq. (49), Eq. (54)); the statement of the theorem
   lacks it: `proof=False` reads it that way.
2. The constants and the start of Table 6 are not given: the defaults are ours.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from fedlab_core.arguments import Axes, Count, NotNegative, Positive, Within, checked
from fedlab_core.errors import require

PerClient = Annotated[np.ndarray, Axes("clients", "number", Within(0))]


@checked
@dataclass(frozen=True)
class Constants:
    """Constants of Theorem 4.5; by default, A = 0.1. Paper: FedDisco Thm. 4.5."""

    tau: Count = 10
    eta: Positive = 1800**-0.5
    rounds: Count = 100
    smoothness: Positive = 1.0
    dissimilarity: NotNegative = 0.1
    sigma: NotNegative = 0.1
    gap: NotNegative = 0.5  # F at the start, less the infimum

    def __post_init__(self) -> None:
        step, most = self.eta * self.smoothness, 1 / (2 * self.tau)
        need = f"the theorem needs 0 < eta * smoothness <= 1 / (2 tau) = {most:g}"
        require(0 < step <= most, f"{need}, not {step:g}")

    @property
    def drift(self) -> float:
        """A, the bound on a client's drift in a round: 0 for a single step."""
        return 2 * self.tau * (self.tau - 1) * (self.eta * self.smoothness) ** 2


@checked
@dataclass(frozen=True, eq=False)
class Problem:
    """Shares and discrepancies of K clients, and the constants around them."""

    n: PerClient
    d: PerClient
    constants: Constants = Constants()
    lam: NotNegative = 0.05
    proof: bool = True  # W_D with the factor K

    def __post_init__(self) -> None:
        total = float(self.n.sum())
        require(abs(total - 1) < 1e-6, f"n: shares that sum to 1, not to {total:g}")

    @property
    def factor(self) -> float:
        """W_D / sum_k (n_k - p_k)^2."""
        return 2.0 * len(self.n) if self.proof else 2.0

    @property
    def pull(self) -> float:
        """Strength of the pull of p towards n."""
        c = self.constants
        price = c.dissimilarity * self.d.mean() + self.lam
        return 2 * self.factor * (1 - c.drift) * price

    @property
    def noise(self) -> float:
        """Strength of the pull of p towards equal weights."""
        c = self.constants
        return 4 * (1 - c.drift) * c.smoothness * c.eta * c.sigma**2


def terms(problem: Problem, p: np.ndarray) -> np.ndarray:
    """T_0 to T_5: the bound is (T_1 + ... + T_5) / T_0. Paper: FedDisco Thm. 4.5."""
    c, stay = problem.constants, 1 - problem.constants.drift
    apart = problem.factor * ((problem.n - p) ** 2).sum()  # W_D
    return np.array(
        [
            1 - 3 * c.drift - apart * stay,
            2 * stay * c.gap / (c.tau * c.eta * c.rounds),
            stay * apart * c.dissimilarity * problem.d.mean(),
            2 * stay * c.smoothness * c.eta * c.sigma**2 * (p**2).sum(),
            2 * (c.tau - 1) * (c.sigma * c.smoothness * c.eta) ** 2,
            2 * c.drift * c.dissimilarity * (p * problem.d).sum(),
        ]
    )


def bound(problem: Problem, p: np.ndarray) -> float:
    """Bound on the squared gradient norm; infinite where T_0 is not positive.

    Paper: FedDisco Thm. 4.5.
    """
    found = terms(problem, p)
    return float(found[1:].sum() / found[0]) if found[0] > 0 else float("inf")


def surrogate(problem: Problem, p: np.ndarray) -> float:
    """J = T_1 + ... + T_5 - lam T_0, minimised instead. Paper: FedDisco Eq. (1)."""
    found = terms(problem, p)
    return float(found[1:].sum() - problem.lam * found[0])


def surrogate_gradient(problem: Problem, p: np.ndarray) -> np.ndarray:
    """dJ / dp_k: a pull towards n, one towards equal weights, a price on d."""
    c = problem.constants
    price = 2 * c.drift * c.dissimilarity * problem.d
    return problem.pull * (p - problem.n) + problem.noise * p + price


@checked
@dataclass(frozen=True, eq=False)
class Stationary:
    """Minimiser of J: p is proportional to n - a d + b where no weight is zero."""

    p: np.ndarray
    a: float
    b: float


@checked
def stationary(problem: Problem) -> Stationary:
    """The minimiser of J on the simplex, in closed form.

    J bends alike in every direction, so that the constraint p >= 0 only asks for the
    nearest point of the simplex. b makes the weights sum to one where all are positive.

    Paper: FedDisco Eq. (54), Eq. (55).
    """
    c, pull, noise = problem.constants, problem.pull, problem.noise
    require(pull > 0, "lam and all d are 0: nothing holds p to n, and a is infinite")
    a = 2 * c.drift * c.dissimilarity / pull
    b = a * problem.d.mean() + noise / (len(problem.n) * pull)
    share = pull / (pull + noise)
    return Stationary(project(share * (problem.n - a * problem.d + b)), a, b)


@checked
@dataclass(frozen=True, eq=False)
class Descent:
    """Both values after every step; row 0 is the start."""

    p: np.ndarray  # (steps + 1, clients)
    surrogate: np.ndarray  # (steps + 1,)
    bound: np.ndarray  # (steps + 1,)


@checked
def descend(
    problem: Problem,
    start: Annotated[np.ndarray, Axes("clients")] | None = None,
    steps: Annotated[int, Within(0, 10**6)] = 400,
    rate: Annotated[float, Within(0, 1, above=True)] = 0.01,
) -> Descent:
    """Gradient descent on J over the simplex, from equal weights unless given.

    `rate` is the part of the way to the minimiser that one step goes. The bound ends at
    its least only if lam is that least value; close by, it may rise again by a little.

    Paper: FedDisco Table 6.
    """
    bend = problem.pull + problem.noise
    require(bend > 0, "J is flat: lam, d and sigma are all 0")
    equal = np.full(len(problem.n), 1 / len(problem.n))
    fits = start is None or start.shape == equal.shape
    require(fits, f"start must be one number for each of {len(equal)} clients")
    path = [project(equal if start is None else start.astype(float))]
    for _ in range(steps):
        p = path[-1]
        path.append(project(p - rate / bend * surrogate_gradient(problem, p)))
    values = [(surrogate(problem, p), bound(problem, p)) for p in path]
    return Descent(np.stack(path), *np.array(values).T)


def project(v: np.ndarray) -> np.ndarray:
    """The nearest point with entries of 0 or more that sum to one."""
    ordered = np.sort(v)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(v) + 1)
    last = np.nonzero(ordered > excess)[0][-1]
    return np.maximum(v - excess[last], 0)
