"""The playground below the site: its page's scripts, and the files that they ask for.

What is exported takes a minute, so it is kept below `_build` until the code that it is
made by changes. A preset that promises what is not there ends the build.
"""

import hashlib
import shutil
from pathlib import Path

from fedlab_book.html import macros
from fedlab_browser.playground import export, page_file, presets

FOLDER = "playground"  # in the site's _static
_SOURCES = ("fedlab_core", "fedlab_browser", "fedlab_ledger/model/verdict.py")
_PAGE = """\
---
html_theme.sidebar_secondary.remove: true
---
# A federation in your browser

Ten clients learn to read ten letters, and none of them shows its letters to anyone. A
server sends a model around, every client trains it on its own letters, and the server
averages what comes back: that is a *round*. (Think of hospitals: they are the clients,
their records the letters.) Clients that hold different letters walk apart while they
train, which is called *drift*, and much of what they learnt cancels in the average.
Everything is trained here and now, on your machine, by the rules of the chapters.
Choose, press *Play*, and compare; or begin with one of the stories below.

`````{{raw}} html
<link rel="stylesheet" href="../_static/{folder}/playground.css">
<div data-playground="">
<p>The playground runs once JavaScript does, and the page comes from a server:
<code>make serve</code> is one.</p>
</div>
<h2 id="stories">Stories to play</h2>
<p>Each of these sets everything above; press <em>Play</em>, then follow the second
link and press it again. They were chosen because their effect shows on these letters,
which need not be higher accuracy: each says what is compared. Whenever this book is
built they are played with five seeds, and the build stops where those cannot tell the
two apart. How far an effect holds elsewhere is what the chapters and the ledger are
about.</p>
<ul class="pg-presets">
{presets}
</ul>
`````

The rules are not written again for this page. What a client, a weighing rule and a
server do is traced from the code that the chapters run, as small programs of loops
(`python -m fedlab_core trace`), and the page runs these. So its numbers are those of
the core but for rounding: below the pictures is the command that repeats them in
Python. After many rounds a rounding can tip a unit of the network from off to on, and
two runs part in the third digit; pFedMe, which takes five steps within each step, meets
that first.
"""


def page() -> str:
    """The page, as Markdown."""
    story = macros("page", "tools").story
    measures = (("own" if p.what == "own" else "accuracy") for p in presets.PRESETS)
    stories = map(story, presets.PRESETS, measures)
    return _PAGE.format(folder=FOLDER, presets="\n".join(stories))


def made(root: Path) -> Path:
    """The folder with everything that the page asks for, made anew if need be."""
    folder = root / "_build" / FOLDER
    stamp, mark = folder / ".made", _fingerprint(root)
    if not (stamp.is_file() and stamp.read_text() == mark):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        print(
            "  the playground: its rules, traced, and its stories, played", flush=True
        )
        presets.keep(presets.PRESETS)
        export.write(folder / "data")
        for name, content in page_file.scripts().items():
            (folder / name).write_bytes(content)
        stamp.write_text(mark)
    return folder


def _fingerprint(root: Path) -> str:
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for source in _SOURCES:
        at = root / source
        for path in sorted(at.rglob("*") if at.is_dir() else [at]):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(path.read_bytes())
    return digest.hexdigest()


def write(root: Path, static: Path) -> None:
    """Put the playground below the site's `_static`."""
    ignore = shutil.ignore_patterns(".made")
    shutil.copytree(made(root), static / FOLDER, ignore=ignore)
