"""How an answer is called, compared, and told what is wrong."""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import torch

Answer = Callable[..., Any]
Traps = dict[str, Any]  # what a typical mistake is called, and what it gives

TODO = "replace the … and run this cell again"


class Blank(Exception):
    """The answer, or a part of it, is still `...`."""


def fail(hint: str, case: str = "", **shown: Any) -> NoReturn:
    """Say that the answer is wrong: why, for what, and what it gave."""
    lines = [hint]
    lines += [f"  case      {case}"] if case else []
    for key, value in shown.items():
        lines.append(f"  {key:<8}  {shorten(text(value))}")
    raise AssertionError("\n".join(lines))


def shorten(line: str, most: int = 300) -> str:
    return line if len(line) <= most else line[:most] + " …"


def text(value: Any) -> str:
    """Numbers in short, arrays and tensors as lists."""
    if isinstance(value, np.ndarray | torch.Tensor):
        value = value.tolist()
    if isinstance(value, list | tuple):
        left, right = "[]" if isinstance(value, list) else "()"
        return left + ", ".join(text(entry) for entry in value) + right
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def call(answer: Answer, *given: Any, case: str = "") -> tuple[Any, str]:
    """Call the answer: the value that it gives, and how the case reads."""
    name = getattr(answer, "__name__", "answer")
    case = case or f"{name}({', '.join(text(value) for value in given)})"
    try:
        with np.errstate(all="ignore"):
            got = answer(*given)
    except Exception as error:
        if "ellipsis" in str(error).lower():
            raise Blank(TODO) from None
        hint = f"it stopped with {type(error).__name__}: {error}"
        raise AssertionError(f"{hint}\n  case      {case}") from error
    if got is None:
        raise Blank(f"it returns nothing; {TODO}")
    parts = list(got.values()) if isinstance(got, dict) else got
    if not isinstance(parts, list | tuple):
        parts = [parts]
    if any(part is ... for part in parts):
        raise Blank(TODO)
    return got, case


def close(got: Any, expected: Any) -> bool:
    """Same shape, and the same numbers to single precision."""
    try:
        got = np.asarray(got, dtype=float)
    except (TypeError, ValueError, RuntimeError):
        return False
    expected = np.asarray(expected, dtype=float)
    same_shape = got.shape == expected.shape
    return same_shape and np.allclose(got, expected, 1e-5, 1e-6, equal_nan=True)


def compare(case: str, got: Any, expected: Any, traps: Traps, hint: str = "") -> None:
    """Raise unless both are close; a trap that gives the same as `got` explains it."""
    if close(got, expected):
        return
    found = (mistake for mistake, value in traps.items() if close(got, value))
    hint = next(found, hint or "the numbers differ")
    fail(hint, case, got=got, expected=expected)
