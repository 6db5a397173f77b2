"""Answers to the exercises on FedDisco's bound, FedLAW, FedImpro and FedCollab."""

import itertools

import numpy as np


def own_steps(curvature, tau, eta):
    c = np.asarray(curvature)
    part = (1 - (1 - eta * c.max()) ** tau) * c / c.max()
    return (1 - (1 - part) ** (1 / tau)) / c


def hide(vectors, rng):
    sent = np.array(vectors, dtype=float)
    for i in range(len(sent)):
        for j in range(i + 1, len(sent)):
            mask = rng.standard_normal(sent.shape[1])
            sent[i] += mask
            sent[j] -= mask
    return sent


def best_factor(loss, runs=28):
    """Golden section, on the logarithm."""
    low, high, part = np.log(0.25), np.log(4), (5**0.5 - 1) / 2
    at = [high - part * (high - low), low + part * (high - low)]
    seen = [loss(np.exp(v)) for v in at]
    for _ in range(runs - 2):
        if seen[0] < seen[1]:
            high, at[1], seen[1] = at[1], at[0], seen[0]
            at[0] = high - part * (high - low)
            seen[0] = loss(np.exp(at[0]))
        else:
            low, at[0], seen[0] = at[0], at[1], seen[1]
            at[1] = low + part * (high - low)
            seen[1] = loss(np.exp(at[1]))
    return np.exp((low + high) / 2)


def best_of_grid(loss):
    grid = np.geomspace(0.25, 4, 30)
    return grid[int(np.argmin([loss(v) for v in grid]))]


def best_of_even_grid(loss):
    grid = np.linspace(0.25, 4, 30)
    return grid[int(np.argmin([loss(v) for v in grid]))]


def together(counts, mu, s):
    counts, mu, s = (np.asarray(v, dtype=float) for v in (counts, mu, s))
    here = counts > 0
    share = counts[here] / counts[here].sum()
    mean = (share * mu[here]).sum()
    within = (share * s[here] ** 2).sum()
    return mean, np.sqrt(within + (share * (mu[here] - mean) ** 2).sum())


def objective(homes, D, sizes, C):
    homes, sizes = np.asarray(homes), np.asarray(sizes, dtype=float)
    weights = (homes[:, None] == homes) * sizes
    held = weights.sum(axis=1)
    return float((C / np.sqrt(held) + (weights * D).sum(axis=1) / held).mean())


def merge_from(m1, m2, D):
    return D / (m1**-0.5 + m2**-0.5 - 2 * (m1 + m2) ** -0.5)


def best_merge(homes, D, sizes, C):
    homes = np.asarray(homes)
    choices = [homes]
    for a, b in itertools.combinations(np.unique(homes), 2):
        choices.append(np.where(homes == b, a, homes))
    return min(choices, key=lambda h: objective(h, D, sizes, C))


def two(right, change):
    """Another answer, from the two numbers of the right one."""
    return lambda *given: change(*right(*given), *given)


RIGHT = {
    "3.3": own_steps,
    "3.4": hide,
    "5.3": best_factor,
    "7.3": together,
    "4.2": merge_from,
    "4.3": best_merge,
}
WRONG = [
    ("3.3", lambda c, tau, eta: np.full(len(c), eta), "one step size for all"),
    ("3.3", lambda c, tau, eta: eta * np.max(c) / c, "the same part of the way"),
    ("3.3", lambda c, tau, eta: own_steps(c, tau, eta) * c, "divide by it"),
    ("3.3", lambda c, tau, eta: eta, "one step size a clinic"),
    ("3.4", lambda vectors, rng: np.array(vectors, dtype=float), "sends the vector as"),
    ("3.4", lambda vectors, rng: 1.0, "one message a client"),
    (
        "3.4",
        lambda vectors, rng: hide(vectors, np.random.default_rng(0)),
        "draw the masks from rng",
    ),
    ("5.3", lambda loss: best_factor(loss, 60), "runs; a server has 30"),
    ("5.3", best_of_even_grid, "an even grid is too coarse"),
    ("5.3", best_of_grid, "not close enough"),
    ("5.3", lambda loss: (1.0, 2.3), "one number is asked for"),
    ("7.3", two(together, lambda m, s, *_: (m, s**2)), "that is the variance"),
    (
        "7.3",
        lambda n, mu, s: (np.mean(mu), together(n, mu, s)[1]),
        "a client without the class",
    ),
    ("4.2", lambda *g: 2 * merge_from(*g), "sums to D, not 2 D"),
    ("4.2", lambda *g: merge_from(*g) / 2, "sums to D, not D / 2"),
    ("4.3", lambda h, D, m, C: np.arange(len(h)), "another merge of two"),
    ("4.3", lambda h, D, m, C: 0, "a coalition's number for each client"),
]
