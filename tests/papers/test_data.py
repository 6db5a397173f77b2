"""The papers' data files: what they may hold, and how a wrong line is refused."""

import ast
import re
from pathlib import Path

import pytest

from fedlab_core.errors import InputError
from fedlab_ledger.papers import PAPERS, TABLES
from fedlab_ledger.papers import paper as folders
from fedlab_ledger.papers.differences import differences_of
from fedlab_ledger.papers.gaps import gaps_of
from fedlab_ledger.papers.numbers import sheets, tables
from tools import paths

ROOT = paths.ROOT / "fedlab_ledger" / "papers"
FILES = ("numbers.toml", "claims.csv", "differences.toml", "gaps.toml", "paper.toml")


@pytest.mark.parametrize("paper", PAPERS)
def test_a_folder_has_every_file(paper):
    assert all((ROOT / paper / name).is_file() for name in FILES)
    assert PAPERS[paper].id == paper


@pytest.mark.parametrize("paper", PAPERS)
def test_rows_and_columns_are_complete(paper):
    """A cell for each number typed, and a number, a dash or a dot in every place."""
    found = PAPERS[paper].numbers
    for sheet in found.values():
        places = [(c.row, c.column) for c in sheet.cells]
        assert places and len(set(places)) == len(places), sheet.name
        assert sheet.title and len(sheet.rows) * len(sheet.columns) >= len(places)
    declared = {t.name for t in PAPERS[paper].tables}
    assert declared == {s.name for s in found.values() if not s.cited}
    for table in PAPERS[paper].tables:
        typed = {(c.row, c.column): c.value for c in found[table.name].cells}
        assert {(c.row, c.column): c.paper_value for c in table.cells} == typed
        assert TABLES[table.path] is table


def names(path: Path) -> set[str]:
    """Every name and every whole text in a file of code."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.ImportFrom):
            found |= {*(node.module or "").split("."), *(a.name for a in node.names)}
    return found


def test_a_paper_is_registered_in_one_line():
    """Its id is in the list of papers, and nowhere else in the ledger's code."""
    ledger = paths.ROOT / "fedlab_ledger"
    named = {path: names(path) for path in ledger.rglob("*.py")}
    a_method = {("feddisco", ledger / "model" / "describe.py")}  # whose weights
    for paper in PAPERS:
        others = (ROOT / paper, ROOT / "field")
        here = [p for p, found in named.items() if paper in found]
        here = [
            p for p in here if p.parent not in others and (paper, p) not in a_method
        ]
        assert here == [ROOT / "__init__.py"], paper
    listed = (ROOT / "__init__.py").read_text(encoding="utf-8")
    (line,) = re.findall(r"_FOLDERS = \((.*)\)\n", listed)
    assert sorted(line.split(", ")) == sorted(PAPERS)


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / "made" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


GOOD = """\
[names]
arms = ["A", "B"]
[table1]
title = "two rows"
where = "Table 1"
over = "A"
columns = ["x", "y"]
[table1.rows]
A = "1 2.50"
B = "- ."
[table1.spread]
A = "0.1 -"
[table1.row]
B = { metric = ":loss" }
[table1.column]
x = { metric = "last" }
[table2]
title = "turned"
turned = true
by = 2
columns = "arms"
[table2.rows]
x = "1 2"
y = "3 4"
[table3]
title = "joined, and once more"
joined = "accuracy"
columns = ["g=1", "g=2"]
[table3.rows]
net = "= table1 A"
"""


def test_a_file_of_numbers_is_read(tmp_path):
    text = GOOD.replace('columns = ["g=1", "g=2"]', 'columns = ["x", "y"]')
    one, two, three = sheets(written(tmp_path, "numbers.toml", text)).values()
    assert [(c.row, c.column, c.value, c.spread) for c in one.cells] == [
        ("A", "x", 1, 0.1), ("A", "y", 2.5, None), ("B", "x", None, None),
    ]  # fmt: skip
    said = one.at("B", "x").fields
    assert said["metric"] == "last:loss" and said["over"] == ("table1", "A")
    assert "over" not in one.at("A", "x").fields
    found = [(c.row, c.column, c.value) for c in two.cells]
    assert found == [("A", "x", 1), ("B", "x", 2), ("A", "y", 3), ("B", "y", 4)]
    found = [(c.row, c.column, c.value) for c in three.cells]
    assert found == [("net, x", "accuracy", 1), ("net, y", "accuracy", 2.5)]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('where = "T', 'wheer = "T', "made/numbers.toml: table1: unknown key 'wheer'"),
        ("B = { metric", "C = { metric", "numbers.toml: table1.row: unknown key 'C'"),
        ('{ metric = "last" }', '{ merit = "last" }', "table1.column: unknown key 'me"),
        ('"1 2.50"', '"1"', "numbers.toml: table1, A: 1 numbers for 2 columns"),
        ('"1 2.50"', '"1 2,50"', "numbers.toml: table1, A: '2,50' is no number"),
        ("[table1.spread]\nA", "[table1.spread]\nC", "table1, C: no such row"),
        ('title = "two', 'title : "two', "made/numbers.toml: "),
        ('"= table1 A"', '"= table1 C"', "table3, net: there is no table1 C"),
        ('title = "turned"', "", "made/numbers.toml: table2: there is no 'title'"),
        ('columns = "arms"', "", "numbers.toml: table2: there is no 'columns'"),
        ('"arms"', '"legs"', "made/numbers.toml: table2: no names 'legs'"),
    ],
)
def test_a_wrong_line_of_numbers_is_refused(tmp_path, old, new, says):
    assert old in GOOD
    path = written(tmp_path, "numbers.toml", GOOD.replace(old, new, 1))
    with pytest.raises(InputError, match=re.escape(says)) as error:
        sheets(path)
    assert "\n" not in str(error.value)


