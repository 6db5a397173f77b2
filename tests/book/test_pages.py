"""The ledger's pages: every number beside the paper's, and each one traceable."""

import argparse
import html
import re
import shlex
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from IPython.display import HTML

from fedlab_book.ledger import curves, pictures
from fedlab_book.ledger.claimed import card, claims_folded, claims_of, ruled
from fedlab_book.ledger.curves import curves_of
from fedlab_book.ledger.markup import claimed, contents, gaps_of, overview, table_of
from fedlab_book.ledger.pictures import against_paper, gains, verdict_bars
from fedlab_core.errors import InputError
from fedlab_ledger import Cell, Claim, Setting, Store, Table
from fedlab_ledger.cli.command import add_verbs
from fedlab_ledger.judge.show import COMPARABLE, NOT_RUN, STAND_IN, STATUSES
from fedlab_ledger.model.lines import SCHEMA, Line
from fedlab_ledger.model.provenance import command, different, provenance, table_command
from fedlab_ledger.model.verdict import MATCHES, NONE, SAME, WORDS
from fedlab_ledger.report.book import Book, distance, grouped, opened, reasons
from tests.once import the_book

SETS = ("A <hard>", "B")
PAPER = {("Plain", SETS[0]): 60.0, ("Plain", SETS[1]): 70.0}
PAPER |= {("Ours", SETS[0]): 63.0, ("Ours", SETS[1]): 70.5}


def setting(row: str, column: str, rounds: int) -> Setting:
    return Setting("letters", "fedavg", rounds, data={"noise": len(row + column) / 10})


def cell(row: str, column: str, name="table1", **more) -> Cell:
    scales = {"tiny": 1, "small": 4, "paper": 6}
    made = {scale: setting(row, column, n) for scale, n in scales.items()}
    about: dict[str, Any] = {"where": name.replace("table", "Table "), **more}
    if row == "Ours":
        about["over"] = ("table1", "Plain")
    value = PAPER.get((row, column), 50.0)
    return Cell("feddisco", name, row, column, made, value, **about)


CELLS = tuple(cell(row, column) for row, column in PAPER)
ONE = Table("feddisco", "table1", "A & B", CELLS)
TWO = Table("feddisco", "table2", "Never run", (cell("Ours", "C", "table2"),))
TABLES = {t.path: t for t in (ONE, TWO)}
CLAIMS = {
    "feddisco": (
        Claim("feddisco", "a", "Ours is above Plain <on A>.", CELLS[2], CELLS[0]),
        Claim("feddisco", "b", "The same on B.", CELLS[3], CELLS[1]),
    )
}


def line(c: Cell, scale: str, seed: int, value: float, **more) -> Line:
    curve = [value / 200, value / 150, None, value / 100]
    return {
        "schema": SCHEMA, "key": c.key(scale), "paper": c.paper, "table": c.table,
        "row": c.row, "column": c.column, "scale": scale, "seed": seed, "value": value,
        "metrics": {}, "curve": curve, "clients": None, "steps": 1, "bytes": 1,
        "seconds": 1.5, "together": [seed], "device": "NVIDIA H100", "torch": "2.11",
        "threads": 2, "commit": "abc1234", "diverged": None,
        "date": f"2026-01-0{seed + 1}T00:00:00+00:00", **more,
    }  # fmt: skip


@pytest.fixture
def book(tmp_path: Path) -> Book:
    """Column A at the paper's scale, ours 3 above; B's Plain small; B's Ours never."""
    store = Store(tmp_path)
    for c, level in ((CELLS[0], 60.2), (CELLS[2], 63.0)):
        lines = [line(c, "paper", k, level + 0.1 * k) for k in range(3)]
        store.append([v | {"seconds": v["seconds"] + level} for v in lines])
    small = [line(CELLS[1], "small", k, 50.0 + k, device="cpu x86_64") for k in (3, 4)]
    store.append(small)
    return Book(TABLES, store.read(), CLAIMS)


def markup(shown: HTML | None) -> str:
    """The HTML that a notebook's cell would show."""
    assert shown is not None and isinstance(shown.data, str)
    return shown.data


