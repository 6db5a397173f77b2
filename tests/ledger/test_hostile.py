"""A ledger that is missing, broken or hostile: one line, and nothing is changed."""

import io
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fedlab_core import __main__
from fedlab_core.errors import InputError
from fedlab_ledger import Store, papers
from fedlab_ledger.model import store
from fedlab_ledger.model.lines import check_line
from fedlab_ledger.model.store import MERGED
from fedlab_ledger.model.terminal import printable
from fedlab_ledger.run import player
from tests.data.test_whole import full_after
from tests.ledger.test_store import LINE, line
from tests.ledger_cases import cell, declare
from tests.main_cases import call

EVIL = "\x1b[2J\x1b]0;title\x07\nall there\u202e"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, and a table that can be run in a moment."""
    declare(monkeypatch, cell("A"), cell("B", rounds=3))
    monkeypatch.setenv("FEDLAB_PROGRESS", "0")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


READS = ["tables", "show made/table1", "claims", "verify", "merge m --ledger x"]
READS += ["export made/table1 --row A --out out"]


@pytest.mark.parametrize("verb", READS)
def test_a_ledger_that_is_missing_is_not_an_empty_one(here, capsys, verb):
    (here / "file").write_text("x")
    if verb.startswith("merge"):
        code, out, err = call(verb, capsys)
        assert (code, out) == (2, "") and "there is no folder m" in err
    else:
        code, out, err = call(f"{verb} --ledger no", capsys)
        assert (code, out) == (2, "") and err.count("\n") == 1
        assert "there is no ledger no: `run` makes one" in err
        code, out, err = call(f"{verb} --ledger file", capsys)
        assert (code, out) == (2, "") and "file cannot be read: Not a dir" in err
    assert not (here / "out").exists() and not (here / "x").exists()


@pytest.mark.parametrize("verb", ["tables", "show made/table1", "claims"])
def test_the_usual_ledger_may_be_missing_and_that_is_said(here, capsys, verb):
    code, out, err = call(verb, capsys)
    assert code == 0 and out and err.count("\n") == 1
    assert "note: there is no results/ledger here: nothing was measured yet" in err


@pytest.mark.parametrize("verb", READS)
def test_a_ledger_that_cannot_be_read_is_not_an_empty_one(
    here, capsys, verb, monkeypatch
):
    for name in ("results/ledger", "m"):
        Store(here / name).append([line()])

    def refuses(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "listdir", refuses)
    code, out, err = call(verb, capsys)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert "cannot be read: Permission denied" in err


def _folder(path: Path) -> None:
    path.mkdir()


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _nowhere(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _deep(path: Path) -> None:
    path.write_text("[" * 200_000)


def _deep_inside(path: Path) -> None:
    text = json.dumps(LINE).replace("[0.1, null]", "[" * 200_000)
    path.write_text(text + "\n")


def _nan(path: Path) -> None:
    path.write_text(json.dumps(LINE | {"value": float("nan")}) + "\n")


def _infinite(path: Path) -> None:
    path.write_text(json.dumps(LINE).replace("0.1", "1e999") + "\n")


def _half(path: Path) -> None:
    path.write_text(json.dumps(LINE).replace('"cpu"', '"\\ud800"') + "\n")


def _curve(path: Path) -> None:
    path.write_text(json.dumps(LINE | {"curve": ["high"]}) + "\n")


def _metrics(path: Path) -> None:
    path.write_text(json.dumps(LINE | {"metrics": {"last": {}}}) + "\n")


def _seen(path: Path) -> None:
    path.write_text(json.dumps(LINE | {"seen": {"x": 3}}) + "\n")


BROKEN = {
    _folder: "x.jsonl is not a file of lines",
    _loop: "x.jsonl cannot be read: Too many levels",
    _nowhere: "x.jsonl cannot be read: No such file",
    _pipe: "x.jsonl is not a file of lines",
    _deep: "x.jsonl:1: not a result, nested too deeply",
    _deep_inside: "x.jsonl:1: not a result, nested too deeply",
    _nan: "x.jsonl:1: holds a number that is not finite",
    _infinite: "x.jsonl:1: holds a number that is not finite",
    _half: "x.jsonl:1: holds text that is not Unicode",
    _curve: "x.jsonl:1: curve holds a str",
    _metrics: "x.jsonl:1: metrics holds a dict",
    _seen: "x.jsonl:1: seen holds 3",
}


@pytest.mark.parametrize("make", BROKEN)
def test_what_is_no_file_of_results_is_one_line(here, capsys, make):
    mine = Store(here / "results" / "ledger")
    mine.append([line()])
    make(mine.folder / "x.jsonl")
    before = files(mine.folder) if make is not _pipe else {}
    for verb in ("tables", "run made", "verify"):
        code, out, err = call(verb, capsys)
        assert (code, out) == (2, "") and err.count("\n") == 1
        assert BROKEN[make] in err
    other = Store(here / "other")
    other.append([line(seed=1)])
    code, out, err = call("merge results/ledger --ledger other", capsys)
    assert code == 2 and BROKEN[make] in err and err.count("\n") == 1
    assert list(other.read().of("k")) == [1]
    if make is not _pipe:
        assert files(mine.folder) == before


def test_what_is_not_utf8_is_passed_over_with_a_note(here):
    mine = Store(here)
    mine.append([line()])
    (path,) = mine.files()
    path.write_bytes(path.read_bytes() + b'\xff\xfe{"schema"\n')
    assert mine.read().notes == [f"{path}:2 is not a whole line: passed over"]


def test_keys_that_nobody_knows_are_noted(here):
    mine = Store(here)
    mine.append([line(), line(seed=1, colour="red"), line(seed=2, colour="blue")])
    (path,) = mine.files()
    said = f"{path}:2 and 1 more: 'colour' is not known, and not looked at"
    assert mine.read().notes == [said]
    assert check_line(line(threads=2), "x") and len(mine.read().of("k")) == 3


# -- the ledger is tried before the first job --------------------------------------


def _is_a_file(here: Path) -> str:
    (here / "bad").write_text("x")
    return "bad cannot be read: Not a directory"


def _is_read_only(here: Path) -> str:
    (here / "bad").symlink_to("/proc/self")
    return "cannot be written"


def _has_a_folder(here: Path) -> str:
    (here / "bad" / "made-table1.jsonl").mkdir(parents=True)
    return "made-table1.jsonl is not a file of lines"


@pytest.mark.parametrize("make", [_is_a_file, _is_read_only, _has_a_folder])
def test_a_ledger_that_cannot_be_written_stops_the_run_before_it(
    here, capsys, monkeypatch, make
):
    played = []
    monkeypatch.setattr(player, "play", lambda *given: played.append(given))
    said = make(here)
    code, out, err = call("run made --ledger bad", capsys)
    assert code == 2 and said in err and err.count("\n") == 1 and not played


def test_a_full_disk_stops_the_run_before_it_or_loses_nothing(
    here, capsys, monkeypatch
):
    assert call("run made --row A", capsys)[0] == 0
    folder = here / "results" / "ledger"
    before = files(folder)
    with full_after(2000):  # bytes: no room for a mebibyte
        code, out, err = call("run made --row B", capsys)
    assert code == 2 and "results/ledger cannot be written: File too large" in err
    assert files(folder) == before
    monkeypatch.setattr(Store, "ready", lambda *given: None)
    with full_after(len(before["made-table1.jsonl"]) + 10):
        code, out, err = call("run made --row B", capsys)
    assert code == 2 and "cannot be written" in err and err.count("\n") == 1
    assert files(folder) == before  # no half line, no file of claims
    with full_after(10), pytest.raises(InputError, match="u.jsonl cannot be written"):
        Store(folder).append([line(paper="p", table="u")])
    assert files(folder) == before


# -- merging is whole or not at all ------------------------------------------------


def test_a_bad_line_anywhere_refuses_a_merge_before_anything_is_changed(tmp_path):
    mine, good, bad = (Store(tmp_path / n) for n in ("mine", "a", "b"))
    mine.append([line()])
    good.append([line(seed=1)])
    bad.append([line("x", table="z")])
    (path,) = bad.files()
    path.write_text(path.read_text() + "3\n")
    before = files(mine.folder)
    with pytest.raises(InputError, match="p-z.jsonl:2: not a result but 3"):
        mine.merge([good.folder, bad.folder])
    assert files(mine.folder) == before


def test_a_merge_keeps_links_and_modes(tmp_path):
    mine, other = Store(tmp_path / "mine"), Store(tmp_path / "other")
    for table in ("t", "u"):
        mine.append([line(table=table, key=table)])
        other.append([line(table=table, key=table, seed=1)])
    t, u = mine.files()
    t.chmod(0o640)
    away = tmp_path / "away.jsonl"
    u.rename(away)
    u.symlink_to(away)
    assert mine.merge([other.folder]) == (2, [])
    assert t.stat().st_mode & 0o777 == 0o640 and u.is_symlink()
    assert away.read_text().count("\n") == 2 == t.read_text().count("\n")


def test_a_merge_that_was_stopped_is_completed(tmp_path, monkeypatch):
    """Stopped between two files: what is read is whole at once, and then on disk."""
    mine, other = Store(tmp_path / "mine"), Store(tmp_path / "other")
    for table in ("t", "u", "v"):
        mine.append([line(table=table, key=table)])
        other.append([line(table=table, key=table, seed=1)])
    steps = []

    def stops(folder):
        steps.append(folder)
        if len(steps) > 3:  # what is beside, the folder, the first file, the second
            raise KeyboardInterrupt

    with monkeypatch.context() as m, pytest.raises(KeyboardInterrupt):
        m.setattr(store, "_settle", stops)
        mine.merge([other.folder])
    assert len(os.listdir(mine.folder / MERGED)) >= 2
    assert all(len(mine.read().of(key)) == 2 for key in "tuv")
    mine.append([line(seed=5, table="t", key="t")])
    assert not (mine.folder / MERGED).exists()
    assert all(p.read_text().count("\n") >= 2 for p in mine.files())
    assert list(mine.read().of("t")) == [0, 1, 5]


def test_a_merge_that_is_stopped_before_leaves_nothing(tmp_path, monkeypatch):
    mine, other = Store(tmp_path / "mine"), Store(tmp_path / "other")
    mine.append([line()])
    other.append([line(seed=1)])
    before = files(mine.folder)
    with full_after(1500), pytest.raises(InputError, match="cannot be written"):
        other.append([line(seed=k) for k in range(2, 9)])
    (beside := mine.folder / ".fedlab-0123456789abcdef.merge").mkdir()
    (beside / "p-t.jsonl").write_text("half")  # as a kill leaves it
    mine.append([line(seed=3)])
    assert not beside.exists() and list(mine.read().of("k")) == [0, 3]
    assert files(mine.folder).keys() == before.keys()


# -- what is printed ---------------------------------------------------------------


def test_nothing_printed_steers_a_terminal():
    assert printable("a ± b") == "a ± b"
    assert printable(EVIL) == "\\x1b[2J\\x1b]0;title\\x07\\nall there\\u202e"


@pytest.mark.slow
@pytest.mark.parametrize("field", ["device", "row", "column", "table", "torch", "key"])
def test_hostile_text_reaches_no_terminal(here, capsys, monkeypatch, field):
    assert call("run made", capsys)[0] == 0
    mine = Store(here / "results" / "ledger")
    (path,) = mine.files()
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    evil = [v | {field: EVIL} for v in lines]
    more = [v | {field: EVIL, "value": 3.0, EVIL: 1} for v in lines]
    path.write_text("".join(json.dumps(v) + "\n" for v in evil + more) + "{" + EVIL)
    bad = here / "bad"
    bad.mkdir()
    (bad / f"x{EVIL[:4]}.jsonl").write_text("3\n")
    shown = ""
    for verb in (
        "tables", "show made/table1", "claims", "verify 9", "run made", "run made",
        "merge results/ledger --ledger two", "tables --ledger bad",
        "export made/table1 --row A --out out --force",
    ):  # fmt: skip
        _, out, err = call(verb, capsys)
        shown += out + err
    assert "\x1b" not in shown and "\x07" not in shown and "\u202e" not in shown
    assert "\\x1b[2J" in shown
    card = here / "out" / "README.md"
    assert "\x1b" not in card.read_text()


def test_a_terminal_that_shows_little_costs_no_result(here, monkeypatch):
    """Of a whole process, test_process.py says the same."""
    table = declare(monkeypatch, cell("A ± ß"), cell("B", rounds=3))
    table = replace(table, title="é")
    monkeypatch.setattr(papers, "TABLES", {table.path: table})
    for verb in ("run made --uncommitted", "show made/table1"):
        out = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
        monkeypatch.setattr(sys, "stdout", out)
        assert __main__.main(verb.split()) == 0
        assert b"A \\xb1 \\xdf" in out.buffer.getvalue()  # pyright: ignore
    assert len(Store(here / "results" / "ledger").read().lines) == 2


def test_one_jobs_error_is_not_the_others(here, capsys, monkeypatch):
    """An error that nobody foresaw: a line, a traceback beside it, exit code 1."""
    rest = player.play

    def fails(job, *given):
        if job.cells[0].row == "A":
            raise ZeroDivisionError("by\nnothing")
        return rest(job, *given)

    monkeypatch.setattr(player, "play", fails)
    code, out, err = call("run made", capsys)
    assert code == 1 and "A | one: cannot be run: ZeroDivisionError: by" in out
    assert "Traceback (most recent call last):" in err and "in fails" in err
    assert "B | one: " in out and len(Store(here / "results/ledger").read().lines) == 1


@pytest.mark.slow
def test_a_learning_rate_beyond_reason_diverges_and_is_no_error(tmp_path):
    """Of every table whose runs are watched, the tiny cells."""
    from dataclasses import replace

    from fedlab_ledger import jobs, play_all
    from fedlab_ledger.model.measures import column_of

    wild = [
        replace(
            c, settings={"tiny": replace(s, local={**s.local, "lr": 1e30})}, lacks="-"
        )
        for table in papers.TABLES.values()
        if table.paper in ("fedlaw", "feddisco")
        for c in table.cells
        if "." in (column_of(c.metric) or "") and (s := c.settings.get("tiny"))
    ]
    once = {column_of(c.metric): c for c in wild}
    assert "triangle.first" in {name for name in once if name}
    found = Store(tmp_path).read()
    for _, lines in play_all(jobs(once.values(), "tiny", (0,), found), Store(tmp_path)):
        assert isinstance(lines, list), lines
        assert all(v["diverged"] and v["value"] is None for v in lines)
