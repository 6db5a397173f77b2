"""Chapter 8: comparisons that are paired, sums of gains, the best of many."""

from math import sqrt

import numpy as np

from fedlab_book.checks._tools import Answer, Traps, call, compare, fail

# Two-sided 95 % points of Student's t with 2 and 3 degrees of freedom.
_T = {2: 4.302653, 3: 3.182446}
_NORMAL = 1.959964


def paired(answer: Answer) -> str:
    cases = (
        ({0: 60.0, 1: 62.0, 2: 67.0}, {0: 58.0, 1: 61.0, 2: 63.0}),
        ({3: 51.0, 0: 40.0, 1: 44.0, 2: 45.0}, {0: 41.0, 1: 44.0, 2: 47.0, 3: 49.0}),
        ({0: 9.0, 1: 50.0, 2: 52.0, 4: 56.0}, {4: 55.0, 1: 48.0, 2: 52.0, 7: 1.0}),
    )
    for mine, base in cases:
        got, case = call(answer, dict(mine), dict(base))
        both = sorted(set(mine) & set(base))
        a, b = (np.array([v[k] for k in both]) for v in (mine, base))
        d, n = a - b, len(both)
        error, t = d.std(ddof=1) / sqrt(n), _T[n - 1]
        apart = sqrt((a.var(ddof=1) + b.var(ddof=1)) / n)
        traps: Traps = {
            "with so few seeds, t is wider than 1.96": (d.mean(), _NORMAL * error),
            "that is unpaired: take differences first": (d.mean(), t * apart),
            "divide by n - 1 in the deviation": (d.mean(), t * d.std() / sqrt(n)),
            "that is the deviation of one seed, not of the mean": (
                d.mean(),
                t * d.std(ddof=1),
            ),
            "A - B, not B - A": (-d.mean(), t * error),
        }
        hint = "the mean over the seeds that both have, and the half width"
        compare(case, got, (d.mean(), t * error), traps, hint)
    return "differences first, seed by seed; then the interval of their mean"


def beyond_the_sum(answer: Answer) -> str:
    rng = np.random.default_rng(81)
    for n in (2, 3):
        base = rng.normal(60, 2, 4)
        parts = [base + rng.normal(1 + k, 1, 4) for k in range(n)]
        whole = base + rng.normal(3, 1, 4)
        copies = [p.copy() for p in parts]
        case = f"four seeds, {n} parts"
        got, case = call(answer, base.copy(), copies, whole.copy(), case=case)
        gains = [p - base for p in parts]
        right = whole - base - sum(gains)
        traps: Traps = {
            "gains are over the base: it is counted too often": whole - sum(parts),
            "the combination's gain is over the base too": whole - sum(gains),
            "over the sum of the parts, not over the best": whole
            - base
            - np.max(gains, axis=0),
            "one number a seed: leave the mean for later": right.mean(),
            "that is the sum over the combination: turn it round": -right,
        }
        compare(case, got, right, traps)
    return "the combination's gain, less the gains of its parts"


def winners_curse(answer: Answer) -> str:
    # E max of m standard normals: 0, 1/sqrt(pi), 3/(2 sqrt(pi)); for 10 by tables.
    known = {1: 0.0, 2: 1 / sqrt(np.pi), 3: 1.5 / sqrt(np.pi), 10: 1.538753}
    for m, sigma in ((1, 1.0), (2, 1.0), (3, 2.0), (10, 1.0), (10, 0.5)):
        got, case = call(answer, m, sigma)
        try:
            got = float(got)
        except (TypeError, ValueError):
            fail("one number is asked for", case, got=got)
        right = sigma * known[m]
        if abs(got - right) <= 0.05 * sigma:
            continue
        hints = {
            "that is the deviation scaled away: errors have sigma": known[m],
            "sigma is a deviation, not a variance": sqrt(sigma) * known[m],
            "the mean of the maxima, not the largest of all": 4.0 * sigma,
            "the best is the largest, not the largest in size": sigma
            * {1: sqrt(2 / np.pi), 2: 1.128, 3: 1.326, 10: 1.776}[m],
        }
        near = {h: abs(got - v) for h, v in hints.items() if abs(v - right) > 0.1}
        closest = min(near, key=lambda h: near[h], default="")
        hint = closest if closest and near[closest] <= 0.15 * sigma else "too far off"
        fail(hint, case, got=got, expected=f"about {right:.3f}")
    return "the best of many equals looks better than any of them is"
