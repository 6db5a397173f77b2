"""A virtual environment for each peer, made when it is first needed.

A peer's own packages come first; everything else, torch and numpy above all, is that of
the running interpreter: a `.pth` file puts its packages behind the peer's. So every
peer runs on the very same build of torch, and torch is not installed once more. pip
comes from there too. Nothing that a peer pins is overridden.
"""

import io
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOME = ROOT / ".bench"
REQUIREMENTS = Path(__file__).parent / "requirements"
PATIENCE = 1200  # seconds for one installation


class PeerUnavailable(Exception):
    """A peer cannot be timed here; the message says why, in one line."""


def reason(text: str) -> str:
    """The line of an error output that says what went wrong: the last error, or line.

    >>> reason("Traceback:\\nValueError: no such case\\nstopping\\n")
    'ValueError: no such case'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [s for s in lines if re.match(r"[\w.]*(Error|ERROR|Exception|Exit)\b", s)]
    return (errors or lines or ["no error message"])[-1]


def _install(python: Path, requirements: Path) -> None:
    command = [python, "-m", "pip", "install", "--quiet", "-r", requirements]
    subprocess.run(
        command, check=True, text=True, timeout=PATIENCE, capture_output=True
    )


def _build(folder: Path, requirements: Path) -> None:
    venv.create(folder, clear=True, symlinks=True)
    behind = dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
    own = sysconfig.get_path("purelib", "venv", {"base": str(folder)})
    Path(own, "zz_shared.pth").write_text("\n".join(behind) + "\n")
    _install(folder / "bin" / "python", requirements)


def make(name: str, home: Path = HOME) -> Path:
    """The python of a peer's environment; builds it unless it is up to date."""
    folder, requirements = home / name, REQUIREMENTS / f"{name}.txt"
    if not requirements.exists():
        raise PeerUnavailable(f"there is no peer named {name!r}")
    wanted = f"{sys.version}\n{sys.prefix}\n{requirements.read_text()}"
    stamp = folder / ".ready"
    if not (stamp.exists() and stamp.read_text() == wanted):
        print(f"making {folder} (a few minutes, once)", file=sys.stderr)
        try:
            _build(folder, requirements)
        except subprocess.CalledProcessError as error:
            raise PeerUnavailable(f"{name}: {reason(error.stderr)}") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PeerUnavailable(f"{name}: {error}") from error
        stamp.write_text(wanted)
    return folder / "bin" / "python"


def earlier(commit: str) -> tempfile.TemporaryDirectory:
    """A folder with this package as it was at a commit, and the benchmarks of today."""
    short = ["git", "rev-parse", "--short=7", "--verify", f"{commit}^{{commit}}"]
    packed = ["git", "archive", commit, "fedlab_core"]
    try:
        named = subprocess.run(
            short, cwd=ROOT, check=True, capture_output=True, text=True
        )
        files = subprocess.run(packed, cwd=ROOT, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise PeerUnavailable(f"there is no commit {commit!r} here") from None
    folder = tempfile.TemporaryDirectory()
    with tarfile.open(fileobj=io.BytesIO(files)) as tar:
        tar.extractall(folder.name, filter="data")
    Path(folder.name, "COMMIT").write_text(named.stdout)
    Path(folder.name, "benchmarks").symlink_to(ROOT / "benchmarks")
    return folder


if __name__ == "__main__":
    for given in sys.argv[1:]:
        print(make(given))
