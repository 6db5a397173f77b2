"""Slides cut from a chapter's page, and the page of all lessons."""

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests.test_lesson import one
from tools import lessons, slides
from tools.slides import SlideError, cut

PAGE = """\
<html><head><script src="../_static/vendor/mathjax/tex.js"></script>
<script src="other.js"></script></head><body><article class="bd-article"><section>
<h1><span>3. </span>Who?<a class="headerlink" href="#who">#</a></h1>
<p>Ten <a href="02_size.html">clinics</a>,
<a href="../book/glossary.html">words</a>.</p>
<p>Press Play, see <a href="#limit">below</a>, <span class="math">x</span>.</p>
<div class="cell tag_said"><div data-playground="{}"><svg><use href="#g">
</use></svg></div></div>
<p>Not in the opening.</p>
<section><h2>Work</h2>
<fieldset class="fl-predict"><p>What?</p></fieldset>
<fieldset class="fl-predict"><p>Second?</p></fieldset>
<div class="cell tag_algorithm"><div class="cell_input"><div class="highlight">one()
</div></div></div>
<div class="cell tag_algorithm"><div class="cell_input"><div class="highlight">two()
</div></div></div>
<div class="cell"><p class="fl-finding">No.</p></div>
<div class="cell tag_decides"><p class="fl-finding">Yes.</p>
<div class="fl-scroll"><table class="fl-forest"></table></div>
<details><div class="fl-scroll"><table class="fl-forest">more</table></div></details>
</div>
<p><strong>A limit.</strong> One network.</p>
</section></section></article></body></html>
"""
SECTION = """\
<section><h2>How far this carries</h2><div class="cell"><p>It holds.</p></div>
<p>Once. More in <a href="x.html">x</a>.</p>
<div class="admonition dropdown"><p>Folded.</p></div>
<div class="admonition warning"><p class="admonition-title">Read</p>
<ul><li><p>Small.</p></li></ul></div></section>"""
KINDS = ["question", "knob", "prediction", "algorithm", "decides", "limit"]


def made(page: str = PAGE) -> dict[str, slides.Slide]:
    found = cut(BeautifulSoup(page, "html.parser"), "03_who")
    return {slide.kind: slide for slide in found}


def text(slide: slides.Slide) -> str:
    return BeautifulSoup(slide.body, "html.parser").get_text(" ", strip=True)


def test_six_slides_are_cut_in_their_order():
    found = made()
    assert [*found] == KINDS
    assert found["question"].title == "Who?"
    assert "Not in the opening" not in found["question"].body
    assert text(found["prediction"]) == "What?"
    assert text(found["algorithm"]) == "one() two()"
    assert (
        text(found["decides"]) == "Yes." and found["decides"].body.count("forest") == 1
    )
    assert text(found["limit"]) == "A limit. One network."


def test_a_section_on_the_limit_goes_before_a_paragraph():
    page = PAGE.replace("</section></section>", f"</section>{SECTION}</section>")
    assert text(made(page)["limit"]) == "It holds. Once. Small."


def test_a_limit_that_is_a_list_is_one_on_the_slide():
    listed = (
        "<section><h2>How far does this carry?</h2><ul><li><p>One.</p></li><li><p>"
        '<a href="x">Elsewhere</a>.</p></li><li><p>Two.</p></li></ul></section>'
    )
    page = PAGE.replace("</section></section>", f"</section>{listed}</section>")
    body = BeautifulSoup(made(page)["limit"].body, "html.parser")
    assert [li.get_text() for li in body.select("ul > li")] == ["One.", "Two."]
    assert len(body.select("li")) == 2 and len(body.select("ul")) == 1


def test_a_paragraph_named_as_the_slide_is_not_named_twice():
    page = PAGE.replace("A limit.", "How far does this carry?")
    assert text(made(page)["limit"]) == "One network."


def test_a_citation_stays_and_what_it_cites_does_not():
    cited = (
        '[<a href="r.html#b" title="A. &amp; U. Th. It? In PMLR. 2020.">A, 2020</a>].'
    )
    limit = text(
        made(PAGE.replace("One network.", f"One network {cited} So."))["limit"]
    )
    assert limit == "A limit. One network [A, 2020]. So."


def test_a_piece_that_moves_brings_its_pictures_and_a_later_one_stays_away():
    moves = '<div class="fl-frames" data-pictures="fl-1">η</div>'
    page = PAGE.replace("<div data-playground", f"{moves}<div data-playground")
    told = '<script id="fl-1" type="application/json">{}</script>'
    body = made(page.replace("</body>", f"{told}</body>"))["knob"].body
    assert moves in body and told in body and "data-playground" not in body


def test_links_lead_where_they_led():
    body = made()["question"].body
    found = re.findall(r'<a href="([^"]*)"', body)
    there = "../notebooks/03_who.html#limit"
    assert found == ["../notebooks/02_size.html", "../book/glossary.html", there]
    assert '<use href="#g">' in made()["knob"].body


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("question", r"<p>.*?(?=<div class=\"cell tag_said)"),
        ("knob", r" data-playground=\"\{\}\""),
        ("prediction", r" class=\"fl-predict\""),
        ("algorithm", r" tag_algorithm"),
        ("decides", r" tag_decides"),
        ("limit", r"A limit\."),
    ],
)
def test_what_a_page_lacks_is_named(tmp_path, kind, part):
    (tmp_path / "notebooks").mkdir()
    page = re.sub(part, "", PAGE, flags=re.DOTALL)
    (tmp_path / "notebooks" / "03_who.html").write_text(page)
    with pytest.raises(
        SlideError, match=rf"^notebooks/03_who.ipynb: no slide “{kind}”"
    ):
        slides.write(tmp_path, ["03_who"])


def test_formulas_are_set_where_there_are_any():
    page = slides.page(PAGE, "03_who", "")
    assert "mathjax/tex.js" in page and "other.js" not in page
    page = slides.page(PAGE.replace('class="math"', ""), "03_who", "https://a.b")
    assert "mathjax" not in page and 'content="https://a.b/slides/03_who.html"' in page


def test_the_quiz_has_every_answer_and_its_reason(monkeypatch):
    monkeypatch.setattr(lessons, "lesson", lambda path: one())
    page = lessons.page([Path("09_who.ipynb")])
    assert "* - {doc}`../notebooks/09_who`\n  - 45\n  - 30\n" in page
    assert "**9-1.** What?\n\n- (a) a\n- (b) inf\n" in page
    assert "- (a) **No.** Since.\n- (b) **Yes.** No.\n" in page
