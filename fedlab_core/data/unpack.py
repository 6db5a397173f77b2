"""Reading archives without unpacking them: members one by one, nothing written.

Every member's name is looked at, wanted or not, and an archive with a name that leads
out of its folder is refused as a whole. Only regular files of bounded size are read.
"""

import tarfile
import zipfile
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from fedlab_core.errors import InputError, require

LIMIT = 2**30  # no file that is read here has more bytes
PACKED = 200  # times that an archive may grow by unpacking
Wanted = Callable[[PurePosixPath], bool]
Members = Generator[tuple[PurePosixPath, IO[bytes]]]


def _sound(archive: Path, name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    inside = not path.is_absolute() and ".." not in path.parts
    inside &= "\\" not in name and ":" not in name.split("/")[0]
    require(inside, f"{archive.name} has a member that leads elsewhere: {name!r}")
    return path


def tar_members(archive: Path, wanted: Wanted) -> Members:
    """The wanted files of a tar archive, in its order; each to be read at once."""
    with tarfile.open(archive, "r|*") as tar:
        for member in tar:
            path = _sound(archive, member.name)
            if not wanted(path) or member.isdir():
                continue
            file = tar.extractfile(member) if member.isreg() else None
            if file is None or member.size > LIMIT:
                raise InputError(f"{archive.name}: {path} is no file of sensible size")
            yield path, file


def zip_members(archive: Path, wanted: Wanted) -> Members:
    """The wanted files of a zip archive, in its order; each to be read at once."""
    with zipfile.ZipFile(archive) as packed:
        paths = [(_sound(archive, m.filename), m) for m in packed.infolist()]
        for path, member in paths:
            if not wanted(path) or member.is_dir():
                continue
            small = member.file_size <= LIMIT
            require(small, f"{archive.name}: {path} is no file of sensible size")
            with packed.open(member) as file:
                yield path, file


@contextmanager
def zip_member(archive: Path, name: str) -> Iterator[IO[bytes]]:
    """The one file of that name, in whichever folder of the archive it is."""
    with closing(zip_members(archive, lambda path: path.name == name)) as found:
        for _, file in found:
            yield file
            return
    raise InputError(f"{archive.name} lacks {name}")


def check_size(path: Path) -> None:
    """Refuse a zip archive that no data set could be packed into as well as that."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        size, packed = sum(m.file_size for m in archive.infolist()), path.stat().st_size
    sound = size <= PACKED * packed
    require(sound, f"it unpacks {packed} bytes to {size}: over {PACKED} times as many")
