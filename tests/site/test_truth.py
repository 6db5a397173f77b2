"""No data set and no network is named beside a number of ours that was not run on it.

On the ledger's pages what is said in the paper's words is marked as that (`fl-theirs`);
the rest of every row, claim, card, caption and figure may name only what the row says
that ours ran on. In a chapter's tables and figures, which run on the built-in letters
if they do not say otherwise (`data-ran`), a part of a sentence that names something
else has to say that it is the paper's; so has a column's head, or the row's.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag

NAMES = re.compile(
    r"(?<![\w-])(CIFAR-100|CIFAR-10|CINIC-10|Fashion-MNIST|FMNIST|FEMNIST|MNIST|SVHN|"
    r"HAM10000|AG News|Sent140|Tiny-ImageNet|letters|digits|"
    r"SimpleCNN|ResNet-?\d+|WRN-56-4|DenseNet-?121|VGG-?9|AlexNet|LeNet|"
    r"MLP [\d-]+|\w+'s CNN|text CNN)(?![\w-])"
)
SAME = {"FMNIST": "Fashion-MNIST"}


def named(text: str) -> set[str]:
    """The data sets and networks that a text names."""
    found = map(str, NAMES.findall(text.replace("’", "'")))
    return {SAME.get(name, name) for name in found}


def own_words(element: Tag) -> str:
    """A text of ours: without the paper's words, and without commands."""
    texts = element.find_all(string=True)
    mine = (t.strip() for t in texts if not any(map(_not_ours, t.parents)))
    return " ".join(filter(None, mine))


def _not_ours(parent: Tag) -> bool:
    kinds = parent.get("class") or []
    return parent.name in ("code", "title") or "fl-theirs" in kinds


def pages(site: Path) -> Iterator[tuple[str, BeautifulSoup]]:
    for path in sorted(site.rglob("*.html")):
        text = path.read_text()
        if 'class="fl-ours"' in text:
            yield path.name, BeautifulSoup(text, "html.parser")


def rows(page: BeautifulSoup) -> list[Tag]:
    """Rows with a number of ours that say what it ran on."""
    found = [cell.find_parent("tr") for cell in page.select("td.fl-ours")]
    return [row for row in found if row is not None]


def text_of(element: Tag, selector: str) -> str:
    """The text of all that a selector finds inside."""
    return " ".join(found.get_text(" ") for found in element.select(selector))


def untrue(page: BeautifulSoup) -> Iterator[str]:
    """Everything that names what was not run."""
    for row in rows(page):
        said, ran = row.get_text(" ", strip=True), named(text_of(row, ".fl-ran"))
        if not ran and text_of(row, ".fl-ours").strip() != "–":
            yield f"a row that does not say what ours ran on: {said}"
        for name in named(own_words(row)) - ran:
            yield f"{name} in the row {said}"
        about = row.find_previous_sibling("tr")
        if isinstance(about, Tag) and "fl-about" in (about.get("class") or []):
            for name in named(own_words(about)) - ran:
                yield f"{name} in the claim {about.get_text(' ', strip=True)}"
    for table in page.select("table:has(td.fl-ours)"):
        here = named(text_of(table, ".fl-ran"))
        for caption in table.select("caption"):
            for name in named(own_words(caption)) - here:
                yield f"{name} in the caption {caption.get_text()}"
    for block in page.select(".fl-ledger:has(td.fl-ours)"):
        here = named(text_of(block, ".fl-ran"))
        for title in block.select("h3"):
            for name in named(own_words(title)) - here:
                yield f"{name} in the title {title.get_text()}"
    for claim in page.select(".fl-claim"):  # what the page of all claims has opened
        labels = " ".join(str(e["aria-label"]) for e in claim.select("[aria-label]"))
        for name in named(f"{own_words(claim)} {labels}") - named(
            text_of(claim, ".fl-ran")
        ):
            yield f"{name} in what is behind {claim.get_text(' ')[:120]}"
    for drawn in page.select("figure[data-ran]"):
        labels = " ".join(str(e["aria-label"]) for e in drawn.select("[aria-label]"))
        said = f"{drawn.get_text(' ')} {labels}"
        for name in named(said) - named(str(drawn["data-ran"])):
            yield f"{name} in the figure {said[:120]}"


BUILT_IN = {"letters", "digits"}
MEASURED = re.compile(r"measured on ([^.:]+)")
THEIRS = re.compile(r"\b(paper|papers|published|authors)\b", re.IGNORECASE)


def not_said(text: str, ran: set[str]) -> Iterator[str]:
    """The parts of sentences that name what was not run, and do not say whose it is."""
    for part in re.split(r"(?<=[.;])\s+", text):
        if named(part) - ran - BUILT_IN and not THEIRS.search(part):
            yield part


