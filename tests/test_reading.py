"""CONTRIBUTING's counts of lines to read, and its drawing of a round, hold."""

import re
import sys
import threading
from pathlib import Path

import pytest

import fedlab_core as fl

ROOT = Path(fl.__file__).parent
TEXT = (ROOT.parent / "CONTRIBUTING.md").read_text()
MOST = {
    "add a weighing rule": 110,
    "add a client's rule with a state": 250,
    "add a way to form groups": 200,
}
ROW = r"^\| (.+?) \| (`.+?) \| (\d+) \|$"
ROWS = {
    what: (re.findall(r"`([\w/]+\.py)`", files), int(lines))
    for what, files, lines in re.findall(ROW, TEXT, re.M)
}


def drawing(text: str) -> list[str]:
    """The lines of the drawing of a round, without what is before them."""
    lines = text[text.index("federate(world, method)  ") :].splitlines()
    found = []
    for line in lines:
        found.append(line.strip())
        if line.strip().startswith("is it good?"):
            return found
    raise AssertionError("the drawing has no end")


@pytest.mark.parametrize("what", ROWS)
def test_the_lines_are_counted(what):
    files, lines = ROWS[what]
    assert sum((ROOT / f).read_text().count("\n") for f in files) == lines


def test_adding_costs_no_more_than_it_may():
    assert set(MOST) | {"follow a round"} == set(ROWS)
    for what, most in MOST.items():
        assert ROWS[what][1] <= most
    assert len(ROWS["follow a round"][0]) <= 12


def test_a_round_runs_through_these_files_and_no_other(small_world):
    """Beside those that may be taken at their word, which are named as well."""
    ran = set()

    def note(frame, event, arg):
        name = Path(frame.f_code.co_filename)
        if name.is_relative_to(ROOT):
            ran.add(name.relative_to(ROOT).as_posix())

    method = fl.scaffold(fl.Training(lr=0.1))
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        fl.federate(small_world, method, 1, engine="looped", progress=False)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    named, _ = ROWS["follow a round"]
    assert set(named) <= ran
    taken = TEXT[TEXT.index("take at their word") :].split("\n\n")[0]
    said = set(re.findall(r"`([\w/]+\.py)`", taken))
    rooms = ("client/", "engine/", "methods/", "rounds/")
    others = {f for f in ran - set(named) if f.startswith(rooms)}
    assert others <= said, f"{sorted(others - said)} ran, and is not named"


def test_the_round_is_drawn_alike_everywhere():
    """In the code, for contributors, and in the book; every file of it is there."""
    book = (ROOT.parent / "book" / "project.md").read_text()
    assert drawing(TEXT) == drawing(book) == drawing(fl.__doc__ or "")
    files = re.findall(r"\b(\w+/\w+\.py)", "\n".join(drawing(TEXT)))
    assert len(files) >= 9 and all((ROOT / f).exists() for f in files)
