"""Chapter 7: features from a shared distribution."""

import math

import numpy as np

from fedlab_book.checks._tools import Answer, Traps, call, compare, fail


def _two(got, case: str, what: str) -> None:
    if not isinstance(got, tuple | list) or len(got) != 2:
        fail(f"two things are asked for: {what}", case, got=got)


def together(answer: Answer) -> str:
    rng = np.random.default_rng(0)
    for sizes in ([4, 4], [2, 6, 0], [1, 9, 5]):
        parts = [rng.normal(3 * k, 1 + k, n) for k, n in enumerate(sizes)]
        m = np.array([p.mean() if len(p) else 7.0 for p in parts])
        s = np.array([p.std() if len(p) else 5.0 for p in parts])
        counts = np.array(sizes)
        got, case = call(answer, counts.copy(), m.copy(), s.copy())
        _two(got, case, "the mean, and the standard deviation")
        every = np.concatenate(parts)
        here, share = counts > 0, counts / counts.sum()
        traps: Traps = {
            "a client without the class has nothing to say": m.mean(),
            "who has more images counts more": m[here].mean(),
        }
        compare(f"{case}, mean", got[0], every.mean(), traps)
        within = (share * s**2).sum()
        apart = every.var() - within
        traps = {
            "that is the variance: take its root": every.var(),
            "the means differ too: add their variance": math.sqrt(within),
            "average variances, not standard deviations": (share * s).sum(),
            "a mean of deviations misses how the means differ": math.sqrt(
                (share * s).sum() ** 2 + apart
            ),
        }
        compare(f"{case}, deviation", got[1], every.std(), traps)
    return "the spread within the clients and the spread between them"
