"""The ledger's verbs: what they print, write and end with."""

import argparse
import csv
import json
from dataclasses import replace
from html.parser import HTMLParser
from importlib.metadata import entry_points

import pytest

from fedlab_core import __main__
from fedlab_core.errors import InputError
from fedlab_ledger import Cell, Setting, Store, Table, papers
from fedlab_ledger.cli import command, options
from fedlab_ledger.model.claim import Claim
from fedlab_ledger.run import player
from tests.main_cases import call

BASE = Setting(
    "letters",
    "fedavg",
    2,
    "iid",
    {"clients": 3},
    data={"n_train": 90, "n_test": 60},
    network={"hidden": [4]},
    local={"lr": 0.1},
)


def cell(row: str, column: str, value: float, **changes) -> Cell:
    tiny = replace(BASE, **changes)
    made = {"tiny": tiny, "small": replace(tiny, rounds=3)}
    over = ("table1", "A & B") if row != "A & B" else None
    more = {"lacks": "too large", "over": over, "where": "Table 1"}
    return Cell("made", "table1", row, column, made, value, **more)


MADE = Table(
    "made",
    "table1",
    "A table <made> for tests",
    (
        cell("A & B", "one", 40.0),
        cell("A & B", "two", 50.0, data=BASE.data | {"seed": 1}),
        cell("prox_1", "one", 45.0, method="fedprox"),
        cell("prox_1", "two", 55.0, method="fedprox", data=BASE.data | {"seed": 1}),
    ),
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, and one table that is declared."""
    monkeypatch.setattr(papers, "TABLES", {MADE.path: MADE})
    monkeypatch.setattr(papers, "CLAIMS", {})
    monkeypatch.setenv("FEDLAB_PROGRESS", "0")
    monkeypatch.chdir(tmp_path)
    return tmp_path


RUN = "run made/table1 --seeds 0 1 2"


def test_a_table_is_run_and_shown(here, capsys):
    code, out, err = call(f"{RUN} --scale small", capsys)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "all there: 4 cells at small scale, results/ledger"
    (path,) = Store(here / "results" / "ledger").files()
    stored = path.read_text()
    assert stored.count("\n") == 12
    code, out, _ = call("show made/table1", capsys)
    lines = out.splitlines()
    assert code == 0 and lines[0] == "made/table1: A table <made> for tests"
    assert lines[1].split() == [
        "row", "column", "unit", "paper", "ours", "verdict", "ran", "on",
    ]  # fmt: skip
    values = [json.loads(v)["value"] for v in stored.splitlines()][:3]
    mean = sum(values) / 3
    assert f"{mean:.2f} ±" in lines[2] and " on a stand-in " in lines[2]
    assert lines[2].endswith(", 3 seeds") and "4 on a stand-in" in lines[6]
    # asked again, nothing is played and nothing is written
    assert call(f"{RUN} --scale small", capsys)[0] == 0
    assert path.read_text() == stored
    code, out, _ = call("tables", capsys)
    assert code == 0 and out.splitlines()[1].split()[:6] == [
        "made/table1", "4", "-", "4", "-", "-",
    ]  # fmt: skip
    assert out.splitlines()[-1].split() == ["all", "4", "0", "4", "0", "0"]
    for name in ("made", "made/table1"):
        assert call(f"tables {name}", capsys)[1] == out
    tiny = call("tables made --scale tiny", capsys)[1]
    assert tiny.splitlines()[-1].split() == ["all", "4", "0", "0", "0", "4"]


def test_part_of_a_table_and_what_has_no_scale(here, capsys):
    code, out, _ = call(f"{RUN} --row prox --column two", capsys)
    assert code == 0 and "prox_1 | two: " in out and "all there: 1 cells" in out
    code, out, _ = call(f"{RUN} --scale paper", capsys)
    assert code == 0 and out.startswith("4 cell(s) have no paper scale: too large")


def test_a_row_by_its_name_is_that_row_alone():
    cells = [cell(row, "one", 1.0) for row in ("FedAvg", "FedAvg + Disco", "FedAvgM")]
    for asked, found in {"FedAvg": 1, "FedA": 3, None: 3, "no": 0}.items():
        args = argparse.Namespace(row=asked, column="on")
        assert len(command._matching(cells, args)) == found


def test_tables_are_written_for_others(here, capsys):
    assert call(f"{RUN} --scale small --column one", capsys)[0] == 0
    line = "show made/table1 --html t.html --csv t.csv --latex t.tex"
    code, out, _ = call(line, capsys)
    assert code == 0 and out.split() == ["wrote", "t.html"] + [
        "wrote", "t.csv", "wrote", "t.tex",
    ]  # fmt: skip
    rows = list(csv.DictReader((here / "t.csv").read_text().splitlines()))
    assert [r["row"] for r in rows] == ["A & B", "A & B", "prox_1", "prox_1"]
    assert rows[0]["seeds"] == "3" and rows[1]["ours"] == "-"
    assert rows[0]["paper"] == "40" and rows[0]["scale"] == "small"
    tags: list[str] = []
    reader = HTMLParser()
    reader.handle_starttag = lambda tag, attrs: tags.append(tag)  # type: ignore
    page = (here / "t.html").read_text()
    reader.feed(page)
    assert tags.count("td") == 4 and tags.count("th") == 5
    assert "A &amp; B" in page and "&lt;made&gt;" in page and ", 3 seeds" in page
    tex = (here / "t.tex").read_text()
    assert r"A \& B & 40 / " in tex and r"prox\_1" in tex and tex.count(r"\\") == 4
    code, _, err = call(line, capsys)
    assert code == 2 and "t.html exists: use --force" in err
    assert call(f"{line} --force", capsys)[0] == 0
    code, _, err = call(f"show made/table1 --html new --csv {here}/new", capsys)
    assert code == 2 and "is asked for twice" in err and not (here / "new").exists()


def test_no_text_of_a_table_is_a_formula(here, capsys, monkeypatch):
    odd = replace(MADE, cells=(cell("=cmd|' /C calc'!A0", "@one", -1.0),))
    monkeypatch.setattr(papers, "TABLES", {odd.path: odd})
    assert call("show made/table1 --csv t.csv", capsys)[0] == 0
    (row,) = csv.DictReader((here / "t.csv").read_text().splitlines())
    assert row["row"] == "'=cmd|' /C calc'!A0" and row["column"] == "'@one"
    assert row["paper"] == "-1", "numbers stay"


def test_a_merge_that_is_stopped_says_that_it_is_whole_or_not_there(
    here, capsys, monkeypatch
):
    assert call(f"{RUN} --ledger one", capsys)[0] == 0
    complete = Store._complete

    def stops(self):
        complete(self)
        raise KeyboardInterrupt

    with monkeypatch.context() as m:
        m.setattr(Store, "_complete", stops)
        code, out, err = call("merge one --ledger two", capsys)
    assert (code, out) == (130, "")
    assert (
        err
        == "fedlab_core merge: note: stopped: all new lines are in two, or none is\n"
    )
    assert call("merge one --ledger two", capsys)[1] in (
        "12 new lines in two\n", "0 new lines in two\n",
    )  # fmt: skip


def test_a_run_that_fails_leaves_an_empty_ledger_for_who_may_wait_there(
    here, capsys, monkeypatch
):
    def fails(job, *given):
        raise InputError("no such data here")

    monkeypatch.setattr(player, "play", fails)
    assert call(RUN, capsys)[0] == 2
    assert Store(here / "results/ledger").files() == []
    code, out, err = call("tables", capsys)
    assert code == 0 and err == ""


def test_stopping_keeps_what_is_done_and_says_so(here, capsys, monkeypatch):
    played, rest = [], player.play

    def stops(job, *given):
        played.append(job)
        if len(played) == 3:
            raise KeyboardInterrupt
        return rest(job, *given)

    with monkeypatch.context() as m:
        m.setattr(player, "play", stops)
        code, out, err = call(RUN, capsys)
    assert code == 130 and "stopped, 2 of 4 left: the same command goes on" in out + err
    (path,) = Store(here / "results" / "ledger").files()
    before = path.read_text()
    assert before.count("\n") == 6
    assert call(RUN, capsys)[0] == 0
    assert path.read_text().startswith(before) and path.read_text().count("\n") == 12


def test_a_budget_of_nothing_does_next_to_nothing(here, capsys):
    code, out, _ = call(f"{RUN} --budget 0s", capsys)
    assert code == 3 and out.endswith("of 4 left: the budget is used up\n")


def test_the_help_lists_the_exit_codes_that_these_tests_meet(capsys):
    code, out, _ = call("--help", capsys)
    listed = out.split("exit codes:\n")[1].split("\n\n")[0].splitlines()
    assert code == 0 and all(line[:2] == "  " for line in listed)
    codes = [int(line.split()[0]) for line in listed]
    assert codes == [0, 1, 2, 3, 130, 141]  # tests/test_process.py meets the last


def test_cells_that_cannot_be_run_end_in_2(here, capsys, monkeypatch):
    def fails(job, *given):
        raise InputError("no such data here")

    monkeypatch.setattr(player, "play", fails)
    code, out, _ = call(RUN, capsys)
    assert code == 2 and out.count("cannot be run: no such data here") == 4


@pytest.mark.slow
def test_ledgers_are_merged_and_verified(here, capsys):
    assert call(f"{RUN} --ledger one --column one", capsys)[0] == 0
    assert call(f"{RUN} --ledger two --column two", capsys)[0] == 0
    code, out, err = call("merge one two --ledger both", capsys)
    assert (code, out, err) == (0, "12 new lines in both\n", "")
    code, out, _ = call("verify 2 --ledger both", capsys)
    assert code == 0 and out.endswith("2 of 2 agree\n") and out.count("agrees: ") == 2
    path = here / "both" / "made-table1.jsonl"
    lines = [json.loads(v) for v in path.read_text().splitlines()]
    lines = [v | {"value": v["value"] + 1} for v in lines]
    path.write_text("".join(json.dumps(v) + "\n" for v in lines))
    code, out, _ = call("verify 1 --ledger both", capsys)
    assert code == 1 and out.startswith("DIFFERS: ") and "0 of 1 agree" in out
    code, out, err = call("merge one --ledger both", capsys)
    assert code == 0 and err.count("note: made/table1") == 6


def test_notes_go_to_the_other_stream(here, capsys):
    assert call(f"{RUN} --row A --column one", capsys)[0] == 0
    (path,) = Store(here / "results" / "ledger").files()
    path.write_text(path.read_text() + '{"schema"')
    code, out, err = call("tables", capsys)
    assert code == 0 and "not a whole line" in err and "note" not in out


BAD = {
    "show other/table1": "'other/table1': choose from a table of made",
    "show made/table9": "choose from made/table1",
    "export foo --out x": "there is no table 'foo': choose from a table of made",
    "show made/table1 --force": "--force: only with --html, --csv or --latex",
    "run made/table9": "there is no 'made/table9': choose from made/table1",
    "run other": "there is no 'other': choose from a table of made",
    "tables feddo": "there is no 'feddo': choose from a table of made",
    "tables made/x": "there is no 'made/x': choose from made/table1",
    "tables --scale big": "invalid choice: 'big'",
    "run made --budget soon": "--budget: 90s, 20m or 1h30m, not 'soon'",
    "run made --budget 20": "--budget: 90s, 20m or 1h30m, not '20'",
    "run made --seeds 1 1": "--seeds: distinct numbers",
    "run made --device tpu": "--device: cpu or cuda, not tpu",
    "run made --row none": "no cell has both",
    "run made --scale huge": "argument --scale: invalid choice",
    "show made/table1 --csv no/t.csv": "--csv: there is no folder no",
    "merge nowhere": "there is no folder nowhere",
    "merge ''": "merge: the name of a folder is empty",
    "merge x --ledger ''": "merge: the name of a folder is empty",
    "run made --ledger ''": "run: the name of a folder is empty",
    "verify --ledger no": "there is no ledger no: `run` makes one",
    "verify 0": "argument count: must be a whole number of 1 or more, not 0",
}


@pytest.mark.parametrize("line", BAD)
def test_bad_input_gives_one_line_and_exit_code_2(here, capsys, line):
    code, out, err = call(line, capsys)
    assert code == 2 and out == "" and err.count("\n") == 1
    assert err.startswith("fedlab_core") and BAD[line] in err


@pytest.mark.parametrize(
    "text, seconds", [("90s", 90), ("20m", 1200), ("1h30m", 5400), ("2h", 7200)]
)
def test_budgets(text, seconds):
    assert options.budget(text) == seconds


def test_without_the_ledger_its_verbs_are_unknown(tmp_path, capsys, monkeypatch):
    points = entry_points(group="fedlab_core.extensions")
    others = {p.name: p.load() for p in points if p.name != "ledger"}
    assert others.keys() == {"book", "browser", "use"}
    monkeypatch.setattr(__main__, "installed", others.values)
    code, _, err = call("tables", capsys)
    assert code == 2 and "invalid choice: 'tables'" in err and "train" in err
    assert call("methods", capsys)[0] == 0


def test_only_what_a_claim_compares_is_run(here, capsys, monkeypatch):
    first, _, prox, _ = MADE.cells
    claim = Claim("made", "prox", "it helps", prox, first)
    monkeypatch.setattr(papers, "CLAIMS", {"made": (claim,)})
    code, out, _ = call("run made --seeds 0 --claims", capsys)
    assert code == 0 and "all there: 2 cells" in out
    stored = Store(here / "results/ledger").read()
    assert set(stored.lines) == {first.key("tiny"), prox.key("tiny")}
    code, _, err = call("run made --claims --column two", capsys)
    assert code == 2 and "no cell that a claim compares has both" in err


def test_lines_of_an_unfinished_tree_are_refused_unless_asked_for(
    here, capsys, monkeypatch
):
    monkeypatch.setattr(command, "commit", lambda: "abc1234+")
    code, out, err = call(RUN, capsys)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert "files differ from commit abc1234" in err and "--uncommitted" in err
    assert not (here / "results").exists()
    assert call(f"{RUN} --uncommitted", capsys)[0] == 0
