"""Chapter 3: the bound behind FedDisco's weights, and sums without summands."""

from collections.abc import Sequence

import numpy as np

from fedlab_book.checks._tools import Answer, Traps, call, compare, fail


def denominator(answer: Answer) -> str:
    cases = (
        ([0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], 0.2),
        ([0.2, 0.3, 0.5], [0.3, 0.3, 0.4], 0.0),
        ([0.5, 0.5], [0.6, 0.4], 0.25),
        ([0.5, 0.5], [0.5, 0.5], 0.1),
    )
    for sizes, weights, drift in cases:
        n, p = np.array(sizes), np.array(weights)
        got, case = call(answer, n.copy(), p.copy(), drift)
        gap, clients = ((n - p) ** 2).sum(), len(n)
        traps: Traps = {
            "the proof has the factor K, the number of clients": 1
            - 3 * drift
            - 2 * gap * (1 - drift),
            "W_D counts 1 - A times": 1 - 3 * drift - 2 * clients * gap,
            "W_D has a factor 2 besides K": 1 - 3 * drift - clients * gap * (1 - drift),
            "that is W_D alone": 2 * clients * gap,
            "the drift counts three times": 1 - drift - 2 * clients * gap * (1 - drift),
        }
        compare(case, got, 1 - 3 * drift - 2 * clients * gap * (1 - drift), traps)
    return "T_0 with the proof's factor, also where the bound says nothing"


def two_constants(answer: Answer) -> str:
    cases: Sequence[tuple[list[float], float, float, float]] = (
        ([1.0, 3.0], 2.0, 0.0, 0.5),
        ([0.2, 0.4, 1.2], 1.0, 0.3, 0.1),
        ([0.0, 1.0, 2.0, 5.0], 0.5, 0.2, 0.05),
        ([0.3, 0.7], 4.0, 1.0, 0.0),
    )
    for far, u, v, c in cases:
        d = np.array(far)
        got, case = call(answer, d.copy(), u, v, c)
        if not isinstance(got, tuple | list | np.ndarray) or len(got) != 2:
            fail("two numbers are asked for: a and b", case, got=got)
        # n - a d + b sums to 1 + v / u: (u + v) times the weights, over u.
        a = c / u
        b = (1 + v / u - 1 + a * d.sum()) / len(d)
        traps: Traps = {
            "b has to make up for what -a d takes away: a times the mean of d": [
                a,
                v / (len(d) * u),
            ],
            "the pull towards equal weights is shared by all clients": [
                a,
                a * d.mean() + v / u,
            ],
            "without v the weights do not sum to one": [a, a * d.mean()],
            "divide by u, so that n has the factor one": [
                c / (u + v),
                (c * d.mean() + v / len(d)) / (u + v),
            ],
            "first a, then b": [b, a],
        }
        compare(case, list(got), [a, b], traps)
    return "a and b of n - a d + b, for which the weights sum to one"


def drift_needed(answer: Answer) -> str:
    for a in (0.0, 0.05, 0.2, 0.3, 0.5, 2.0):
        got, case = call(answer, a)
        if not isinstance(got, tuple | list) or len(got) != 2:
            fail("two things are asked for: A, and True or False", case, got=got)
        drift = 2 * a / (1 + 2 * a)
        traps: Traps = {
            "that is the largest a for a drift, the other way round": a / (2 * (1 - a))
            if a != 1
            else np.inf,
            "mind the factor 1 - A": 2 * a,
            "mind the factor 2": a / (1 + a),
        }
        compare(case, got[0], drift, traps)
        if np.shape(got[1]) != () or bool(got[1]) is not (drift < 1 / 3):
            hint = "with p close to n, T_0 is 1 - 3A: the bound needs it above zero"
            fail(hint, case, got=got[1], expected=drift < 1 / 3)
    return "the drift that an a asks for, and whether the bound allows it"


def hide(answer: Answer) -> str:
    draw = np.random.default_rng(5)
    for clients, classes in ((2, 3), (4, 4), (6, 2)):
        held = draw.integers(0, 50, (clients, classes)).astype(float)
        what = f"hide({clients} vectors of {classes}, rng)"
        sent, case = call(answer, held.copy(), np.random.default_rng(1), case=what)
        again, _ = call(answer, held.copy(), np.random.default_rng(2), case=what)
        if np.shape(sent) != held.shape:
            fail("one message a client, as long as its vector", case, got=sent)
        sent, again = np.asarray(sent, dtype=float), np.asarray(again, dtype=float)
        compare(
            case,
            sent.sum(axis=0),
            held.sum(axis=0),
            {},
            "the masks do not cancel: what one adds the other takes off",
        )
        if np.isclose(sent, held).all(axis=1).any():
            fail("somebody sends the vector as it is", case, got=sent)
        if np.allclose(sent, again):
            fail("draw the masks from rng: two seeds gave the same", case, got=sent)
        if clients > 2 and _plain_pairs(sent - held):
            fail("every two clients need a mask of their own", case, got=sent - held)
    return "messages that say nothing by themselves and add up to the sum"


def _plain_pairs(masks: np.ndarray) -> bool:
    """Whether some clients' masks, but not all, cancel: these share no mask with the
    others, so that their own sum is open to see."""
    clients = len(masks)
    for chosen in range(1, 2**clients - 1):
        some = [k for k in range(clients) if chosen >> k & 1]
        if np.allclose(masks[some].sum(axis=0), 0):
            return True
    return False
