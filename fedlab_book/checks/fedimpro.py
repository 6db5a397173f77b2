"""Chapter 6: features from a shared distribution."""

import math

import numpy as np

from fedlab_book.checks._tools import Answer, Traps, call, compare, fail


def _two(got, case: str, what: str) -> None:
    if not isinstance(got, tuple | list) or len(got) != 2:
        fail(f"two things are asked for: {what}", case, got=got)


def new_rows(answer: Answer) -> str:
    given = {
        "two images": ([[1.0, 4.0], [3.0, 4.0]], 0.5, 9.0),
        "three images, capped": ([[0.0, 1.0], [3.0, 1.2], [6.0, 1.1]], 1.0, 0.1),
        "one image": ([[5.0, 2.0]], 0.25, 9.0),
        "no image": (np.zeros((0, 2)), 0.5, 9.0),
        "no image, capped": (np.zeros((0, 2)), 0.5, 0.3),
    }
    for kind, (rows, omega, cap) in given.items():
        mu, s, h = np.array([0.0, 2.0]), np.array([1.0, 0.2]), np.array(rows)
        before = mu.copy(), s.copy(), h.copy()
        got, case = call(answer, mu, s, h, omega, cap)
        case = f"{case} ({kind})"
        _two(got, case, "the new mu, and the new s")
        same = all(map(np.array_equal, (mu, s, h), before))
        if not same:
            fail("the arrays given were changed: make new ones", case)
        n, old_mu, old_s = len(h), *before[:2]
        mean = h.sum(0) / n if n else old_mu
        squares = ((h - mean) ** 2).sum(0)
        spread = np.sqrt(squares / (n - 1)) if n > 1 else old_s
        want = old_mu + omega * (mean - old_mu)
        traps: Traps = {
            "omega is the weight of the batch, 1 - omega that of the old row": mean
            + omega * (old_mu - mean)
        }
        hint = "a class without an image keeps its row" if not n else ""
        compare(f"{case}, mu", got[0], want, traps, hint)
        raw = old_s + omega * (spread - old_s)
        by_n = np.sqrt(squares / max(n, 1))
        traps = {
            "no entry of s may exceed the cap": raw,
            "that is the variance: take its root": np.minimum(
                old_s + omega * (spread**2 - old_s), cap
            ),
            "divide by n - 1, not by n": np.minimum(
                old_s + omega * (by_n - old_s), cap
            ),
        }
        if n == 1:
            wrong = np.minimum((1 - omega) * old_s, cap)
            traps = {"one image says nothing about the spread: keep s": wrong}
        hint = "one image says nothing about the spread: keep s" if n == 1 else ""
        compare(f"{case}, s", got[1], np.minimum(raw, cap), traps, hint)
    return "both rows, with one image, with none, and with the cap"


def needed(answer: Answer) -> str:
    for left in (0.25, 1.0, 0.04, 0.5):
        got, case = call(answer, left)
        _two(got, case, "the ratio, and what is left of the distance")
        root = math.sqrt(left)
        traps = {
            "the law has a square: take the root of what is left": 1 / left - 1,
            "that is (N + N_hat) / N: take one away": 1 / root,
            "that is N / N_hat, upside down": root / (1 - root) if left < 1 else 0.0,
        }
        compare(f"{case}, ratio", got[0], 1 / root - 1, traps)
        traps = {"the distance falls linearly, not by the square": left}
        compare(f"{case}, distance", got[1], root, traps)
    return "one over the root, minus one; and the root is left of the distance"


def statistics_bill(answer: Answer) -> str:
    for given in ((10, 32, 5, 17_418), (100, 131_072, 10, 23_705_252), (2, 3, 1, 12)):
        classes, width, clients, parameters = given
        got, case = call(answer, *given)
        _two(got, case, "bytes, and a number of classes")
        numbers = 2 * classes * width
        traps = {
            "half of it: a mean and a spread, down and up again": 4 * numbers * clients,
            "that counts numbers, not bytes": 2 * numbers * clients,
            "that is what one client sends and receives": 8 * numbers,
        }
        compare(f"{case}, bytes", got[0], 8 * numbers * clients, traps)
        some = range(parameters // width + 1)
        most = max(c for c in some if 2 * c * width < parameters)
        traps = {
            "as large as the model is not smaller": parameters // (2 * width),
            "each class has a mean and a spread": (parameters - 1) // width,
            "a number of classes is whole": (parameters - 1) / (2 * width),
        }
        compare(f"{case}, classes", got[1], most, traps)
    return "a mean and a spread for each class and feature, down and up"


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
