"""Answers to the exercises of chapter 8: right ones, and usual mistakes."""

import numpy as np
from scipy import stats


def _paired(mine, base):
    d = np.array([mine[k] - base[k] for k in sorted(mine.keys() & base.keys())])
    return d.mean(), stats.t.ppf(0.975, len(d) - 1) * stats.sem(d)


def _normal(mine, base):
    d = np.array([mine[k] - base[k] for k in mine if k in base])
    return d.mean(), 1.959964 * stats.sem(d)


def _unpaired(mine, base):
    both = [k for k in mine if k in base]
    a, b = (np.array([v[k] for k in both]) for v in (mine, base))
    half = stats.t.ppf(0.975, len(both) - 1) * np.hypot(stats.sem(a), stats.sem(b))
    return a.mean() - b.mean(), half


def _surplus(base, parts, whole):
    return whole + (len(parts) - 1) * base - sum(parts)


def _curse(m, sigma, repeats=20_000):
    return np.random.default_rng(0).normal(0, sigma, (repeats, m)).max(1).mean()


def _largest_size(m, sigma, repeats=20_000):
    drawn = np.random.default_rng(0).normal(0, sigma, (repeats, m))
    return np.abs(drawn).max(1).mean()


RIGHT = {"8.1": _paired, "8.2": _surplus, "8.3": _curse}
WRONG = [
    ("8.1", _normal, "t is wider than 1.96"),
    ("8.1", _unpaired, "that is unpaired"),
    ("8.1", lambda a, b: _paired(b, a), "A - B, not B - A"),
    ("8.1", lambda a, b: _paired(a, b)[0], "the mean over the seeds that both have"),
    ("8.2", lambda base, parts, ab: ab - sum(parts), "counted too often"),
    ("8.2", lambda base, parts, ab: _surplus(base, parts, ab).mean(), "one number a"),
    ("8.2", lambda base, parts, ab: -_surplus(base, parts, ab), "turn it round"),
    ("8.2", lambda base, parts, ab: ab - np.max(parts, axis=0), "not over the best"),
    ("8.3", lambda m, sigma: _curse(m, 1.0), "errors have sigma"),
    ("8.3", _largest_size, "not the largest in size"),
    ("8.3", lambda m, sigma: 0.0, "too far off"),
    ("8.3", lambda m, sigma: "two", "one number is asked for"),
]
