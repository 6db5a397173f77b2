"""The page with every claim, as it is made: the records, the table, the references."""

import json
import re

import pytest
from bs4 import BeautifulSoup, Tag

from fedlab_book.ledger.markup import capital
from fedlab_core import __main__
from fedlab_ledger.judge.claims import judged, tally
from fedlab_ledger.model.verdict import NONE
from fedlab_ledger.papers import CLAIMS
from fedlab_ledger.report.book import NAMES, opened
from tools import explorer
from tools.paths import ROOT

pytestmark = pytest.mark.slow  # every claim is judged, twice


@pytest.fixture(scope="module")
def records() -> list[dict]:
    return json.loads(explorer.data())


@pytest.fixture(scope="module")
def rows() -> dict[str, Tag]:
    page = BeautifulSoup(explorer.table(explorer.rows()), "html.parser")
    return {str(tr["id"]): tr for tr in page.select(".fl-every > tbody > tr")}


def cell(row: Tag, kind: str) -> str:
    found = row.select_one(f".fl-{kind}")
    assert found is not None
    return found.get_text(" ", strip=True)


def test_the_file_is_what_the_command_line_prints(capsys, records):
    ledger = str(ROOT / "results" / "ledger")
    assert __main__.main(["claims", "--json", "--ledger", ledger]) == 0
    assert json.loads(capsys.readouterr().out) == records


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("a client gains", "A client gains"),
        ("a = .5 is safe", "a = .5 is safe"),
        ("γ rises", "γ rises"),
        ("rFedAvg+ gains", "rFedAvg+ gains"),
        ("with γ it gains", "With γ it gains"),
    ],
)
def test_a_symbol_keeps_its_letter(sentence, said):
    assert capital(sentence) == said


def test_every_claim_has_a_row_at_its_slug(records, rows):
    assert list(rows) == [c.slug for paper in CLAIMS for c in CLAIMS[paper]]
    assert [r["id"] for r in records] == list(rows)


def test_a_row_says_what_the_record_says(records, rows, subtests):
    assert records
    for claim in records:
        with subtests.test(claim["id"]):
            check(claim, rows[claim["id"]])


def check(claim: dict, row: Tag) -> None:
    assert cell(row, "verdict").startswith(claim["verdict"])
    on_stand_in = cell(row, "verdict").endswith("on a stand-in")
    assert on_stand_in == (claim["stand_in"] and claim["verdict"] != NONE)
    far = row.select(".fl-paper.fl-apart, .fl-gap.fl-apart")
    assert len(far) == 2 * claim["stand_in"]
    if claim["mean"] is None:
        assert cell(row, "ours") == cell(row, "gap") == "–"
        return
    mean, *half = re.findall(r"[-+\d.]+", cell(row, "ours"))
    assert float(mean) == pytest.approx(claim["mean"], abs=0.51)
    assert bool(half) == (claim["half_width"] is not None)
    assert claim["data"] in cell(row, "ran")
    if claim["stand_in"] or claim["gap"] is None:
        assert cell(row, "gap") == "–"
    else:
        off, many = re.findall(r"[-+.\d]+", cell(row, "gap"))[:2]
        assert float(off) == pytest.approx(claim["gap"], rel=0.01, abs=0.0051)
        tolerances = abs(claim["gap"]) / claim["tolerance"]
        assert float(many) == pytest.approx(tolerances, abs=0.051)


def test_what_the_script_reads_cannot_end_the_script(records):
    text = explorer.inside()
    assert "<" not in text
    about = json.loads(text)
    assert about["claims"] == records
    used = {m for r in records for side in "ab" for m in r[side]["methods"]}
    assert set(about["methods"]) == used
    assert set(about["papers"]) == set(about["bibtex"]) == set(NAMES)


@pytest.mark.parametrize("paper", NAMES)
def test_a_paper_is_cited_as_the_book_cites_it(paper: str):
    bib = (ROOT / "book" / "references.bib").read_text()
    entry = explorer.bibtex(bib, paper)
    assert entry.strip() in bib and entry.count("@") == 1
    assert entry.count("{") == entry.count("}")


def test_a_try_is_shown_as_a_try_at_the_paper_s_claim(records, rows):
    of = {r["id"]: r for r in records}
    tries = [r for r in records if r["again"]]
    assert tries and {r["paper"] for r in tries} == {"gaps"}
    for r in tries:
        said = rows[r["id"]].get_text(" ", strip=True)
        assert of[r["again"]]["claim"][1:] in said and f"Tried: {r['claim']}" in said


def test_the_page_counts_what_it_has(rows):
    first = explorer.page().split("`````")[0]
    own = [c for paper in NAMES for c in CLAIMS[paper]]
    claims = tally(judged(own, opened(ROOT / "results" / "ledger").found)).claims
    assert f"{claims} claims of the five papers" in first
    assert f"({len(rows) - claims} tries at" in first
