"""Answers to the exercise of chapter 8: a right one, and usual mistakes."""

import numpy as np


def _curse(m, sigma, repeats=20_000):
    return np.random.default_rng(0).normal(0, sigma, (repeats, m)).max(1).mean()


def _largest_size(m, sigma, repeats=20_000):
    drawn = np.random.default_rng(0).normal(0, sigma, (repeats, m))
    return np.abs(drawn).max(1).mean()


RIGHT = {"8.3": _curse}
WRONG = [
    ("8.3", lambda m, sigma: _curse(m, 1.0), "errors have sigma"),
    ("8.3", _largest_size, "not the largest in size"),
    ("8.3", lambda m, sigma: 0.0, "too far off"),
    ("8.3", lambda m, sigma: "two", "one number is asked for"),
]
