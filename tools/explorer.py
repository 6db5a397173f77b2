"""Every claim on one page, to be filtered, sorted, opened and taken away.

The page is a plain table, made of the stored results by the functions of
`claims --json`; its script (`claims.js`) finds the same records beside the table, so it
asks for nothing and works from a folder. They are also a file, `_static/claims.json`.
"""

import json
import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import yaml
from markupsafe import Markup

from fedlab_book.html import macros
from fedlab_book.ledger.claimed import our_gain, paper_gain
from fedlab_book.ledger.markup import capital, number, place_of, ran_cell, verdict_cell
from fedlab_book.ledger.markup import page as ledger_page
from fedlab_core.methods import METHODS
from fedlab_ledger.judge.claims import Judged, as_json, record, tally
from fedlab_ledger.model.claim import Claim
from fedlab_ledger.model.verdict import NONE, WORDS
from fedlab_ledger.papers import CLAIMS
from fedlab_ledger.report.answers import standings
from fedlab_ledger.report.book import NAMES, RESULTS, Book, opened
from tools import cite, paths

FILE = "claims.json"  # in the site's _static
RULE = "../notebooks/ledger.html#the-rule"
SEARCHES = "../notebooks/what_did_not_come_out.html"
# A column's name, and what it is sorted by in claims.js.
HEAD = {
    "claim": "place",
    "paper’s gain": "paper",
    "our gain": "ours",
    "gap": "gap",
    "ours ran on": "ran",
    "verdict": "verdict",
}
# What the claims are chosen by: its name in claims.js, and its label.
FILTERS = {
    "paper": "Paper",
    "method": "Method",
    "theirs": "The paper’s data",
    "data": "Ours ran on",
    "scale": "Scale",
    "verdict": "Verdict",
    "kind": "Kind",
}
SORTS = {
    "place": "paper and place",
    "gap": "gap, in tolerances",
    "paper": "the paper’s gain, in points",
    "ours": "our gain, in points",
    "ran": "what ours ran on",
    "verdict": "verdict",
}
_INTRO = """\
---
html_theme.sidebar_secondary.remove: true
---
# Every claim

{many} claims of the five papers, and what was found of each. ({tries} tries at those
that did not come out, {{doc}}`../notebooks/what_did_not_come_out`, are under *Kind*.) A
claim says that A is above B, below it, or as high; its *gain* is A less B. Choose by
paper, method, data, scale or verdict, sort by any column, and open a claim for its
seeds, its two commands and files to take away. The address keeps what you chose, and
each claim has an address of its own.

*Ours* is the mean over seeds with its 95 % interval, on what the row says that it ran
on. Below the paper's gain stands what it has for A and B. The *gap* is our gain less
the paper's. It is told at the paper's own scale only, and sorted by how many
*tolerances* it is: a tolerance is how far off a gain may be and still match, a point of
accuracy if nothing else is said. On a stand-in the paper's numbers are grey: there, a
gap would say nothing against the paper. What the words mean is {{ref}}`the rule
<the-rule>`, one for all claims. The same records as one file:
<a href="../_static/{file}" download>claims.json</a>, or
`python -m fedlab_core claims --json`.

`````{{raw}} html
{table}
`````
"""
_parts, _html = macros("table"), macros("explorer", "tools")
FORMATS = ("CSV", "JSON", "LaTeX", "BibTeX")


@cache
def _book() -> Book:
    return opened(paths.ROOT / RESULTS)


@cache
def rows() -> list[Judged]:
    """The claims of every paper, then what was tried where one did not come out."""
    return [j for paper in CLAIMS for j in _book().claimed(paper)]


@cache
def _claims() -> dict[str, Claim]:
    return {c.slug: c for paper in CLAIMS for c in CLAIMS[paper]}


def origin(claim: Claim) -> Claim:
    """The paper's claim: of a try, the one that it looks for."""
    return _claims()[claim.again] if claim.again else claim


def data() -> str:
    """The claims as `claims --json` prints them, for the file beside the page."""
    return as_json(rows()) + "\n"


def bibtex(bib: str, paper: str) -> str:
    """A paper's entry among the book's references: its key ends in the paper's name."""
    entries = re.split(r"\n\s*\n(?=@)", bib.strip())
    (found,) = [e for e in entries if re.match(rf"@\w+\{{\w+\d{paper},", e)]
    return found + "\n"


def inside() -> Markup:
    """Data for the script, as JSON that may stand in a page."""
    bib = (paths.ROOT / "book" / "references.bib").read_text()
    own = yaml.safe_load((paths.ROOT / "CITATION.cff").read_text())
    records = [record(j) for j in rows()]
    sides = [r[side] for r in records for side in ("a", "b", "without") if side in r]
    used = {m for side in sides for m in side["methods"]}
    about = {
        "papers": NAMES,
        "standings": {NAMES[p]: said for p, said in standings(_book()).items()},
        "methods": {key: METHODS[key].make().name for key in METHODS if key in used},
        "words": WORDS,
        "not_run": NONE,
        "rule": RULE,
        "bibtex": {paper: bibtex(bib, paper) for paper in NAMES},
        "book": cite.bibtex(own),
        "claims": records,
    }
    text = json.dumps(about, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))


def row(j: Judged) -> Markup:
    """A claim's line of the table, at its slug."""
    claim, first = j.claim, origin(j.claim)
    unit = "" if claim.cell.unit == "%" else f"; unit: {claim.cell.unit}"
    about = f"{NAMES[first.paper]}, {place_of(claim.cell)}{unit}"
    said, tried = capital(first.sentence), claim.sentence if claim.again else ""
    labels, ours = list(HEAD), our_gain(j)
    ran, word = _parts.ran("–", labels[4]), _html.unjudged(labels[5], NONE)
    if j.verdict.word != NONE:
        ours = _parts.link(made(j), ours)
        setting, n, lost = claim.cell.settings[j.scale], j.verdict.n, j.verdict.lost
        ran = ran_cell(setting, n, lost, labels[4])
        word = verdict_cell(j.verdict.word, j.stand_in, RULE, labels[5])
    cells = (j.stand_in, paper_gain(j), ours, gap(j), ran, word)
    return _html.row(labels, claim.slug, said, tried, about, *cells)


def made(j: Judged) -> str:
    """Link to the place in the book that says how our number was made."""
    to = SEARCHES if j.claim.again else f"../notebooks/{ledger_page(j.claim.paper)}"
    return f"{to}#claim-{j.claim.slug}"


def gap(j: Judged) -> Markup:
    """Our gain less the paper's, and how many tolerances that is; not of a stand-in."""
    claim = j.claim
    if j.stand_in or claim.gain is None or not math.isfinite(j.verdict.mean):
        return _parts.below("–", "")
    off = j.verdict.mean - claim.gain
    many = f"{abs(off) / max(claim.tolerance, 1e-9):.1f} tolerances"
    return _parts.below(number(off, claim.cell.unit, "+"), many)


def table(every: Sequence[Judged]) -> Markup:
    """The claims as a table, with what makes it move beside it."""
    return _html.table(FILTERS, SORTS, FORMATS, HEAD, map(row, every), inside())


def page() -> str:
    """The page, as Markdown."""
    every = rows()
    tries = sum(bool(j.claim.again) for j in every)
    many = tally([j for j in every if not j.claim.again]).claims
    return _INTRO.format(many=many, tries=tries, file=FILE, table=table(every))


def write(static: Path) -> None:
    """Put the file with all records below the site's `_static`."""
    (static / FILE).write_text(data())
