"""The playground below the site: its page's scripts, and the files that they ask for.

What is exported takes minutes, so it is kept until the code that it is made by changes,
beside the data sets and below `_build`; the scripts are no part of that. A story that
promises what is not there ends the build.
"""

import hashlib
import shutil
from pathlib import Path

from fedlab_book.html import macros
from fedlab_browser.playground import page_file, presets

FOLDER = "playground"  # in the site's _static
_SOURCES = ("fedlab_core", "fedlab_browser", "fedlab_ledger/model/verdict.py")
_PAGE = """\
---
html_theme.sidebar_secondary.remove: true
---
# A federation in your browser

Ten clients learn to read letters that they show to nobody: a server sends a model
around, each client trains it, and the server averages what comes back. That is a
*round*.

`````{{raw}} html
<link rel="stylesheet" href="../_static/{folder}/playground.css">
<div data-playground="">
<p>The playground runs once JavaScript does, and the page comes from a server:
<code>make serve</code> is one.</p>
<noscript><img src="../_static/playground.gif" width="686" height="514"
alt="Ten clients train, each counted by its size; then all count the same, and the curve
of the letters that are read ends higher."></noscript>
</div>
<h2 id="stories">Stories to play</h2>
<p>Each sets everything above. Press <em>Play</em>, then follow its second link and
press it again. What a story compares is drawn as a thick line over its last five
rounds. Whenever this book is built, each is played as this page plays it, and with five
seeds; the build stops at one that does not come out so. How far an effect holds
elsewhere is what the chapters and the ledger are about.</p>
<ul class="pg-presets">
{presets}
</ul>
`````

Think of hospitals: they are the clients, their records the letters. Clients that hold
different letters walk apart while they train, which is called *drift*, and much of what
they learnt cancels in the average.

Everything is trained on your machine. What a client, a weighing rule and a server do is
traced from the code that the chapters run, as small programs
(`python -m fedlab_core trace`), so the numbers are the core's but for rounding. After
many rounds a rounding can tip a unit of the network from off to on, and two runs part
in the third digit; pFedMe, which takes five steps within each step, meets that first.
"""


def page() -> str:
    """The page, as Markdown."""
    story = macros("page", "tools").story
    stories = map(story, presets.PRESETS)
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
        (folder / "data").mkdir()
        for name, content in page_file.kept().items():
            (folder / "data" / name).write_bytes(content)
        stamp.write_text(mark)
    for name, content in page_file.scripts().items():
        (folder / name).write_bytes(content)
    return folder


def _fingerprint(root: Path) -> str:
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for source in _SOURCES:
        at = root / source
        for path in sorted(at.rglob("*") if at.is_dir() else [at]):
            if path.is_file() and path.suffix == ".py":
                digest.update(path.read_bytes())
    return digest.hexdigest()


def write(root: Path, static: Path) -> None:
    """Put the playground below the site's `_static`."""
    ignore = shutil.ignore_patterns(".made")
    shutil.copytree(made(root), static / FOLDER, ignore=ignore)
