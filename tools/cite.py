"""Citation and licence of the book, from CITATION.cff and LICENSE, typed once."""

import re
from pathlib import Path
from typing import Any

import yaml


def write(root: Path, to: Path) -> None:
    """Write the texts that the page `book/cite` includes to the folder `to`."""
    known = yaml.safe_load((root / "CITATION.cff").read_text())
    said = {
        "citation.txt": plain(known),
        "citation.bib": bibtex(known),
        "LICENSE": (root / "LICENSE").read_text(),
    }
    to.mkdir(exist_ok=True)
    for name, text in said.items():
        (to / name).write_text(text)


def plain(known: dict[str, Any]) -> str:
    who = ", ".join(_person(author) for author in known["authors"])
    where = f" {known['url']}" if "url" in known else ""
    return f"{who}. {known['title']}. Version {known['version']}.{where}\n"


def bibtex(known: dict[str, Any]) -> str:
    fields = {
        "title": known["title"],
        "author": " and ".join(_last_first(author) for author in known["authors"]),
        "version": known["version"],
        "year": str(known.get("date-released", ""))[:4],
        "license": known["license"],
        "url": known.get("url", ""),
    }
    lines = [f"  {name:<7} = {{{value}}}," for name, value in fields.items() if value]
    key = re.sub(r"\W+", "", known["title"].split("?")[0].split(":")[0]).lower()
    return "\n".join([f"@software{{{key},", *lines, "}"]) + "\n"


def _person(author: dict[str, str]) -> str:
    given = [author.get("given-names", ""), author.get("family-names", "")]
    return author.get("name") or " ".join(filter(None, given))


def _last_first(author: dict[str, str]) -> str:
    """Family name first, as BibTeX wants it; the name of a group in one piece."""
    if "name" in author:
        return f"{{{author['name']}}}"
    return f"{author['family-names']}, {author['given-names']}"
