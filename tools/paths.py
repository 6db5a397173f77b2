"""Paths of things, relative to the root of a project."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def stage(root: Path) -> Path:
    """The tree that the site is built from: the sources, with executed notebooks."""
    return root / "_build" / "stage"


def site(root: Path) -> Path:
    return root / "_build" / "html"


def assets(root: Path) -> Path:
    return root / "_build" / "assets"
