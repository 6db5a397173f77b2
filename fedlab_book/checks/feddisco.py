"""Chapter 2: weights from sizes and discrepancies."""

import math

import numpy as np

from fedlab_book.checks._tools import Answer, Traps, call, compare, fail


def kl_to_uniform(answer: Answer) -> str:
    for counts in ([5, 5] + [0] * 8, [3] * 4, [1, 3], [2, 0, 6, 8]):
        m = np.array(counts)
        got, case = call(answer, m.copy())
        p = [v / m.sum() for v in counts if v > 0]
        kl = sum(v * math.log(v * len(m)) for v in p)
        traps = {
            "a class without samples adds nothing: 0 log 0 counts as 0": math.nan,
            "the logarithm is the natural one": kl / math.log(2),
            "that is the other way round: from uniform to local": math.inf
            if 0 in counts
            else -sum(math.log(v * len(m)) for v in p) / len(m),
            "that is the entropy, not the distance": -sum(v * math.log(v) for v in p),
        }
        compare(case, got, kl, traps)
    return "KL(local || uniform) in nats, classes without samples included"


def disco_weights(answer: Answer) -> str:
    log5, cases = math.log(5), "plain, clipped, all clipped, no discrepancy".split(", ")
    given = (
        ([1] * 6, [log5] * 5 + [0.0], 0.5, 0.1),
        ([6, 3, 1], [0.1, 0.2, 1.7], 0.9, 0.1),
        ([3, 1], [2.0, 1.0], 9.0, 0.0),
        ([3, 1], [0.0, 0.0], 0.5, 0.1),
    )
    for kind, (sizes, d, a, b) in zip(cases, given, strict=True):
        got, case = call(answer, np.array(sizes), np.array(d), a, b)
        n, d = np.array(sizes) / sum(sizes), np.array(d)
        share = d / d.sum() if d.sum() > 0 else d
        raw, unscaled = n - a * share + b, np.maximum(n - a * d + b, 0)
        p = np.maximum(raw, 0)
        expected = p / p.sum() if p.sum() > 0 else n
        traps: Traps = {
            "the weights do not sum to one yet": p,
            "a weight below zero has to become zero": raw / raw.sum(),
            "divide the discrepancies by their sum first": unscaled
            / (unscaled.sum() or 1),
        }
        hint = {
            "all clipped": "where every client is clipped, only the sizes count",
            "no discrepancy": "where nobody deviates, there is nothing to divide by",
        }
        compare(f"{case} ({kind})", got, expected, traps, hint.get(kind, ""))
    return "sizes minus discrepancies, clipped at zero, summing to one, with a fallback"


def unbiased_weight(answer: Answer) -> str:
    for a, b in ((0.0, 0.0), (0.5, 0.1), (0.7, 0.05), (0.2, 0.4)):
        got, case = call(answer, a, b)
        unbiased, biased = 1 / 6 + b, 1 / 6 - a / 5 + b
        total = unbiased + 5 * biased
        traps = {
            "that is the weight of a biased client": biased / total,
            "the six weights have to sum to one": unbiased,
        }
        compare(case, got, unbiased / total, traps)
    return "the sixth client's weight, as long as nobody is clipped"


def best_mixing(answer: Answer) -> str:
    five = [0.0, 0.25, 0.5, 0.75, 1.0]
    cases = (
        ([[0.2, 0.9, 0.5, 0.6, 0.1], [0.1, 0.2, 0.5, 0.8, 0.3]], 0.75, True),
        ([[0.2, 0.3, 0.6, 0.5, 0.1], [0.1, 0.2, 0.5, 0.9, 0.3]], 0.75, False),
        ([[0.1, 0.2, 0.9, 0.8, 0.3], [0.3, 0.4, 0.7, 0.5, 0.1]], 0.5, False),
    )
    for rows, best, every in cases:
        got, case = call(answer, np.array(five), np.array(rows))
        if not isinstance(got, tuple | list) or len(got) != 2:
            fail("two things are asked for: r, and True or False", case, got=got)
        traps = {
            "that is the position of the maximum, not the r there": five.index(best),
            "average the curves, not their maxima": np.mean(
                [five[int(np.argmax(row))] for row in rows]
            ),
            "that is the height of the maximum, not the r there": np.max(
                np.mean(rows, axis=0)
            ),
        }
        compare(case, got[0], best, traps)
        if np.shape(got[1]) != ():
            fail("one True or False for all seeds together", case, got=got[1])
        if bool(got[1]) is not every:
            hint = (
                "look at each seed's own maximum: does it differ from 1/2 every time?"
            )
            fail(hint, case, got=bool(got[1]), expected=every)
    return "where the curve averaged over seeds peaks, and whether no seed peaks at 1/2"
