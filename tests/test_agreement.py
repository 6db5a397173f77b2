"""Agreement with published programs, as modules and the book state it, is measured."""

import ast
import csv
import re
from pathlib import Path

import pytest

import fedlab_core as fl
from tools import build, paths

ROOT = Path(fl.__file__).parent.parent
TABLE = ROOT / "results" / "agreement.csv"
ROWS = list(csv.DictReader(TABLE.read_text().splitlines()))
METHODS = ROOT / "fedlab_core" / "methods"
CLAIM = re.compile(
    r"Agreement(?: of \S+)?: (\S+) with (\S+)'s code \(([0-9a-f]{7})\)\."
)


def measured() -> dict[str, set[tuple[str, str, str]]]:
    """Of every module of a method: the difference, whose code, the commit."""
    found: dict[str, set[tuple[str, str, str]]] = {}
    for row in ROWS:
        compared, whose, modules, most, commit = row.values()
        if most != "none":
            for name in modules.split():
                found.setdefault(name, set()).add((most, whose, commit))
    return found


def claimed(text: str) -> set[tuple[str, ...]]:
    words = " ".join((ast.get_docstring(ast.parse(text)) or "").split())
    assert words.count("Agreement") == len(CLAIM.findall(words)), words
    return set(CLAIM.findall(words))


@pytest.mark.parametrize("path", sorted(METHODS.glob("[!_]*.py")), ids=lambda p: p.stem)
def test_a_module_claims_what_was_measured_and_no_more(path):
    assert claimed(path.read_text()) == measured().get(path.stem, set())


def test_a_wrong_claim_is_seen():
    text = (METHODS / "feddisco.py").read_text()
    for old, new in (("3e-15", "3e-16"), ("(83de4b9)", "(83de4b8)")):
        assert old in text
        assert claimed(text.replace(old, new, 1)) != measured()["feddisco"]


def test_the_table_is_whole():
    assert len(ROWS) >= 9
    for row in ROWS:
        compared, whose, modules, most, commit = row.values()
        assert compared and whose and re.fullmatch(r"[0-9a-f]{7}", commit)
        assert most == "none" or 0 < float(most) < 1e-6
        for name in modules.split():
            there = METHODS / f"{name}.py", ROOT / "fedlab_core" / name
            assert any(p.exists() for p in there), name


def test_the_book_is_given_the_table(tmp_path):
    """The page takes it from the folder that the site is built in."""
    page = (ROOT / "book" / "how_this_book_is_made.md").read_text()
    (at,) = re.findall(r":file: (\S+)", page)
    (tmp_path / "results").symlink_to(ROOT / "results")
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "_toc.yml").write_text("root: how_this_book_is_made\n")
    (tmp_path / "_config.yml").write_text((ROOT / "_config.yml").read_text())
    build.stage(tmp_path)
    staged = paths.stage(tmp_path) / "book" / at
    assert staged.read_text() == TABLE.read_text()
    assert not any(row["largest difference"] in page for row in ROWS)
