"""Chapter 4: when two clients train together, and the merge of two coalitions."""

import math

import numpy as np

from fedlab_book.checks._tools import Answer, call, compare, fail


def merge_from(answer: Answer) -> str:
    for m1, m2, D in ((100, 100, 0.2), (2100, 2100, 0.16), (14, 2100, 1.0)):
        got, case = call(answer, m1, m2, D)
        m = m1 + m2
        saved = 1 / math.sqrt(m1) + 1 / math.sqrt(m2) - 2 / math.sqrt(m)
        traps = {
            "together, both clients pay C over the root of all samples": D
            / (1 / math.sqrt(m1) + 1 / math.sqrt(m2) - 1 / math.sqrt(m)),
            "what the two pay for their distance sums to D, not 2 D": 2 * D / saved,
            "what the two pay for their distance sums to D, not D / 2": D / saved / 2,
            "that is what is saved for each unit of C": saved,
        }
        compare(case, got, D / saved, traps)
    return "below this C the two train alone, above it they train together"


def best_merge(answer: Answer) -> str:
    far = np.array([[0, 0.05, 0.9], [0.05, 0, 0.8], [0.9, 0.8, 0]])
    halves = np.kron(np.array([[0.02, 0.1], [0.1, 0.02]]), np.ones((2, 2)))
    np.fill_diagonal(halves, 0)
    given = (
        ([0, 1, 2], far, [50, 50, 50], 2.0),
        ([0, 1, 2], far, [5000, 5000, 5000], 2.0),
        ([3, 3, 1, 1], halves, [100, 100, 100, 100], 9.0),
    )
    for homes, d, sizes, C in given:
        m = np.array(sizes)
        got, case = call(answer, np.array(homes), d.copy(), m, C)
        if np.shape(got) != np.shape(homes):
            fail("a coalition's number for each client is asked for", case, got=got)
        best = _merged(homes, d, m, C)
        before, after = (_cost(h, d, m, C) for h in (homes, np.asarray(got)))
        least = _cost(best, d, m, C)
        if not _coarser(homes, np.asarray(got)):
            fail("coalitions are joined as a whole, or left alone", case, got=got)
        if after > before + 1e-9:
            fail("that costs more than before: then leave all alone", case, got=got)
        if after > least + 1e-9:
            fail("another merge of two coalitions costs less", case, got=got)
        if len(set(np.asarray(got).tolist())) < len(set(homes)) - 1:
            fail("one merge at a time: of two coalitions", case, got=got)
    return "the best merge of two coalitions, or none where none pays"


def _distances(clients: int) -> np.ndarray:
    d = np.random.default_rng(clients).uniform(0, 1, (clients, clients)).round(2)
    d = np.triu(d, 1)
    return d + d.T


def _parts(homes, d: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each client: one over the root of its coalition's samples, and its shift."""
    same = np.array(homes)[:, None] == np.array(homes)
    held = (same * m).sum(1)
    return 1 / np.sqrt(held), (same * d * m).sum(1) / held


def _cost(homes, d: np.ndarray, m: np.ndarray, C: float) -> float:
    quantity, shift = _parts(homes, d, m)
    return float((C * quantity + shift).mean())


def _merged(homes, d: np.ndarray, m: np.ndarray, C: float) -> list[int]:
    names = sorted(set(homes))
    choices = [list(homes)]
    for a in names:
        choices += [[a if h == b else h for h in homes] for b in names if b > a]
    return min(choices, key=lambda h: _cost(h, d, m, C))


def _coarser(before, after: np.ndarray) -> bool:
    """Whether clients that were together still are."""
    first: dict[int, int] = {}
    return all(
        first.setdefault(b, a) == a for b, a in zip(before, after.tolist(), strict=True)
    )
