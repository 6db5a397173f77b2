"""The page with the answer: a row a paper, with marks where the numbers are."""

import html
import json
import re
from dataclasses import replace

import pytest

from fedlab_book.advice import Advice, sentence
from fedlab_book.ledger.answer import alt, answered, findings, strip
from fedlab_ledger.cli import command
from fedlab_ledger.model.lines import Found
from fedlab_ledger.report.answers import QUESTIONS, Gain, answers
from fedlab_ledger.report.book import NAMES
from tests.once import the_book
from tools import explorer


@pytest.fixture(scope="module")
def found():
    return answers(the_book())


@pytest.mark.slow
def test_a_row_a_paper_with_claim_finding_effect_and_where_it_ran(found):
    shown = str(answered(the_book()).data)
    rows = re.findall(r'<tr id="(\w+)">(.*?)</tr>', shown, re.DOTALL)
    assert [paper for paper, _ in rows] == list(NAMES)
    for question, a, (_, row) in zip(QUESTIONS, found, rows, strict=True):
        text = html.unescape(row)
        assert question.claim in text and f"changes {question.changes}" in text
        assert "<em>It asks that</em>" in row and a.headline.ran in text
        assert a.beside_paper in text and a.standing.stance in text
        assert a.standing.counted in text
        assert row.count("<svg") == 1 and 'role="img"' in row


def test_marks_stand_where_the_gains_are(found):
    """From the drawing back to the numbers, by two of the axis's lines."""
    for a in found:
        picture, e = strip(a), a.headline
        names = re.findall(r'<text x="([\d.]+)"[^>]*>([^<]+)</text>', picture)
        ticks = [(float(x), float(n.replace("−", "-"))) for x, n in names]
        (x0, p0), (x1, p1) = ticks[0], ticks[-1]
        a_point = (x1 - x0) / (p1 - p0)

        def points(x: str, x0=x0, p0=p0, a_point=a_point) -> float:
            return p0 + (float(x) - x0) / a_point

        drawn = sorted(map(points, re.findall(r'cx="([\d.]+)"', picture)))
        there = sorted([e.gain.mean, *(t.gain.mean for t in a.tried)])
        near = pytest.approx(there, abs=0.2 / a_point)
        assert drawn == near
        for side, kind in ((1, "fl-ahead"), (-1, "fl-behind"), (0, "fl-open")):
            many = sum(t.gain.side == side for t in a.tried) + (e.gain.side == side)
            assert len(re.findall(f'"{kind}', picture)) == many
        hollow = sum(not t.own_scale for t in a.tried) + e.judged.stand_in
        assert len(re.findall("fl-hollow", picture)) == hollow
        claimed = re.search(r'fl-claimed" points="[^"]* ([\d.]+),[\d.]+"', picture)
        assert (claimed is None) == e.judged.stand_in
        if claimed:
            assert points(claimed[1]) == pytest.approx(e.paper, abs=0.2 / a_point)
        inside = [float(x) for x in re.findall(r'(?:cx|x1|x2)="([\d.]+)"', picture)]
        assert min(inside) >= 0 and max(inside) <= 250


def test_the_words_say_what_the_marks_show(found):
    for a in found:
        assert a.headline.gain.text in alt(a) and a.standing.text in alt(a)


def told_everywhere(book, monkeypatch) -> dict[str, list[str]]:
    """How each paper's method stands, at the five places where a reader may meet it."""
    monkeypatch.setattr(explorer, "_book", lambda: book)
    monkeypatch.setattr(explorer, "rows", list)  # or those of this book would be kept
    first, holds = str(findings(book).data), str(answered(book).data)
    lines = command._standing(book.found, None)  # of the command line
    explored = json.loads(str(explorer.inside()))["standings"]
    told = {}
    for a, line in zip(answers(book), lines, strict=True):
        paper = a.question.paper
        item = re.search(rf'<li id="{paper}">(.*?)</li>', first, re.DOTALL)
        row = re.search(rf'<tr id="{paper}">(.*?)</tr>', holds, re.DOTALL)
        assert item and row and line.startswith(f"{paper}, over all: ")
        advised = Advice(a.question.arm, Gain(2, 1, 8), COSTS, None)
        parts = re.findall(r"in (\d+) of (\d+) (?:settings of|common)", a.standing.text)
        summed = [sum(map(int, column)) for column in zip(*parts, strict=True)]
        assert "Ahead in {} of {} settings.".format(*summed) in item[1]
        recommended = sentence(advised, "letters", {a.question.arm: a.standing.text})
        told[paper] = [
            *(re.findall("<strong>(.*?)</strong>", part[1])[0] for part in (item, row)),
            recommended.partition("Over all that was tried: ")[2],
            line.partition(", over all: ")[2],
            explored[NAMES[paper]],
        ]
    return told


COSTS = {"bytes": 1.0, "steps": 1.0}


def agree(told: dict[str, list[str]]) -> bool:
    """Whether the short forms begin the long ones, and these are one."""
    return all(
        first == holds and len(set(whole)) == 1 and whole[0].startswith(first)
        for first, holds, *whole in told.values()
    )


@pytest.mark.slow
def test_one_tally_is_told_at_five_places(monkeypatch):
    told = told_everywhere(the_book(), monkeypatch)
    assert list(told) == list(NAMES) and agree(told)
    one = told["feddisco"]
    for i in range(len(one)):
        planted = [*one[:i], "It hurts wherever it was tried.", *one[i + 1 :]]
        assert not agree(told | {"feddisco": planted}), i


@pytest.mark.slow
def test_other_lines_in_the_ledger_move_every_place_alike(found, monkeypatch):
    """One method's numbers are made worse by far: all five say so."""
    book = the_book()
    before = told_everywhere(book, monkeypatch)
    a = next(a for a in found if a.question.paper == "fedcollab")
    effects = [e.judged for t in a.tried for e in t.effects]
    keys = {j.claim.cell.key(j.scale) for j in effects}
    lines = {
        cell.key(s): book.found.of(cell.key(s))
        for table in book.tables.values()
        for cell in table.cells
        for s in cell.settings
    }
    for key in keys:
        lines[key] = {k: v | {"value": v["value"] - 1} for k, v in lines[key].items()}
    after = told_everywhere(replace(book, found=Found(lines), _kept={}), monkeypatch)
    assert agree(after) and after["fedcollab"] != before["fedcollab"]
    assert after["feddisco"] == before["feddisco"]
