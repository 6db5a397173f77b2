"""What the repository's address is for: buttons, and notebooks opened alone.

The address stands in one place, `repository: url` in `_config.yml`. With it, chapters
get buttons for Binder and Colab, and a notebook that is opened by itself fetches the
rest. Each notebook's first cell does that; it is hidden in the book and does nothing
where the core is installed. It is written by

    python -m tools.launch notebooks/*.ipynb

after a notebook was added, or after the address has changed.
"""

import argparse
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat
import yaml
from nbformat.v4 import new_code_cell

from tools import paths

TAG = "install"
BINDER, COLAB = "https://mybinder.org", "https://colab.research.google.com"

_HEAD = """\
# Opened alone, as in Colab, this notebook fetches the book. Else nothing happens here.
import importlib.util

if importlib.util.find_spec("fedlab_core") is None:
"""
_FETCH = """\
    !git clone --quiet --depth 1 --branch {branch} {url} who-counts
    %cd -q who-counts/notebooks
    %pip install --quiet ..
    if importlib.util.find_spec("google.colab"):
        from google.colab import output

        output.enable_custom_widget_manager()"""
_NOWHERE = """\
    raise ModuleNotFoundError(
        "fedlab_core is not installed: start JupyterLab by `make lab`, or "
        "`pip install` the folder that this notebook's folder is in"
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
    """What to lay over a configuration so that pages have their buttons."""
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
        return _HEAD + _NOWHERE
    branch = config["repository"].get("branch", "main")
    return _HEAD + _FETCH.format(url=address(config), branch=branch)


def configuration(root: Path) -> dict[str, Any]:
    return yaml.safe_load((root / "_config.yml").read_text())


def is_install(cell: nbformat.NotebookNode) -> bool:
    return TAG in cell.metadata.get("tags", [])


def prepare(path: Path, source: str) -> bool:
    """Give a notebook its first cell; whether that changed the file."""
    notebook = nbformat.read(path, as_version=4)
    first = notebook.cells[0] if notebook.cells else None
    if first is not None and is_install(first):
        if first.source == source:
            return False
        first.source = source
    else:
        metadata = {"tags": [TAG, "remove-cell"]}
        cell = new_code_cell(source, id="install", metadata=metadata)
        notebook.cells.insert(0, cell)
    nbformat.write(notebook, path)
    return True


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
