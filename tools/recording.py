"""The files that a process opens, written down while it runs.

A kernel runs this file by its path, and may know nothing of this package.
"""

import os
import sys


def record(root: str, to: str) -> None:
    """Write to a file the paths below `root` that this process opens, a line each."""
    file = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    here, seen = os.path.join(os.path.realpath(root), ""), set()

    def note(event: str, args: tuple) -> None:
        if event != "open" or not isinstance(args[0], (str, bytes)):
            return
        path = os.path.abspath(os.fsdecode(args[0]))
        if path.startswith(here) and path not in seen:
            seen.add(path)
            os.write(file, os.fsencode(path[len(here) :] + "\n"))

    sys.addaudithook(note)
