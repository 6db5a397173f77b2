import re
from itertools import combinations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from fedlab_book import figures

ALT = "One line that rises from zero to one over ten rounds"
LIGHT, DARK = "#ffffff", "#14181e"


@figures.styled
def line(label="FedAvg", **axes):
    fig, ax = figures.canvas(**axes)
    ax.plot([0, 10], [0, 1], label=label, **figures.look("FedAvg"))
    ax.set_xlabel("round")
    ax.legend()
    return fig


def luminance(color: str) -> float:
    channels = np.array(to_rgb(color))
    low, high = channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
    return float(np.where(channels <= 0.04045, low, high) @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    dim, bright = sorted((luminance(one), luminance(other)))
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("color", figures.PALETTE.values(), ids=figures.PALETTE)
def test_colours_stand_out_from_both_backgrounds(color):
    # WCAG 2.1, 1.4.11: parts of a graphic need 3:1
    assert contrast(color, LIGHT) >= 3
    assert contrast(color, DARK) >= 3


def test_ten_classes_have_ten_colours():
    assert len(set(figures.CLASSES)) == 10


def test_no_two_methods_look_alike():
    for one, other in combinations(figures.LOOKS.values(), 2):
        assert one.marker != other.marker
        assert one.color != other.color or one.linestyle != other.linestyle


def test_a_method_of_the_readers_has_a_stable_look_of_its_own():
    mine = figures.look("FedMine")
    assert mine == figures.look("FedMine") != figures.look("FedYours")
    assert mine["color"] in figures.CLASSES and mine not in figures.LOOKS.values()


def test_canvas_has_the_size_asked_for():
    fig, axes = figures.canvas(width=480, height=240, ncols=2)
    assert len(axes) == 2
    assert fig.get_size_inches() * 96 == pytest.approx([480, 240])
    plt.close(fig)


def test_style_does_not_leak():
    before = dict(mpl.rcParams)
    figures.svg(line(), ALT)
    assert dict(mpl.rcParams) == before


def test_svg_has_a_text_alternative_and_takes_the_page_colour():
    markup = figures.svg(line(), 'Rises "fast" & far, from zero to one in ten rounds')
    assert markup.startswith(
        '<svg role="img" aria-label="Rises &quot;fast&quot; &amp; far'
    )
    assert 'fill="currentColor"' in markup and "stroke: currentColor" in markup
    assert "#000000" not in markup
    assert figures.PALETTE["blue"] in markup


def test_svg_cannot_restyle_or_import_anything():
    markup = figures.svg(line(), ALT)
    for unwanted in ("<style", "<metadata", "<!--", "<?xml", "http"):
        assert unwanted not in markup


def test_svg_bytes_are_the_same_in_every_run():
    assert figures.svg(line(), ALT, scope="x") == figures.svg(line(), ALT, scope="x")


def test_equal_figures_on_a_page_have_ids_of_their_own():
    one, other = (figures.svg(line(), ALT) for _ in range(2))
    ids = [set(re.findall(r' id="([^"]+)"', markup)) for markup in (one, other)]
    assert ids[0] and not ids[0] & ids[1]


def test_every_reference_in_an_svg_resolves():
    markup = figures.svg(line(), ALT)
    ids = set(re.findall(r' id="([^"]+)"', markup))
    assert set(re.findall(r'(?:url\(|href=")#([^")]+)', markup)) == ids


@pytest.mark.parametrize("render", [figures.svg, figures.webp, figures.show])
def test_a_picture_without_a_real_text_alternative_is_refused(render):
    with pytest.raises(ValueError, match="alt of 9 characters .'the curve'.; at least"):
        render(line(), "the curve")


def test_small_text_is_refused():
    fig = line()
    fig.axes[0].text(0, 0, "fine print", fontsize=7)
    with pytest.raises(ValueError, match=r"text of 9\.3 px; it takes 11 px"):
        figures.svg(fig, ALT)


def test_a_figure_scrolls_before_its_text_gets_too_small():
    # 12 pt are 16 px; 640 px * 11 / 16 = 440 px
    assert "min-width:440px" in figures.svg(line(width=640), ALT)


def test_every_drawing_closes_its_figure():
    for render in (figures.svg, figures.webp, figures.show):
        render(line(), ALT)
    assert plt.get_fignums() == []


def test_webp_has_a_size_and_a_text_alternative():
    markup = figures.webp(line(width=480, height=240), ALT)
    assert f'alt="{ALT}" width="480" height="240"' in markup
    assert "data:image/webp;base64," in markup


def test_show_writes_the_caption_as_text():
    shown = str(figures.show(line(), ALT, caption="a < b").data)
    assert shown.startswith('<figure class="fl-figure">')
    assert "<figcaption>a &lt; b</figcaption>" in shown
    assert "<figcaption" not in str(figures.show(line(), ALT).data)


def test_a_caption_with_a_formula_is_refused():
    """Nobody typesets it: the reader would see the dollars."""
    with pytest.raises(ValueError, match="plain text"):
        figures.framed("<svg></svg>", "The factor $\\gamma$ by round.")
    assert "The factor γ" in figures.framed("<svg></svg>", "The factor γ by round.")
