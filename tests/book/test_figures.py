import json
import re
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from markupsafe import Markup
from matplotlib.colors import to_rgb

from fedlab_book import figures

ALT = "One line that rises from zero to one over ten rounds"
PAGE = Path(figures.__file__).parents[1] / "fedlab_browser/playground/page"
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


@pytest.mark.parametrize("color", [*figures.PALETTE.values(), *figures.LETTERS])
def test_colours_stand_out_from_both_backgrounds(color):
    # WCAG 2.1, 1.4.11: parts of a graphic need 3:1
    assert contrast(color, LIGHT) >= 3
    assert contrast(color, DARK) >= 3


# Machado, Oliveira and Fernandes (2009), Table 1: linear RGB as somebody sees it who
# has no pigment for green, or none for red.
SEEN = {
    "by most": np.eye(3),
    "with deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "with protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}
# To CIE XYZ under D65, relative to white.
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
) / np.array([[0.95047], [1.0], [1.08883]])
VERDICTS = Path(__file__).parents[2] / "book" / "_static" / "verdicts.css"


def lab(color: str, seen: np.ndarray) -> np.ndarray:
    """A colour in CIE L*a*b*, in which distances are about as large as they look."""
    channels = np.array(to_rgb(color))
    low, high = channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
    linear = np.clip(seen @ np.where(channels <= 0.04045, low, high), 0, 1)
    x, y, z = (
        t ** (1 / 3) if t > 0.008856 else 7.787 * t + 4 / 29 for t in TO_XYZ @ linear
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def apart(one: str, other: str) -> float:
    """How far two colours are from each other for whoever sees them worst."""
    gaps = (np.linalg.norm(lab(one, s) - lab(other, s)) for s in SEEN.values())
    return float(min(gaps))


def test_the_distance_of_colours_is_right():
    # black and white differ by 100 in lightness and in nothing else, for everybody
    assert apart("#000000", "#ffffff") == pytest.approx(100, abs=0.1)
    # a red and a green of like lightness: far from each other but for the colour blind
    red, green = "#c83c28", "#648200"
    far, near = (
        np.linalg.norm(lab(red, SEEN[who]) - lab(green, SEEN[who]))
        for who in ("by most", "with deuteranopia")
    )
    assert far > 4 * near


def test_no_two_colours_are_alike_for_the_colour_blind():
    for one, other in combinations(figures.PALETTE.values(), 2):
        assert apart(one, other) > 15, (one, other)
        seen = [lab(color, SEEN["by most"]) for color in (one, other)]
        assert np.linalg.norm(seen[0] - seen[1]) > 28, (one, other)


def test_methods_drawn_as_solid_lines_are_far_apart_for_the_colour_blind():
    solid = [look.color for look in figures.LOOKS.values() if look.linestyle == "-"]
    for one, other in combinations(solid, 2):
        assert apart(one, other) > 23, (one, other)


def test_no_two_verdicts_look_alike_for_the_colour_blind():
    marks = re.findall(r"border-left: \S+ (\w+) (#\w+);", VERDICTS.read_text())
    assert len(marks) == 6
    for (line, color), (other_line, other) in combinations(marks, 2):
        assert apart(color, other) > 23 or line != other_line
        assert apart(color, other) > 15
    assert {color for _, color in marks} <= set(figures.PALETTE.values())


def test_letters_have_the_colours_of_the_playground():
    (line,) = re.findall(
        r"const CLASSES = (\[.+\]);", (PAGE / "pictures.js").read_text()
    )
    assert json.loads(line) == list(figures.LETTERS) and len(set(figures.LETTERS)) == 10


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
        '<svg role="img" aria-label="Rises &#34;fast&#34; &amp; far'
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


@pytest.mark.parametrize("render", [figures.svg, figures.show])
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


@pytest.mark.slow
def test_every_drawing_closes_its_figure():
    for render in (figures.svg, figures.show):
        render(line(), ALT)
    assert plt.get_fignums() == []


def test_show_writes_the_caption_as_text():
    shown = str(figures.show(line(), ALT, caption="a < b").data)
    assert shown.startswith('<figure class="fl-figure">')
    assert "<figcaption>a &lt; b</figcaption>" in shown
    assert "<figcaption" not in str(figures.show(line(), ALT).data)


def test_a_caption_with_a_formula_is_refused():
    """Nobody typesets it: the reader would see the dollars."""
    with pytest.raises(ValueError, match="plain text"):
        figures.framed(Markup("<svg></svg>"), "The factor $\\gamma$ by round.")
    assert "The factor γ" in figures.framed(
        Markup("<svg></svg>"), "The factor γ by round."
    )
