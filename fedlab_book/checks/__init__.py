"""Answers to the book's exercises, checked: `check("2.3", my_function)`.

A check knows what a right answer does, not how it is written: it compares with numbers
worked out here from the definitions, and uses nothing of `fedlab_core`.
"""

from collections.abc import Callable
from typing import Any

from fedlab_book.checks import (
    averaging,
    disco_bound,
    fedcollab,
    feddisco,
    fedimpro,
    fedlaw,
    field,
    rfedavg,
)
from fedlab_book.checks._tools import TODO, Answer, Blank, fail

__all__ = ["check", "graded"]

_SPECS: dict[str, Callable[[Answer], str]] = {
    "1.3": averaging.dirichlet_split,
    "2.3": feddisco.nearest_power,
    "3.3": disco_bound.own_steps,
    "3.4": disco_bound.hide,
    "4.2": fedcollab.merge_from,
    "4.3": fedcollab.best_merge,
    "5.3": fedlaw.best_factor,
    "6.2": rfedavg.pull_and_rest,
    "6.3": rfedavg.whisper,
    "7.3": fedimpro.together,
    "8.1": field.paired,
    "8.2": field.beyond_the_sum,
    "8.3": field.winners_curse,
}


def check(name: str, answer: Any) -> None:
    """Print that the answer is right or not tried; a wrong one raises."""
    try:
        print(f"{name} ✓ {_verified(name, answer)}")
    except Blank as why:
        print(f"{name} — not tried yet: {why}")


def graded(name: str, answer: Any) -> None:
    """Raise unless the answer is right; one that was not tried is not."""
    try:
        _verified(name, answer)
    except Blank as why:
        raise AssertionError(f"{name} — not tried yet: {why}") from None


def _verified(name: str, answer: Any) -> str:
    """A line on what was found to be right about an answer."""
    if name not in _SPECS:
        raise ValueError(f"name: no exercise {name!r}; known are {', '.join(_SPECS)}")
    if answer is ...:
        raise Blank(TODO)
    try:
        if not callable(answer):
            fail("the function itself is asked for, without calling it", got=answer)
        return _SPECS[name](answer)
    except AssertionError as wrong:
        raise AssertionError(f"{name} — not yet: {wrong}") from wrong.__cause__
