"""Safe printing: stored text may hold codes that a terminal obeys."""

import sys
from typing import TextIO


def printable(text: str) -> str:
    """The text as one line, with unprintable characters written as escapes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def fitting(text: str, file: TextIO) -> str:
    """The text as one line, in characters that the file's encoding has."""
    kind = getattr(file, "encoding", None) or "utf-8"
    return printable(text).encode(kind, "backslashreplace").decode(kind)


def say(*lines: str, file: TextIO | None = None) -> None:
    """Print lines, with characters that could steer the terminal escaped."""
    out = sys.stdout if file is None else file
    for line in lines:
        print(fitting(line, out), file=out, flush=True)


def note(verb: str, text: str) -> None:
    """Print what a user should know beside the results."""
    say(f"fedlab_core {verb}: note: {text}", file=sys.stderr)
