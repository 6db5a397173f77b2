"""README's moving picture: what is photographed, and how it is written down."""

from itertools import pairwise

import pytest
from PIL import Image, ImageSequence
from playwright.sync_api import Browser, Page

from tools import paths, poster

# A playground of one coloured square: red by the round, green with the second choice.
PAGE = """
<body style="margin: 0"><div class="pg-stage" style="width: 100px; height: 60px"></div>
<fieldset data-of="weigh"><label>size</label><label>equal</label></fieldset>
<button>One round</button><p class="pg-now">Round 0: begins</p>
<script>
  let green = 0;
  let round = 0;
  const show = () => {
    const [stage, now] = [".pg-stage", ".pg-now"].map((n) => document.querySelector(n));
    stage.style.background = `rgb(${10 * round} ${green} 0)`;
    now.textContent = `Round ${round}: ends`;
  };
  document.querySelectorAll("label").forEach((label, i) => {
    label.onclick = () => { [green, round] = [200 * i, 0]; show(); };
  });
  document.querySelector("button").onclick = () => { round += 1; show(); };
</script>
"""


@pytest.fixture
def page(browser: Browser):
    page = browser.new_page()
    page.set_content(PAGE)
    yield page
    page.close()


def test_every_round_of_every_choice_is_photographed(page: Page):
    """Of 100 x 60 pixels, nine tenths are 90 x 54."""
    taken = poster.pictures(page)
    assert {t.size for t in taken} == {(90, 54)}
    colours = [t.getpixel((45, 27)) for t in taken]
    rounds = range(1, poster.ROUNDS + 1)
    assert colours == [(10 * n, green, 0) for green in (0, 200) for n in rounds]


def test_it_is_written_as_it_was_taken_and_rests_on_its_last(tmp_path):
    """Colours are as few for all as the last picture has: here three."""
    shades = [(200, 0, 0), (0, 200, 0), (0, 0, 200)]
    last = Image.new("RGB", (9, 3))
    for i, shade in enumerate(shades):
        last.paste(shade, (3 * i, 0, 3 * i + 3, 3))
    taken = [Image.new("RGB", (9, 3), shade) for shade in shades[:2]] + [last]
    poster.write(tmp_path / "some.gif", taken)
    with Image.open(tmp_path / "some.gif") as file:
        frames = [f.convert("RGB") for f in ImageSequence.Iterator(file)]
        times = [frame.info["duration"] for frame in frames]
        read = [frame.getpixel((7, 1)) for frame in frames]
        assert file.info["loop"] == 0
    assert read == shades[:2] + shades[2:] and len(set(times[:-1])) == 1
    assert times[-1] > 10 * times[0]


def test_without_a_site_it_says_what_to_do(tmp_path, capsys):
    assert poster.main(["--root", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert "run `make book` first" in said.err and not said.out
    assert not (tmp_path / poster.FILE).exists()


def test_the_picture_of_the_readme_is_one_of_this_tool():
    """As many pictures as rounds of all choices; no two that follow are alike."""
    assert f"({poster.FILE.as_posix()})" in (paths.ROOT / "README.md").read_text()
    with Image.open(paths.ROOT / poster.FILE) as file:
        frames = [f.convert("RGB").tobytes() for f in ImageSequence.Iterator(file)]
    assert len(frames) == len(poster.CHOICES) * poster.ROUNDS
    assert all(a != b for a, b in pairwise(frames))
