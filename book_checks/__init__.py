"""Answers to the book's exercises, checked: `check("2.1", my_function)`.

A check knows what a right answer does, not how it is written: it compares with numbers
worked out here from the definitions, and uses nothing of `fedlab_core`.
"""

from collections.abc import Callable
from typing import Any

from book_checks import averaging, feddisco
from book_checks._tools import TODO, Answer, Blank, fail

__all__ = ["check"]

_SPECS: dict[str, Callable[[Answer], str]] = {
    "1.1": averaging.average,
    "1.2": averaging.size_weights,
    "1.3": averaging.dirichlet_split,
    "1.4": averaging.communication,
    "2.1": feddisco.kl_to_uniform,
    "2.2": feddisco.disco_weights,
    "2.3": feddisco.unbiased_weight,
    "2.4": feddisco.best_mixing,
}


def check(name: str, answer: Any) -> None:
    """Print that the answer is right or not attempted; a wrong one raises."""
    if name not in _SPECS:
        raise ValueError(f"name: no exercise {name!r}; known are {', '.join(_SPECS)}")
    try:
        if answer is ...:
            raise Blank(TODO)
        if not callable(answer):
            fail("the function itself is asked for, without calling it", got=answer)
        verified = _SPECS[name](answer)
    except Blank as why:
        print(f"{name} — not attempted yet: {why}")
    except AssertionError as wrong:
        raise AssertionError(f"{name} — not yet: {wrong}") from wrong.__cause__
    else:
        print(f"{name} ✓ {verified}")
