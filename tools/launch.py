"""Uses of the repository's address: buttons, and notebooks opened alone.

The address stands in one place, `repository: url` in `_config.yml`. With it, chapters
get buttons for Binder and Colab, and a notebook that is opened by itself fetches the
rest. Each notebook's first cell does that; it is hidden in the book and does nothing
where the core is installed. It is written by

    python -m tools.launch notebooks/*.ipynb

after a notebook was added, or after the address has changed. The same command folds in
JupyterLab the long cells that the book folds.
"""

import argparse
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat
import yaml
from nbformat.v4 import new_code_cell

from tools import paths

TAG = "install"
SHORT = 12  # lines that are shown in JupyterLab although the book hides them
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}  # in the book
BINDER, COLAB = "https://mybinder.org", "https://colab.research.google.com"

_HEAD = """\
# Opened alone{alone}. Else nothing happens here.
import importlib.util

if importlib.util.find_spec("fedlab_core") is None:
"""
_FETCH = """\
    !git clone --quiet --depth 1 --branch {branch} {url} who-counts
    %cd -q who-counts/notebooks
    %pip install --quiet "..[book]"
    if importlib.util.find_spec("google.colab"):
        from google.colab import output

        output.enable_custom_widget_manager()"""
_NOWHERE = """\
    raise ModuleNotFoundError(
        "fedlab_core is not installed: start JupyterLab by `make lab`, or "
        "`pip install '..[book]'` in this notebook's folder"
    )"""


def address(config: dict[str, Any]) -> str:
    """The public address in a configuration, or nothing."""
    url = (config.get("repository") or {}).get("url") or ""
    parts = urlsplit(url)
    if url and not (parts.scheme == "https" and parts.path.count("/") >= 2):
        raise ValueError(
            f"_config.yml, repository: {url!r} is not like https://host/owner/name"
        )
    return url.rstrip("/")


def buttons(config: dict[str, Any]) -> dict[str, Any]:
    """Settings to add to a configuration so that pages have their buttons."""
    if not address(config):
        return {}
    html = {"use_repository_button": True, "use_issues_button": True}
    launch = {"notebook_interface": "jupyterlab", "binderhub_url": BINDER}
    if urlsplit(address(config)).hostname == "github.com":
        launch["colab_url"] = COLAB  # which opens from there only
    return {"launch_buttons": launch, "html": {**config.get("html", {}), **html}}


def install_source(config: dict[str, Any]) -> str:
    """The text of the cell that every notebook begins with."""
    if not address(config):
        return _HEAD.format(alone=", this notebook says what it needs") + _NOWHERE
    branch = config["repository"].get("branch", "main")
    head = _HEAD.format(alone=", as in Colab, this notebook fetches the book")
    return head + _FETCH.format(url=address(config), branch=branch)


def configuration(root: Path) -> dict[str, Any]:
    return yaml.safe_load((root / "_config.yml").read_text())


def is_install(cell: nbformat.NotebookNode) -> bool:
    return TAG in cell.metadata.get("tags", [])


def prepare(path: Path, source: str) -> bool:
    """Give a notebook its first cell and its folds; whether that changed the file."""
    notebook = nbformat.read(path, as_version=4)
    before = deepcopy(notebook)
    if not notebook.cells or not is_install(notebook.cells[0]):
        metadata = {"tags": [TAG, "remove-cell"]}
        notebook.cells.insert(0, new_code_cell(id="install", metadata=metadata))
    notebook.cells[0].source = source
    for cell in notebook.cells:
        fold(cell)
    if notebook == before:
        return False
    nbformat.write(notebook, path)
    return True


def fold(cell: nbformat.NotebookNode) -> None:
    """Hide a cell's code in JupyterLab if the book does and it is long.

    A solution is always hidden, however short, and the parameters are never: there a
    reader wants to change them.
    """
    tags = set(cell.metadata.get("tags", []))
    long = len(cell.source.splitlines()) > SHORT or bool(tags & {TAG, "hide-cell"})
    if tags & FOLDED and long and "parameters" not in tags:
        cell.metadata.jupyter = {"source_hidden": True}
    else:
        cell.metadata.pop("jupyter", None)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.launch")
    parser.add_argument("notebooks", nargs="+", type=Path)
    try:
        source = install_source(configuration(paths.ROOT))
        for path in parser.parse_args(arguments).notebooks:
            changed = prepare(path, source)
            print(f"  {path.name}: {'rewritten' if changed else 'as it should be'}")
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
