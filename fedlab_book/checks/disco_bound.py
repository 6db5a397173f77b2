"""Chapter 3: walks that fit weights by size, and sums without summands."""

import numpy as np

from fedlab_book.checks._tools import Answer, Traps, call, compare, fail


def own_steps(answer: Answer) -> str:
    draw = np.random.default_rng(7)
    for clients, tau, eta in ((2, 20, 0.2), (5, 8, 0.3), (2, 1, 0.5), (4, 50, 0.1)):
        c = draw.uniform(0.1, 1.5, clients)
        got, case = call(answer, c.copy(), tau, eta)
        if np.shape(got) != (clients,):
            fail("one step size a clinic", case, got=got)
        got, steep = np.asarray(got, dtype=float), int(c.argmax())
        part = (1 - (1 - eta * c[steep]) ** tau) * c / c[steep]
        traps: Traps = {
            "with one step size for all the average is off the floor": np.full(
                clients, eta
            ),
            "now everybody goes the same part of the way; it has to be in proportion "
            "to the curvature": eta * c[steep] / c,
            "that is the part of the way that a clinic goes, not its step": part,
            "that is a step times the curvature: divide by it": 1
            - (1 - part) ** (1 / tau),
        }
        compare(case, got, (1 - (1 - part) ** (1 / tau)) / c, traps)
        n, low = draw.dirichlet(np.ones(clients)), draw.normal(size=clients)
        gone = 1 - (1 - got * c) ** tau
        floor = (n * c) @ low / (n * c).sum()
        compare(case, (n * gone) @ low / (n * gone).sum(), floor, {})
    return "step sizes with which weights by size lead to the floor"


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
