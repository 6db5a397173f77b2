"""Several seeds summed up."""

import numpy as np
from scipy.special import stdtrit


def mean_interval(values: np.ndarray, axis: int = -1) -> tuple[np.ndarray, np.ndarray]:
    """Mean over seeds and half the width of its 95 % Student interval (NaN for one)."""
    values = np.asarray(values, dtype=float)
    n = values.shape[axis]
    if n < 2:
        return values.mean(axis), np.full_like(values.mean(axis), np.nan)
    spread = values.std(axis, ddof=1) / np.sqrt(n)
    return values.mean(axis), stdtrit(n - 1, 0.975) * spread
