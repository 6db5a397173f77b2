"""Folders of exported models: read with care, and replaced whole or not at all.

A folder under way is `.fedlab-*.export` beside the folder to be written, locked by its
writer; the next export beside it puts right what a crash has left.
"""

import json
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import lock_descriptor
from safetensors import safe_open

from fedlab_core.atomic_files import telling
from fedlab_core.errors import require
from fedlab_core.tree import Tree
from fedlab_ledger.export.card import CARD, LIBRARY

FORMAT = 1


def read(path: Path) -> tuple[dict[str, Any], Tree]:
    """Description and tensors of an exported file."""
    require(path.is_file(), "there is no such file")
    with safe_open(path, "pt") as file:
        about = json.loads((file.metadata() or {})["fedlab"])
        known = f"format {about.get('format')!r:.40}, but {FORMAT} is known only"
        require(about.get("format") == FORMAT, known)
        return about, {name: file.get_tensor(name) for name in file.keys()}


def target(out: Path, force: bool) -> Path:
    """Path for a folder, refused if anything but an export would be replaced."""
    with telling(f"--out: {out}"):
        folder = Path(os.path.realpath(out)).parent
        require(folder.is_dir(), f"--out: there is no folder {out.parent}")
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(4096))
        with suppress(FileNotFoundError):
            os.stat(out)  # refuses names that are too long, and links in a loop
            require(out.is_dir(), f"--out: {out} is a file, give a folder")
            if names := sorted(os.listdir(out)):
                require(force, f"--out: {out} exists: use --force to replace it")
                _check_export(out, names)
        return Path(os.path.realpath(out))


def _check_export(out: Path, names: list[str]) -> None:
    """Refuse a folder with any file that no export wrote."""
    card = ""
    if _plain(out / CARD):
        card = (out / CARD).read_text(errors="replace")
    no_export = f"--out: {out} is not an export: nothing in it is replaced"
    require(LIBRARY in card, no_export)
    listed = {CARD, *re.findall(r"^\| (model[-\d]*\.safetensors) \|", card, re.M)}
    for name in names:
        ours = name in listed and _plain(out / name)
        ours = ours and (name == CARD or _key(out / name) in card)
        alien = f"--out: {out} holds {name}, which no export wrote"
        require(ours, f"{alien}: nothing in it is replaced")


def _plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _key(path: Path) -> str:
    """The line of the card that an exported file belongs to."""
    try:
        about, _ = read(path)
        return f"Key `{about['key']}`, commit `{about['commit']}`"
    except Exception:  # it may be anything
        return "no key"


def replace_folder(out: Path, files: dict[str, bytes]) -> None:
    """Write a folder whole, or leave it as it was."""
    with telling(out), _beside(out) as (new, old):
        for name, content in files.items():
            with open(new / name, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        try:
            if out.exists():
                new.chmod(out.stat().st_mode & 0o7777)
                out.rename(old)
            new.rename(out)
        except BaseException:
            if old.exists() and not out.exists():
                old.rename(out)
            raise


@contextmanager
def _beside(out: Path) -> Iterator[tuple[Path, Path]]:
    """A new folder to replace `out`, and a place for the old one."""
    _put_right(out.parent)
    here = out.parent / f".fedlab-{secrets.token_hex(8)}.export"
    new, old = here / "new" / out.name, here / "old" / out.name
    here.mkdir()
    lock = os.open(here, os.O_RDONLY)
    try:
        lock_descriptor(lock)
        new.mkdir(parents=True)
        old.parent.mkdir()
        yield new, old
    finally:
        shutil.rmtree(here, ignore_errors=True)
        os.close(lock)


def _put_right(folder: Path) -> None:
    """Finish the replacing of a folder after a crash, and remove leftovers."""
    for here in folder.glob(".fedlab-*.export"):
        with suppress(OSError):
            lock = os.open(here, os.O_RDONLY)
            try:
                free = lock_descriptor(lock, blocking=False)
                if not free or time.time() - here.stat().st_mtime <= 1:
                    continue  # it is locked, or about to be
                for old in (here / "old").glob("*"):
                    if not (folder / old.name).exists():
                        (here / "new" / old.name).rename(folder / old.name)
                shutil.rmtree(here)
            finally:
                os.close(lock)
