"""Chapter 6: a pull to many is one to their mean, and how a network escapes it."""

import numpy as np

from fedlab_book.checks._tools import Answer, Traps, call, compare, fail


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


def whisper(answer: Answer) -> str:
    rng = np.random.default_rng(5)
    for by in (0.5, 0.1, 3.0):
        x, own = rng.normal(size=(6, 4)), rng.normal(size=(3, 4))
        lift, head = rng.normal(size=3), rng.normal(size=(2, 3))
        case = f"a layer of three units, its features times {by:g}"
        got, case = call(answer, own.copy(), lift.copy(), head.copy(), by, case=case)
        if not isinstance(got, tuple | list) or len(got) != 3:
            fail("three are asked for: weight, bias and head", case, got=got)
        weight, bias, top = (np.asarray(part, float) for part in got)
        shapes = [v.shape for v in (own, lift, head)]
        if [v.shape for v in (weight, bias, top)] != shapes:
            fail("each keeps its shape", case, got=got)
        features, new = (
            np.maximum(x @ w.T + c, 0) for w, c in ((own, lift), (weight, bias))
        )
        if not np.allclose(new, by * features):
            half = np.allclose(weight, by * own) and np.allclose(bias, lift)
            hint = (
                "the bias is part of a feature"
                if half
                else "features are not by times as long"
            )
            fail(hint, case, got=new[0].tolist(), expected=(by * features[0]).tolist())
        if not np.allclose(new @ top.T, features @ head.T):
            fail("the answers change: the head has to make up for it", case)
    return "the same answers; the penalty is by squared times as large"
