"""Paths of things, relative to the root of a project."""

from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    "fedlab_core",
    "fedlab_use",
    "fedlab_flower",
    "fedlab_ledger",
    "fedlab_browser",
    "fedlab_book",
)
SLIDES = "slides"  # of the chapters, in the site


def stage(root: Path) -> Path:
    """The tree that the site is built from: the sources, with executed notebooks."""
    return root / "_build" / "stage"


def site(root: Path) -> Path:
    return root / "_build" / "html"


def assets(root: Path) -> Path:
    return root / "_build" / "assets"


def chapters(root: Path) -> dict[Path, str]:
    """Notebooks of the numbered chapters and of the pages below them, in order.

    Each with its name in a link: chapter 5; chapter 5, when clinics are wrong.
    """
    toc = yaml.safe_load((root / "book" / "_toc.yml").read_text())
    numbered = [part for part in toc["parts"] if part.get("numbered")]
    every = [chapter for part in numbered for chapter in part["chapters"]]
    found = {}
    for number, chapter in enumerate(every, 1):
        found[root / f"{chapter['file']}.ipynb"] = f"chapter {number}"
        for page in chapter.get("sections", []):
            path = root / f"{page['file']}.ipynb"
            found[path] = f"chapter {number}, {path.stem.replace('_', ' ')}"
    return found
