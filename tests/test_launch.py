"""Notebooks opened alone, and the buttons that open them elsewhere."""

from pathlib import Path

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import build, launch, paths
from tools.execute import sources

ADDRESS = "https://github.com/owner/name"
WITH = {"repository": {"url": f"{ADDRESS}/", "branch": "main"}, "html": {"a": 1}}
WITHOUT = {"repository": {"url": "", "branch": "main"}}


@pytest.mark.parametrize("path", sources(paths.ROOT), ids=lambda path: path.stem)
def test_every_notebook_is_prepared(path: Path, tmp_path):
    """Its first cell fetches the book, and what the book folds is folded live."""
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    source = launch.install_source(launch.configuration(paths.ROOT))
    changed = launch.prepare(copy, source)
    assert not changed, f"run `python -m tools.launch notebooks/{path.name}`"
    first = nbformat.read(path, as_version=4).cells[0]
    assert launch.is_install(first)
    assert first.metadata.tags == ["install", "remove-cell"]


@pytest.mark.parametrize(
    ("tags", "lines", "folded"),
    [
        ([], 40, False),
        (["hide-input", "said"], launch.SHORT, False),
        (["hide-input", "said"], launch.SHORT + 1, True),
        (["remove-input"], launch.SHORT + 1, True),
        (["solution", "hide-cell"], 2, True),
        (["install", "remove-cell"], 2, True),
        (["parameters", "remove-cell"], 40, False),
    ],
)
def test_what_the_book_folds_is_folded_live_if_it_is_long(tags, lines, folded):
    metadata = {"tags": tags, "jupyter": {"source_hidden": True}}
    cell = new_code_cell("\n".join(["x = 1"] * lines), metadata=metadata)
    launch.fold(cell)
    assert cell.metadata.get("jupyter") == ({"source_hidden": True} if folded else None)


def test_the_cell_fetches_from_the_address():
    source = launch.install_source(WITH)
    assert f"git clone --quiet --depth 1 --branch main {ADDRESS} " in source
    assert "%pip install" in source


def test_without_an_address_it_says_what_to_do():
    made = launch.install_source(WITHOUT)
    exec(made, {})  # here the core is installed: nothing happens
    missing = made.replace('find_spec("fedlab_core")', 'find_spec("not_a_package_")')
    with pytest.raises(ModuleNotFoundError, match="start JupyterLab by `make lab`"):
        exec(missing, {})


def test_a_notebook_is_prepared_once(tmp_path, capsys, monkeypatch):
    path = tmp_path / "one.ipynb"
    nbformat.write(new_notebook(cells=[new_markdown_cell("# A")]), path)
    (tmp_path / "_config.yml").write_text(yaml.safe_dump(WITHOUT))
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    assert launch.main([str(path)]) == launch.main([str(path)]) == 0
    said = capsys.readouterr().out
    assert "one.ipynb: rewritten" in said and "one.ipynb: as it should be" in said
    assert len(nbformat.read(path, as_version=4).cells) == 2
    (tmp_path / "_config.yml").write_text(yaml.safe_dump(WITH))
    assert launch.main([str(path)]) == 0
    cells = nbformat.read(path, as_version=4).cells
    assert len(cells) == 2 and ADDRESS in cells[0].source


def test_an_address_that_is_none_is_refused(tmp_path, capsys, monkeypatch):
    config = yaml.safe_dump({"repository": {"url": "owner/name"}})
    (tmp_path / "_config.yml").write_text(config)
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    assert launch.main([str(tmp_path / "one.ipynb")]) == 2
    assert "'owner/name' is not like https://host/owner/name" in capsys.readouterr().err


def test_buttons_need_an_address():
    assert launch.buttons(WITHOUT) == launch.buttons({}) == {}
    made = launch.buttons(WITH)
    assert set(made["launch_buttons"]) >= {"binderhub_url", "colab_url"}
    assert made["html"]["a"] == 1 and made["html"]["use_repository_button"]
    elsewhere = {"repository": {"url": "https://codeberg.org/owner/name"}}
    assert "colab_url" not in launch.buttons(elsewhere)["launch_buttons"]


@pytest.mark.slow
@pytest.mark.parametrize("url", ["", ADDRESS], ids=["no address", "address"])
def test_pages_have_buttons_where_there_is_an_address(tmp_path, url):
    """A book of one notebook, from the project's own configuration."""
    for folder in ("book/_static", "_build/stage/notebooks"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("logo.svg", "favicon.svg", "book.css", "page.js"):
        there = paths.ROOT / "book" / "_static" / name
        (tmp_path / "book" / "_static" / name).write_bytes(there.read_bytes())
    (tmp_path / "book" / "index.md").write_text("# Book\n")
    (tmp_path / "book" / "references.bib").write_text("")
    (tmp_path / "book" / "_toc.yml").write_text(
        "format: jb-book\nroot: book/index\nchapters:\n- file: notebooks/one\n"
    )
    (tmp_path / "requirements.lock").write_text("")
    config = launch.configuration(paths.ROOT)
    config["repository"]["url"] = url
    (tmp_path / "_config.yml").write_text(yaml.safe_dump(config))
    kernel = {"name": "python3", "display_name": "Python 3"}
    notebook = new_notebook(
        cells=[new_markdown_cell("# A")],
        metadata={
            "kernelspec": kernel,
            "build": {"seconds": 3.2, "command": "run '<one>'"},
        },
    )
    nbformat.write(notebook, tmp_path / "_build/stage/notebooks/one.ipynb")
    assert build.main(["--root", str(tmp_path)]) == 0
    page = (tmp_path / "_build/html/notebooks/one.html").read_text()
    assert "Computed in 3 seconds" in page
    assert "<code>run '&lt;one&gt;'</code>" in page.replace("&#39;", "'")
    place = "owner/name/blob/main/notebooks/one.ipynb"
    assert (f"https://colab.research.google.com/github/{place}" in page) == bool(url)
    binder = "https://mybinder.org/v2/gh/owner/name/main?urlpath=lab/tree/notebooks"
    assert (f"{binder}/one.ipynb" in page) == bool(url)
