"""Archives: downloaded or found on the shelf, and checked before they are opened.

The shelf is the folder `archives` beside the data files. What a person puts there is
used and kept. What is not there is downloaded into a scratch folder, to a `.part` file
that is renamed when it is whole; a connection that breaks is taken up where it broke,
and a program that is stopped leaves nothing behind.

An archive is checked against the checksum written down for it. Where nobody published
one, the first download that could be converted is trusted: its SHA-256 is kept on the
shelf as `FILE.sha256`, and an archive that differs from it is refused from then on.
"""

import hashlib
import http.client
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tqdm.auto import tqdm

from fedlab_core.atomic_files import replacing
from fedlab_core.errors import InputError, require

TIMEOUT = 60.0  # seconds without a byte
TRIES, PAUSE = 5, 1.0  # connections to one address, and seconds between them
BLOCK = 2**16
LIMIT = 2**32  # bytes of an archive whose size nobody wrote down


@dataclass(frozen=True)
class Archive:
    """A published file: addresses, size, checksums; no address means by hand."""

    file: str
    urls: tuple[str, ...] = ()
    size: int | None = None
    md5: str | None = None
    sha256: str | None = None
    page: str = ""  # where a person gets it


def obtain(archive: Archive, shelf: Path, scratch: Path) -> Path:
    """The archive, checked: from the shelf if it is there, else from the network."""
    mine = shelf / archive.file
    if mine.exists():
        _check(archive, mine, shelf, f"{mine}")
        return mine
    whole, reasons = scratch / archive.file, []
    for url in archive.urls:
        part = scratch / f"{archive.file}.part"
        try:
            _download(url, part, archive)
            _check(archive, part, shelf, f"{archive.file} from {url}")
        except (OSError, http.client.HTTPException, InputError) as error:
            reasons.append(str(error) if url in str(error) else f"{url}: {error}")
            part.unlink(missing_ok=True)
        else:
            return part.replace(whole)
    raise InputError("; ".join(reasons) or f"{archive.file} has no address")


def remember(archive: Archive, shelf: Path, path: Path) -> None:
    """Trust an archive without a published checksum from now on."""
    side = shelf / f"{archive.file}.sha256"
    if _published(archive) or side.exists():
        return
    shelf.mkdir(parents=True, exist_ok=True)
    with replacing(side) as file:
        file.write(f"{_digest(path, 'sha256')}  {archive.file}\n".encode())


def _published(archive: Archive) -> bool:
    return bool(archive.md5 or archive.sha256)


def _digest(path: Path, kind: str) -> str:
    with path.open("rb") as file:
        new = partial(hashlib.new, kind, usedforsecurity=False)
        return hashlib.file_digest(file, new).hexdigest()


def _check(archive: Archive, path: Path, shelf: Path, what: str) -> None:
    for kind, known in (("md5", archive.md5), ("sha256", archive.sha256)):
        if known:
            found = _digest(path, kind)
            why = f"{what} is not the published file ({kind} {found}, not {known})"
            require(found == known, why)
    side = shelf / f"{archive.file}.sha256"
    if not _published(archive) and side.exists():
        found, first = _digest(path, "sha256"), side.read_text().split()[:1]
        why = f"{what} is not the file that was first seen here: delete {side} to trust"
        require([found] == first, f"{why} the new one (sha256 {found})")


def _download(url: str, part: Path, archive: Archive) -> None:
    """Fetch into `part`, taking up a broken connection where it broke."""
    for left in reversed(range(TRIES)):
        try:
            return _receive(url, part, archive)
        except urllib.error.HTTPError:
            raise  # the server answered: asking again would not help
        except (OSError, http.client.HTTPException):
            if not left:
                raise
            time.sleep(PAUSE)


def _receive(url: str, part: Path, archive: Archive) -> None:
    """One connection: what it brings goes to the end of `part`."""
    have = part.stat().st_size if part.exists() else 0
    asked = {"User-Agent": "fedlab_core"}
    if have:
        asked["Range"] = f"bytes={have}-"
    request = urllib.request.Request(url, headers=asked)
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        start = f"bytes {have}-"
        if not str(answer.headers.get("Content-Range", "")).startswith(start):
            have = 0  # the server begins again, and so does the file
        said = answer.headers.get("Content-Length")
        total = have + int(said) if said else archive.size
        limit = archive.size or LIMIT
        fits = (total or 0) <= limit
        require(fits, f"{total} bytes are offered, {limit} expected")
        how = {"unit": "B", "unit_scale": True, "leave": False, "disable": None}
        bar = tqdm(desc=archive.file, total=total, initial=have, **how)
        with part.open("ab" if have else "wb") as file, bar:
            while block := answer.read(BLOCK):
                have += file.write(block)
                bar.update(len(block))
                require(have <= limit, f"more than {limit} bytes came")
    if total is not None and have < total:
        raise ConnectionError(f"ended after {have} of {total} bytes")