def unsaid(page: BeautifulSoup) -> Iterator[str]:
    """Names in a chapter's tables and figures that are not said to be the paper's."""
    for table in page.select("article table:not(:has(td.fl-ours))"):
        caption = own_words(table.caption) if table.caption else ""
        if THEIRS.match(caption.removeprefix("The ")):
            continue  # the paper's table
        frame = table.find_parent(attrs={"data-ran": True})
        ran = named(str(frame["data-ran"])) if frame else set()
        yield from not_said(caption, ran)
        heads = [own_words(th) for th in table.select("thead th")]
        yield from (h for head in heads for h in not_said(head, ran))
        for row in table.select("tbody tr"):
            here = ran | named(text_of(row, ".fl-ran"))
            cells = [own_words(cell) for cell in row.find_all(["th", "td"])]
            if any(THEIRS.match(cell) for cell in cells):
                continue  # a row of the paper's
            for k, cell in enumerate(cells):
                head = heads[k] if len(heads) == len(cells) else ""
                if not THEIRS.search(head):
                    yield from not_said(cell, here)
    for drawn in page.select("article figure:not([data-ran])"):
        labels = [str(e["aria-label"]) for e in drawn.select("[aria-label]")]
        for text in (own_words(drawn), *labels):
            yield from not_said(text, named(" ".join(MEASURED.findall(text))))


def test_what_is_named_beside_a_number_of_ours_was_run(site):
    found = 0
    for name, page in pages(site):
        assert not list(untrue(page)), name
        found += len(rows(page))
    assert found > 300


def test_a_chapter_says_what_is_the_papers(site):
    wrong = {}
    for path in sorted(site.rglob("*.html")):
        found = list(unsaid(BeautifulSoup(path.read_text(), "html.parser")))
        if found:
            wrong[path.name] = found
    assert not wrong


TRUE = (
    '<table><caption>On letters</caption><tr class="fl-about"><th>'
    '<span class="fl-theirs">On CIFAR-10</span></th></tr><tr><td class="fl-ours">1</td>'
    '<td class="fl-ran">letters, MLP 8-8</td></tr></table>'
    '<figure data-ran="letters, MLP 8-8"><svg aria-label="MLP 8-8, gains"></svg>'
    '</figure><div class="fl-claim"><span class="fl-ran">letters</span>'
    '<svg aria-label="Our gain"></svg>A: <b class="fl-theirs">SVHN</b></div>'
)


@pytest.mark.parametrize(
    "old, new",
    [
        ("On letters", "On CIFAR-10"),
        ('<span class="fl-theirs">On CIFAR-10</span>', "On CIFAR-10"),
        (">1<", ">1 (SimpleCNN)<"),
        (">letters, MLP 8-8<", "><"),
        ("MLP 8-8, gains", "LeNet, gains"),
        ("A: <b ", "SVHN: <b "),
        ("Our gain", "Our gain, SVHN"),
    ],
)
def test_a_wrong_name_is_found(old, new):
    assert not list(untrue(BeautifulSoup(TRUE, "html.parser")))
    wrong = TRUE.replace(old, new, 1)
    assert list(untrue(BeautifulSoup(wrong, "html.parser")))


CHAPTER = (
    "<article><table><caption>Gains. Paper: CIFAR-10; ours: letters.</caption>"
    "<thead><tr><th>setting</th><th>paper: SVHN</th></tr></thead>"
    "<tbody><tr><td>few clients</td><td>CIFAR-10</td></tr></tbody></table>"
    '<figure><svg aria-label="Ours and, on SVHN, the paper\'s."></svg>'
    "<figcaption>Left: the paper's, on CIFAR-10. Right: ours.</figcaption></figure>"
    '<div data-ran="ResNet-20"><table><tbody><tr><td>ResNet-20</td></tr></tbody>'
    "</table></div></article>"
)


@pytest.mark.parametrize(
    "old, new",
    [
        ("Paper: CIFAR-10; ours: letters", "Ours: CIFAR-10"),
        ("Paper: CIFAR-10; ours: letters", "Paper: SVHN; ours: CIFAR-10"),
        (">few clients<", ">few clients, SVHN<"),
        (">setting<", ">AlexNet<"),
        ("on SVHN, the paper's", "on SVHN, ours again"),
        ("Left: the paper's, on CIFAR-10", "Left, on CIFAR-10"),
        (">ResNet-20<", ">ResNet-8<"),
    ],
)
def test_a_name_that_is_nobodys_is_found(old, new):
    assert not list(unsaid(BeautifulSoup(CHAPTER, "html.parser")))
    assert (
        len(list(unsaid(BeautifulSoup(CHAPTER.replace(old, new), "html.parser")))) == 1
    )
