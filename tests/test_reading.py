"""Files, rooms and lines to read, as CONTRIBUTING gives them, are there."""

import re
import sys
import threading
from pathlib import Path

import pytest

import fedlab_core as fl
from tests.test_architecture import FLOW, PACKAGES

ROOT = Path(fl.__file__).parent
TEXT = (ROOT.parent / "CONTRIBUTING.md").read_text()
MOST = {
    "add a weighing rule": 110,
    "add a client's rule with a state": 250,
    "add a way to form groups": 200,
    "add a server rule": 230,
    "add a server rule that learns": 480,
    "add a personal method": 260,
    "add a data set": 480,
    "add a network": 460,
    "add a paper's table": 700,
    "add a figure of a chapter": 1000,
    "follow a round": 2100,
}
ROW = r"^\| (.+?) \| (`.+?) \| (\d+) \|$"
ROWS = {
    what: (re.findall(r"`([\w/]+\.\w+)`", files), int(lines))
    for what, files, lines in re.findall(ROW, TEXT, re.M)
}


def place(file: str) -> Path:
    """Path of a file of the core, or of another package if its name begins with one."""
    root = ROOT.parent if file.split("/")[0] in PACKAGES else ROOT
    return root / file


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
    there = {f: place(f).read_text().count("\n") for f in files}
    assert sum(there.values()) == lines, there


def test_adding_costs_no_more_than_it_may():
    assert set(MOST) == set(ROWS)
    for what, most in MOST.items():
        assert ROWS[what][1] <= most
    assert len(ROWS["follow a round"][0]) <= 12


def test_files_outside_the_core_are_counted():
    counted = {f for files, _ in ROWS.values() for f in files}
    elsewhere = {f.split("/")[0] for f in counted if place(f) != ROOT / f}
    assert elsewhere == {"fedlab_ledger", "fedlab_book"}


MAP = re.findall(r"^\| `(?:(\w+)/|… (\w+)/)` \|", TEXT, re.M)


def test_the_map_has_every_room_in_the_order_of_the_flow():
    rooms: dict[str, list[str]] = {}
    for package, room in MAP:
        rooms |= {package: []} if package else {}
        rooms[list(rooms)[-1]] += [room] if room else []
    assert [name for name in rooms if name in PACKAGES] == list(PACKAGES)
    for package in PACKAGES:
        made = {path.parent.name for path in (ROOT.parent / package).glob("*/*.py")}
        assert set(rooms[package]) == made
        assert len(rooms[package]) == len(made)
    built = [*rooms["fedlab_core"], *rooms["fedlab_ledger"]]
    assert built == [name for name in FLOW if name in built]


# What README's reader writes, and what `make` does.
MADE = {"fedlab_core/methods/root.py", "tests/methods/test_root.py"}
MADE |= {"_build/html", "_build/dist"}


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "CHAPTERS.md", "README.md"])
def test_every_file_and_folder_that_is_named_is_there(name):
    text = (ROOT.parent / name).read_text()
    named = set(re.findall(r"`((?:[\w.]+/)+[\w.]*)`", text)) - MADE
    assert named
    for file in named:
        assert place(file).exists() or (ROOT.parent / file).exists(), file


@pytest.mark.slow
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
    assert len(files) >= 9 and all(place(f).exists() for f in files)