class Reader(HTMLParser):
    """Whether tags close as they open, and which ids and targets there are."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.words = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids += [given["id"] or ""] if "id" in given else []
        href = given.get("href") or ""
        self.targets += [href[1:]] if href.startswith("#") else []
        if tag not in ("br", "path", "use", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("path", "use", "rect"):
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data + " "


def parsed(said: str) -> argparse.Namespace:
    """A command as the command line reads it."""
    parser = argparse.ArgumentParser()
    add_verbs(parser.add_subparsers(dest="verb"))
    words = shlex.split(said)
    assert words[:3] == ["python", "-m", "fedlab_core"]
    return parser.parse_args(words[3:])


# -- traces ------------------------------------------------------------------------


def test_a_command_asks_for_its_cell_again():
    lines = [line(CELLS[0], "paper", k, 1.0) for k in (0, 4)]
    args = parsed(command(CELLS[0], "paper", lines))
    assert (args.verb, args.table, args.scale) == ("run", ["feddisco/table1"], "paper")
    assert (args.row, args.column) == ("Plain", SETS[0])
    assert (args.seeds, args.device) == ([0, 4], "cuda")


def test_a_command_leaves_out_what_is_usual():
    cpu = [line(CELLS[0], "small", k, 1.0, device="cpu arm64") for k in range(3)]
    assert table_command(ONE, "small", cpu) == (
        "python -m fedlab_core run feddisco/table1 --scale small"
    )
    assert parsed(table_command(ONE, "small", [])).seeds == [0, 1, 2]


def test_a_trace_says_what_was_used_and_counts_a_run_once():
    a = line(CELLS[0], "paper", 0, 1.0)
    twin = line(CELLS[2], "paper", 0, 2.0)  # another number of the same run
    b = line(CELLS[0], "paper", 1, 1.0, torch="2.12")
    found = provenance([a, twin, b])
    assert (found.seeds, found.torch, found.seconds) == ((0, 1), "2.11 and 2.12", 3.0)
    assert found.dates == "2026-01-01 to 2026-01-02"
    assert "NVIDIA H100" in found.text and "commit abc1234" in found.text
    assert len(different([a, twin, b])) == 2


# -- the book ----------------------------------------------------------------------


def test_counts_are_of_what_is_there(book):
    assert book.done([ONE]) == {"tiny": (0, 4), "small": (1, 4), "paper": (2, 4)}
    counts = book.counts([ONE, TWO])
    assert list(counts) == list(STATUSES) and sum(counts.values()) == 5
    assert [counts[s] for s in (COMPARABLE, STAND_IN, NOT_RUN)] == [2, 1, 2]
    assert book.verdicts([ONE, TWO]) == {MATCHES: 2}
    assert [s.cell for s in book.measured(ONE)] == [*CELLS[:3]]
    assert book.measured(TWO) == []
    # 3 x (1.5 + 60.2) + 3 x (1.5 + 63.0) + 2 x 1.5
    assert book.seconds([ONE]) == pytest.approx(381.6)


def test_an_unknown_paper_is_refused(book):
    assert book.papers == ["feddisco"]
    with pytest.raises(InputError, match="unknown paper 'fedlaw': one of feddisco"):
        book.of("fedlaw")


def test_gaps_are_in_tolerances_and_of_the_papers_scale(tmp_path):
    store = Store(tmp_path)
    store.append([line(CELLS[0], "paper", k, 64.0) for k in range(3)])
    store.append([line(CELLS[1], "paper", k, 70.9) for k in range(3)])
    store.append([line(CELLS[2], "small", k, 1.0) for k in range(3)])
    book = Book(TABLES, store.read())
    (gap,) = book.gaps("feddisco")
    assert gap.cell is CELLS[0] and distance(gap) == pytest.approx(4.0)
    assert "+4" in markup(gaps_of(book)) and "Table 1" in markup(gaps_of(book))


def test_cells_are_grouped_by_column_or_by_how_rows_begin(book):
    groups = grouped(book.cells(ONE))
    assert {n: [r for r, _ in g] for n, g in groups.items()} == {
        SETS[0]: ["Plain", "Ours"], SETS[1]: ["Plain", "Ours"],
    }  # fmt: skip
    rows = ("CNN, IID, g=1", "CNN, IID, g=.9", "CNN, uneven, g=1")
    sweep = Table("feddisco", "t", "", tuple(cell(r, "accuracy") for r in rows))
    groups = grouped(book.cells(sweep))
    assert {n: [r for r, _ in g] for n, g in groups.items()} == {
        "CNN, IID": ["g=1", "g=.9"], "CNN, uneven": ["g=1"],
    }  # fmt: skip


def test_reasons_are_those_of_cells_that_are_not_comparable(book):
    said = reasons(book.cells(ONE))
    assert sum(said.values()) == 2 and "not run yet" in said


@pytest.mark.slow
def test_the_projects_own_ledger_opens(tmp_path):
    book = opened(tmp_path)
    assert len(book.papers) == 5 and not book.found.lines
    with pytest.raises(InputError, match="there is no ledger .*nothing"):
        opened(tmp_path / "nothing")


# -- pages -------------------------------------------------------------------------


def test_every_number_of_ours_leads_to_its_command(book):
    page = markup(table_of(book, ONE))
    read = Reader(page)
    assert len(read.targets) == 3 and set(read.targets) <= set(read.ids)
    assert len(set(read.ids)) == len(read.ids)
    for anchor in read.targets:
        item = page.split(f'<li id="{anchor}">')[1].split("</li>")[0]
        code = re.findall(r"<code>(.*?)</code>", item)[0]
        args = parsed(html.unescape(code))
        assert args.row in ("Plain", "Ours") and args.column in SETS
    assert "A <hard>" in read.words and "60.30 ± 0.25" in read.words
    for row in page.split("<tr>"):
        if 'class="fl-ours"' in row:
            assert '<td class="fl-ran">letters, MLP 128-128, ' in row


def test_what_was_not_measured_is_folded_with_its_reason(book):
    page = markup(table_of(book, TWO))
    assert page.startswith('<details class="fl-fold" id="table2">')
    assert "not run yet" in page and "50.00" in page and "--scale paper" in page
    Reader(page)
    rest = markup(table_of(book, ONE)).split("1 cell not run")[1]
    assert "70.50" in rest


def test_what_was_measured_beside_no_number_is_counted_as_that(book, tmp_path):
    """A plot without numbers: nothing to compare with, and yet not nothing."""
    plain = cell("Plain", "D", "table3")
    three = Table("feddisco", "table3", "A plot", (replace(plain, paper_value=None),))
    store = Store(tmp_path / "more")
    store.append([line(three.cells[0], "small", k, 40.0) for k in range(3)])
    more = Book({three.path: three, TWO.path: TWO}, store.read())
    rows = markup(contents(more, "feddisco")).split("<tr>")
    by_name = {n: r for n in ("table2", "table3") for r in rows if f"#{n}" in r}
    cells = {n: re.findall("<td>(.*?)</td>", row) for n, row in by_name.items()}
    assert cells["table3"] == ["1", "–", "–", "1", "–"]
    assert cells["table2"] == ["1", "–", "–", "–", "1"]
    assert "<p>1 not comparable. Made by</p>" in markup(table_of(more, three))


def test_contents_and_overview_count_and_lead_on(book):
    listed = Reader(markup(contents(book, "feddisco")))
    assert listed.targets == ["table1", "table2"]
    shown = {i for t in (ONE, TWO) for i in Reader(markup(table_of(book, t))).ids}
    assert set(listed.targets) <= shown
    whole = markup(overview(book))
    assert 'href="ledger_feddisco.html"' in whole and "6 min" in whole
    cells = re.findall("<td>(.*?)</td>", whole)[:5]
    assert cells == ["5", "2<br><small>2 match</small>", "1", "–", "2"]


def test_curves_are_drawn_once_for_each_run(book):
    drawn = curves_of(book, ONE)
    alt = html.unescape(re.findall(r'aria-label="([^"]*)"', markup(drawn))[0])
    assert "A <hard>: letters, MLP 128-128: Plain 60.3, Ours 63.1" in alt
    assert "B: letters, MLP 128-128" in alt
    assert curves_of(book, TWO) is None


@pytest.mark.slow
def test_curves_stand_beside_accuracies_alone_and_can_be_told_apart():
    """Not beside bytes or the worst client; no panel has two data sets."""
    stored = the_book()
    for name in ("rfedavg/table3", "rfedavg/figure11", "fedlaw/table11"):
        assert curves_of(stored, stored.tables[name]) is None
    drawn = markup(curves_of(stored, stored.tables["feddisco/table3"]))
    alt = html.unescape(re.findall(r'aria-label="([^"]*)"', drawn)[0])
    assert "accuracy: CIFAR-10, FedDisco's CNN, accuracy: letters, MLP 128-128" in alt
    looks = curves._looks(["rFedAvg", "rFedAvg+", *"abcdefghijkl"])
    assert len({tuple(look.values()) for look in looks.values()}) == len(looks)


def test_a_glance_counts_verdicts_and_compares_at_the_papers_scale(book):
    said = "FedDisco: 1 matches the paper, 1 not run"
    assert said in markup(verdict_bars(book))
    drawn = against_paper(book)
    # (60.3 - 60, 63.1 - 63)
    assert "FedDisco 2 cells, mean difference +0.2 points" in markup(drawn)
    assert against_paper(Book(TABLES, Store(Path("nowhere")).read(new=True))) is None


def test_gains_are_drawn_beside_the_papers(book):
    drawn = markup(gains(book.claimed("feddisco"), "Two of them.", "Below."))
    alt = html.unescape(re.findall(r'aria-label="([^"]*)"', drawn)[0])
    assert (
        alt == "Two of them. Ours is above Plain <on A>. +2.80 ± 0.00; the paper +3.00."
    )
    run = [j for j in book.claimed("feddisco") if j.verdict.n]
    (legend,) = pictures._gains(run).legends
    marks = [text.get_text() for text in legend.get_texts()]
    assert marks == ["matches the paper", "the paper's gain"]
    nothing = Book(TABLES, Store(Path("nowhere")).read(new=True), CLAIMS)
    assert gains(nothing.claimed("feddisco"), "None.", "Below.") is None


# -- claims and cards --------------------------------------------------------------


def test_claims_show_the_papers_gain_and_ours(book):
    read = Reader(markup(claims_of(book, "feddisco")))
    assert "Ours is above Plain <on A>." in read.words
    assert "+3.00" in read.words and "A\xa063.00, B\xa060.00" in read.words
    assert "+2.80" in read.words and "A\xa063.10, B\xa060.30" in read.words
    assert MATCHES in read.words and NONE in read.words and SAME not in read.words
    assert read.targets == ["claim-feddisco-a"] and set(read.targets) <= set(read.ids)


def test_claims_that_were_not_run_are_folded(book):
    page = markup(claims_of(book, "feddisco"))
    judged, waiting = page.split("1 claim not run yet")
    assert "Ours is above Plain &lt;on A&gt;." in judged
    assert "The same on B." in waiting and "The same on B." not in judged
    page = markup(claims_folded(book, "feddisco"))
    said = "2 claims, 1 different experiments: 1 matches the paper"
    assert said in Reader(page).words
    (row,) = re.findall("(?s)<tbody>(.*?)</tbody>", markup(claimed(book)))
    cells = re.findall("<td>(.*?)</td>", row)
    one = "1<br><small>at the paper’s scale</small>"
    assert cells == ["1", one, *["–"] * 6, "1"]


def test_many_claims_are_folded_by_place_and_none_is_lost(book):
    many = "1 claim, 1 different experiments"
    said = f"<strong>Table 1</strong>, {many}: 1 matches the paper"
    flat, page = (markup(claims_of(book, "feddisco", most=m)) for m in (1, 0))
    assert said not in flat and said in page
    inside = page.split(said)[1].split("</details>")[0]
    assert "+2.80" in inside and "Ours is above Plain" in inside
    read = Reader(page)
    assert read.targets == Reader(flat).targets and read.targets
    assert set(read.targets) <= set(read.ids)


def test_a_card_has_machine_rule_and_command(book):
    page = markup(card("feddisco", book=book))
    read = Reader(page)
    assert "NVIDIA H100" in read.words and "commit abc1234" in read.words
    assert "python -m fedlab_core claims feddisco" in read.words
    assert 'href="ledger_feddisco.html"' in page
    other = markup(card("feddisco", "table9", book=book))
    assert "No claim" in other and "Nothing of this has been measured" in other


@pytest.mark.slow
def test_a_card_says_on_what_each_claim_was_judged():
    """Of the ledger itself: what stands in bears its own name, beside its verdict."""
    page = markup(card("fedlaw"))
    rows = [r for r in page.split("<tr>") if "fl-verdict" in r]
    small = [j for j in the_book().claimed("fedlaw") if j.scale == "small"]
    stand_ins = [r for r in rows if "on a stand-in" in r]
    assert len(stand_ins) == len(small) and stand_ins
    part = [r for r in rows if re.search('<td class="fl-ran">(letters|[0-9,]+ of )', r)]
    assert part == stand_ins and len(rows) > len(part)  # one at the paper's own scale


@pytest.mark.slow
def test_every_verdict_leads_to_the_rule_and_chance_is_counted():
    page = markup(card("fedimpro"))
    words = page.count('<td class="fl-verdict')
    assert words and page.count('href="ledger.html#the-rule"') == words + 1
    assert re.search("If no method made any difference, [0-9.]+ of these", page)


def test_the_rule_is_the_modules_own():
    text = Reader(str(ruled())).words
    for word in WORDS[:6]:
        assert f'"{word}"' in text
    assert "fixed without looking" in text and text.count("- ") == 0


def test_a_paper_without_claims_says_so(book):
    none = Book(book.tables, book.found)
    assert "No claim of this paper" in markup(claims_of(none, "feddisco"))


def test_nothing_measured_is_a_page_too(tmp_path):
    empty = Book(TABLES, Store(tmp_path).read(), CLAIMS)
    assert "No cell at a paper's scale" in markup(gaps_of(empty))
    assert "2 not run" in markup(verdict_bars(empty))
    assert np.isnan(empty.cells(ONE)[0].verdict.mean)
    Reader(markup(claims_of(empty, "feddisco")))
