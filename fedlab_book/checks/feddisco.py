"""Chapter 2: weights that are a power of size."""

import numpy as np

from fedlab_book.checks._tools import Answer, call, compare

_CASES = (  # sizes, and the power that the weights are
    ([130, 120, 30, 20, 10], 0.5),
    ([3, 1], -1.25),
    ([40, 20, 10], 0.0),
    ([7, 5, 2, 1], 1.75),
)


def nearest_power(answer: Answer) -> str:
    for held, p in _CASES:
        sizes = np.array(held, float)
        weights = _shares(sizes, p)
        got, case = call(answer, sizes.copy(), weights.copy())
        traps = {
            "that has the sign the wrong way round": -p,
            "divide the powers by their sum first": _nearest(sizes, weights, False),
        }
        compare(case, _two_digits(got), p, traps)
    sizes, weights = np.array([130.0, 120, 30, 20, 10]), np.array([0, 0, 0.4, 0.4, 0.2])
    got, case = call(answer, sizes.copy(), weights.copy())
    hint = "where no power fits, the squares decide; a weight may be zero"
    compare(case, _two_digits(got), _nearest(sizes, weights), {}, hint)
    return "the power that is nearest, also where none fits"


def _two_digits(got: object) -> object:
    return round(float(got), 2) if isinstance(got, float | int | np.number) else got


def _shares(sizes: np.ndarray, p: float) -> np.ndarray:
    return sizes**p / (sizes**p).sum()


def _nearest(sizes: np.ndarray, weights: np.ndarray, divided: bool = True) -> float:
    """By trying all: the smallest sum of squared differences."""

    def apart(hundredths: int) -> float:
        p = hundredths / 100
        made = _shares(sizes, p) if divided else sizes**p
        return float(np.square(made - weights).sum())

    return min(range(-200, 201), key=apart) / 100
