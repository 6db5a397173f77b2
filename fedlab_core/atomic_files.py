"""Files written whole or not at all, and tried before the work that they are for.

A file under way is `.fedlab-*.part` in the folder where it is to be, locked by who
writes it: what a crash leaves there goes with the next file written beside it.
"""

import os
import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from filelock import lock_descriptor

from fedlab_core.errors import InputError, require


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """A file to write into, which takes the place of `path` if nothing goes wrong.

    The mode of a file that is replaced stays, and a link goes on leading to it.
    """
    with telling(path):
        target = Path(os.path.realpath(path))
        sweep(target.parent)
        part = target.parent / f".fedlab-{secrets.token_hex(8)}.part"
        try:
            with part.open("xb") as file:
                lock_descriptor(file.fileno())
                yield file
                file.flush()
                if target.exists():
                    part.chmod(target.stat().st_mode & 0o7777)
                os.fsync(file.fileno())
                os.utime(part)  # it is new, and nobody sweeps it when it is not locked
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)


def writable(path: str | os.PathLike, option: str, force: bool = False) -> Path:
    """The path, if a file can be written there; finding out leaves nothing behind."""
    out = Path(path)
    with telling(f"{option}: {out}"):
        with suppress(FileNotFoundError):
            free = bool(os.stat(out)) and force
            require(not out.is_dir(), f"{option}: {out} is a folder, give a file name")
            require(out.is_file(), f"{option}: {out} is not a plain file")
            require(free, f"{option}: {out} exists: use --force to replace it")
        folder = Path(os.path.realpath(out)).parent
        require(folder.is_dir(), f"{option}: there is no folder {out.parent}")
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(4096))
    return out


@contextmanager
def telling(what: str | os.PathLike) -> Iterator[None]:
    """Let what the system refuses be one line that says of what."""
    try:
        yield
    except InputError:
        raise
    except (OSError, ValueError) as error:  # such as a name with a null in it
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{what} cannot be written: {why}") from None


def sweep(folder: Path) -> None:
    """Remove files under way that nobody writes any more."""
    for part in folder.glob(".fedlab-*.part"):
        with suppress(OSError):
            with part.open("r+b") as file:
                dead = lock_descriptor(file.fileno(), blocking=False)
            old = time.time() - part.stat().st_mtime > 1  # else about to be locked
            if dead and old:
                part.unlink()
