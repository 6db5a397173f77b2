"""Build the site from the executed copies, the prose and the fetched assets.

Everything is staged in one tree that mirrors the repository, built beside the present
site and put in its place only if the build was clean: no stale page, no half site.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from tools import (
    assets,
    card,
    cite,
    course,
    explorer,
    gallery,
    launch,
    lessons,
    moved,
    paths,
    playground,
    publish,
    reference,
    slides,
)

VENDOR = "vendor"  # the assets' place below the site's _static


class BuildError(Exception):
    """The site could not be built; the message says why in one line."""


def stage(root: Path) -> None:
    """Mirror config, prose and assets beside the executed notebooks."""
    to = paths.stage(root)
    shutil.rmtree(to / "book", ignore_errors=True)
    shutil.copytree(root / "book", to / "book")
    for table in (root / "results").glob("*.csv"):  # which pages show as they are
        (to / "results").mkdir(exist_ok=True)
        shutil.copy(table, to / "results")
    if _is_the_book(root):
        for name, text in generated().items():
            (to / "book" / f"{name}.md").write_text(text)
        reference.copy_sources(to / "book" / reference.SOURCES)
        explorer.write(to / "book" / "_static")
        playground.write(paths.ROOT, to / "book" / "_static")
    config = yaml.safe_load((root / "_config.yml").read_text())
    if assets.assets_ready(paths.assets(root)):
        for folder in assets.SITE_FOLDERS:
            vendor = to / "book" / "_static" / VENDOR / folder
            shutil.copytree(paths.assets(root) / folder, vendor)
        config["sphinx"]["config"].update(_own_hosts())
    config |= launch.buttons(config)
    if (root / "CITATION.cff").is_file():
        cite.write(root, to / "said")
    static = to / "book" / "_static"
    static.mkdir(exist_ok=True)
    card.draw(static / "card.png")
    (to / "_config.yml").write_text(yaml.safe_dump(config, sort_keys=False))


def _is_the_book(root: Path) -> bool:
    """Whether it has the pages that are made from our packages."""
    return "book/api" in (root / "book" / "_toc.yml").read_text()


def generated() -> dict[str, str]:
    """The pages made from the packages and the results, by their names in `book/`."""
    pages = {"methods": gallery.page(), "claims": explorer.page()}
    pages["playground"] = playground.page()
    pages["lessons"] = lessons.page(course.chapters(paths.ROOT))
    return pages | reference.pages()


def _own_hosts() -> dict[str, Any]:
    """Settings that make pages load their scripts from the site itself."""
    return {"mathjax_path": f"{VENDOR}/mathjax/tex-mml-chtml.js"}


def fingerprint(root: Path) -> str:
    """Hash of the staged tree and of the versions that turn it into pages."""
    digest = hashlib.sha256((root / "requirements.lock").read_bytes())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    tree = paths.stage(root)
    for path in sorted(p for p in tree.rglob("*") if p.is_file()):
        digest.update(f"\n{path.relative_to(tree)}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def build(root: Path) -> bool:
    """Bring the site up to date; False if it already was."""
    stage(root)
    site, mark = paths.site(root), fingerprint(root)
    stamp = site / ".fingerprint"
    if stamp.is_file() and stamp.read_text() == mark:
        return False
    scratch = root / "_build" / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    _run_jupyter_book(paths.stage(root), scratch)
    _finish(scratch / "_build" / "html")
    config = yaml.safe_load((root / "_config.yml").read_text())
    address = config.get("html", {}).get("baseurl", "")
    if _is_the_book(root):
        names = [path.stem for path in course.chapters(root)]
        slides.write(scratch / "_build" / "html", names, address)
    publish.publish(scratch / "_build" / "html", address)
    if _is_the_book(root):
        moved.write(scratch / "_build" / "html")
    shutil.rmtree(site, ignore_errors=True)
    shutil.move(scratch / "_build" / "html", site)
    shutil.rmtree(scratch)
    stamp.write_text(mark)
    return True


def _finish(site: Path) -> None:
    """Mend the built pages where the theme has no setting for it."""
    for path in site.rglob("*.html"):
        page = path.read_text()
        path.write_text(percents_held(toggles_named(light(page))))
    shutil.rmtree(site / "_static" / "vendor" / "fontawesome", ignore_errors=True)
    search = site / "search.html"
    order = '<script defer src="_static/scorer.js"></script>\n'
    before = re.compile(r"(?=<script [^>]*searchtools)")
    search.write_text(before.sub(order, search.read_text(), count=1))
    front = site / "index.html"
    to = re.search(r"url=([^\"]+)", front.read_text())
    if to:  # a page that leads to the first one says the same to those who link to it
        first = (site / to[1]).read_text()
        up = "../" * to[1].count("/")
        said = re.findall(
            r'<title>.*?</title>|<meta (?:property|name="(?:tw|de))[^>]*>'
            r'|<link rel="icon"[^>]*>',
            first,
        )
        head = front.read_text().rstrip() + "\n" + "\n".join(said).replace(up, "")
        front.write_text(f'<!doctype html>\n<html lang="en">\n{head}\n</html>\n')


def toggles_named(page: str) -> str:
    """The page, with a label on every arrow of its table of contents."""
    arrow = r'<summary>(?=<span class="toctree-toggle")'
    return re.sub(arrow, '<summary aria-label="The pages below this one">', page)


def light(page: str) -> str:
    """The page, painted before its scripts run, with our icons for the theme's.

    The theme's come as a script and three fonts, 840 kB; `icons.css` draws those that
    its markup names.
    """
    page = re.sub(r"<link [^>]*/fontawesome/[^>]*>\n?", "", page)
    page = page.replace(' aria-label="Toggle hidden content"', "")  # it has a name
    page = re.sub(r"<script [^>]*/fontawesome/[^>]*></script>\n?", "", page)
    return re.sub(
        r'<script (?!defer)([^>]*src="(?![^"]*documentation_options\.js))',
        r"<script defer \1",
        page,
    )


def percents_held(page: str) -> str:
    """The page, on which no line of text can begin with a percent sign."""
    verbatim = r"<(pre|code|script|style|svg)\b.*?</\1>"
    return re.sub(
        rf"{verbatim}|(?<=\d) %",
        lambda found: found[0] if found[1] else "\u00a0%",
        page,
        flags=re.DOTALL,
    )


def _run_jupyter_book(source: Path, to: Path) -> None:
    run = "from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", run, "build", str(source)]
    command += ["--path-output", str(to), "--toc", str(source / "book" / "_toc.yml")]
    command += ["-W", "-n", "--keep-going", "--all"]
    done = subprocess.run(
        command,
        cwd=paths.ROOT,  # where the extension tools.page is found
        env={**os.environ, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        complaints = [
            line.replace(f"{source}/", "")
            for line in done.stdout.splitlines()
            if "WARNING" in line or "ERROR" in line
        ]
        print(done.stdout if not complaints else "\n".join(complaints))
        raise BuildError("the site was not built; what is wrong stands above")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.build", description=__doc__)
    parser.add_argument("--root", type=Path, default=paths.ROOT)
    root = parser.parse_args(arguments).root.resolve()
    try:
        rebuilt = build(root)
    except (BuildError, OSError, ValueError) as error:
        shutil.rmtree(paths.site(root), ignore_errors=True)
        print(f"error: {error}", file=sys.stderr)
        return 1
    print("  built" if rebuilt else "  up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