CLAIM = "name;sentence;cell;beside;sign;said;tolerance;without;role;setting\n"
NUMBERS = """\
[table1]
title = "two rows"
lacks = "nothing is run"
columns = ["x | y"]
[table1.rows]
A = "2"
B = "1"
"""
ABOUT = """\
name = "Made"
chapter = 9
[headline]
words = "one"
[[headline.cells]]
table = "table1"
rows = ["A"]
columns = ["x | y"]
[question]
changes = "weights"
claim = "c"
made = "a few"
needs = "n"
arm = "A"
"""


def made(folder: Path, line: str, about: str = ABOUT):
    """A paper of one table, with one claim."""
    numbers = sheets(written(folder, "numbers.toml", NUMBERS))
    at = written(folder, "claims.csv", CLAIM + line).parent
    for name in ("differences.toml", "gaps.toml"):
        written(folder, name, "")
    written(folder, "paper.toml", about)
    return folders.paper(at, tables("made", numbers, lambda p: {}))


def test_a_claim_is_a_line(tmp_path):
    line = "ahead;A is ahead, y;table1 A | x | y;table1 B | x | y;;;0.5;;main;y\n"
    with pytest.raises(InputError, match="no setting at the paper's scale"):
        made(tmp_path, line)  # it comes as far as the headline


@pytest.mark.parametrize(
    ("line", "about", "says"),
    [
        ("a;s;table1 C | x | y;table1 B | x | y;;;;;;\n", ABOUT,
         "made/claims.csv: there is no cell 'table1 C | x | y'"),
        ("a;s;table1 A | x | y;table1 B | x | y;up;;;;;\n", ABOUT,
         "made/claims.csv: a: sign: 'up' is no number"),
        ("a;s;table1 A | x | y;table1 B | x | y;;;;;;;more\n", ABOUT,
         "made/claims.csv: a: 11 fields for 10 columns"),
        ("", ABOUT.replace("chapter", "chaptre"),
         "made/paper.toml: the file: unknown key 'chaptre'"),
        ("", ABOUT.replace("needs", "need"), "question: unknown key 'need'"),
        ("", ABOUT.replace('arm = "A"', ""), "question: there is no 'arm'"),
        ("", ABOUT.replace('["A"]', '["C"]'),
         "made/paper.toml: there is no cell 'table1 C | x | y'"),
    ],
)  # fmt: skip
def test_a_wrong_line_of_a_claim_or_a_headline_is_refused(tmp_path, line, about, says):
    with pytest.raises(InputError, match=re.escape(says)):
        made(tmp_path, line, about)


def test_a_wrong_line_of_a_difference_or_a_search_is_refused(tmp_path):
    text = '[means]\nsays = "a"\ndoes = "b"\nswitch = "c"\nwhy = "d"\n'
    path = written(tmp_path, "differences.toml", text)
    (found,) = differences_of(path, "made", {})
    assert (found.name, found.says, found.why) == ("means", "a", "d")
    path = written(tmp_path, "differences.toml", text.replace("says", "say"))
    with pytest.raises(InputError, match="differences.toml: means: unknown key 'say'"):
        differences_of(path, "made", {})
    claims = PAPERS["feddisco"].claims
    text = f'[one]\nclaim = "{claims[0].name}"\nsuspects = "s"\n'
    text += 'tries = [{ words = "w" }]'
    (gap,) = gaps_of(written(tmp_path, "gaps.toml", text), claims)
    assert gap.claim is claims[0] and gap.tries[0].words == "w"
    for old, new, says in (
        ("suspects", "suspect", "gaps.toml: one: unknown key 'suspect'"),
        ("words", "word", "gaps.toml: one.tries: unknown key 'word'"),
        (claims[0].name, "none", "gaps.toml: one: no claim 'none'"),
    ):
        path = written(tmp_path, "gaps.toml", text.replace(old, new))
        with pytest.raises(InputError, match=re.escape(says)):
            gaps_of(path, claims)
