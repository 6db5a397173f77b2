"""Chapter 5: mean features, and what pulls them together."""

import numpy as np

from fedlab_book.checks._tools import Answer, Traps, call, compare, fail


def linear_mmd(answer: Answer) -> str:
    cases = (
        ([[1.0], [2.0], [3.0]], [[2.0], [4.0], [6.0]]),
        ([[1.0], [2.0], [3.0]], [[0.0], [2.0], [4.0]]),
        ([[0.0, 1.0], [2.0, 3.0]], [[4.0, 2.0], [4.0, 6.0], [1.0, 1.0]]),
    )
    for rows, others in cases:
        x, y = np.array(rows), np.array(others)
        got, case = call(answer, x.copy(), y.copy())
        apart = x.mean(0) - y.mean(0)
        pairs = ((x[:, None] - y[None]) ** 2).sum(2).mean()
        traps: Traps = {
            "that is the distance; its square is asked for": np.sqrt(apart @ apart),
            "add up the squares over the features": (apart @ apart) / x.shape[1],
            "take the means first, then the distance": pairs,
            "take means, not sums: clients need not hold equally many": (
                (x.sum(0) - y.sum(0)) ** 2
            ).sum(),
        }
        compare(case, got, apart @ apart, traps)
    return "the squared distance of the two mean features, blind to all but the means"


def targets(answer: Answer) -> str:
    for rows in ([[0.0], [3.0], [6.0]], [[1.0, 0.0], [0.0, 2.0], [5.0, 1.0], [2.0, 9]]):
        delta = np.array(rows)
        for own in (False, True):
            got, case = call(answer, delta.copy(), own)
            everyone = np.repeat(delta.mean(0, keepdims=True), len(delta), axis=0)
            others = (delta.sum(0) - delta) / (len(delta) - 1)
            traps: Traps = {
                "a client's own delta is in its target": np.nan if own else everyone,
                "with own, everyone counts: all get the same": others
                if own
                else np.nan,
                "one client less to divide by, once its delta is out": np.nan
                if own
                else (delta.sum(0) - delta) / len(delta),
                "one row for each client, even if all rows are alike": delta.mean(0)
                if own
                else np.nan,
            }
            compare(case, got, everyone if own else others, traps)
    return "one row a client: the mean of the others, or of all"


def pull_and_rest(answer: Answer) -> str:
    cases = (
        ([1.0], [[0.0], [3.0], [6.0]]),
        ([2.0, 2.0], [[2.0, 2.0], [2.0, 2.0]]),
        ([1.0, -1.0], [[0.0, 1.0], [4.0, 3.0], [2.0, 2.0]]),
    )
    for here, rows in cases:
        delta, others = np.array(here), np.array(rows)
        got, case = call(answer, delta.copy(), others.copy())
        if not isinstance(got, tuple | list) or len(got) != 2:
            fail("two numbers are asked for: the pull, and the rest", case, got=got)
        middle = others.mean(0)
        pull = float(((delta - middle) ** 2).sum())
        rest = float(((others - middle) ** 2).sum(1).mean())
        whole = float(((others - delta) ** 2).sum(1).mean())
        if np.allclose(pull, rest):
            traps: Traps = {}
        else:
            traps = {
                "the two are swapped: the pull is the one that delta can change": [
                    rest,
                    pull,
                ],
                "the first is the distance to the mean of the others": [whole, rest],
                "the rest is a mean over the others, not a sum": [
                    pull,
                    rest * len(others),
                ],
            }
        hint = f"together they have to be {whole:.6g}, the mean squared distance"
        compare(case, list(got), [pull, rest], traps, hint)
    return "distance to the others' mean, plus what does not depend on delta"


def relative_spread(answer: Answer) -> str:
    rng = np.random.default_rng(5)
    clients = [rng.normal(k, 1.0, (n, 3)) for k, n in enumerate((4, 4, 4))]
    for scale, name in ((1.0, "features"), (0.1, "a tenth of them")):
        given = [scale * h for h in clients]
        case = f"three clients of four samples, {name}"
        got, case = call(answer, [h.copy() for h in given], case=case)
        delta = np.array([h.mean(0) for h in given])
        everything = np.concatenate(given)
        between = ((delta - delta.mean(0)) ** 2).sum(1).mean()
        total = ((everything - everything.mean(0)) ** 2).sum(1).mean()
        traps: Traps = {
            "that is the spread itself: it shrinks with the features": between,
            "divide by the variance of all samples, not by their size": between
            / (everything**2).sum(1).mean(),
            "divide by the variance of all samples, not within the clients": between
            / (total - between),
        }
        compare(case, got, between / total, traps)
    return "the share of the features' variance that lies between clients"
