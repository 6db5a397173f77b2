"""Reach of a server's search: how far ten steps can move what is learned."""

import numpy as np


def reach(rate: float, steps: int, halve: int) -> float:
    """How far a search by full steps alone moves the logarithm of what it learns.

    A full step of Adam is its rate; only where a slope suddenly grows is one longer.
    """
    return sum(rate * 0.5 ** (step // halve) for step in range(steps))


def least_share(far: float) -> float:
    """Share left to a wrong half, in percent, once all its log-shares fell so `far`.

    The others' rose by as much.
    """
    return 100 / (1 + float(np.exp(2 * far)))
