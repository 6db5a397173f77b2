"""What is printed: stored text may hold anything, and a terminal obeys some of it."""

import sys
from typing import TextIO


def printable(text: str) -> str:
    """The text as one line, with whatever does not show written as an escape."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def fitting(text: str, file: TextIO) -> str:
    """The text as one line, as far as a terminal, or what stands for it, knows it."""
    kind = getattr(file, "encoding", None) or "utf-8"
    return printable(text).encode(kind, "backslashreplace").decode(kind)


def say(*lines: str, file: TextIO | None = None) -> None:
    """Print lines: nothing in them steers the terminal, or is too much for it."""
    out = sys.stdout if file is None else file
    for line in lines:
        print(fitting(line, out), file=out, flush=True)


def note(verb: str, text: str) -> None:
    """Print what a user should know beside the results."""
    say(f"fedlab_core {verb}: note: {text}", file=sys.stderr)
