"""Numbers of pages below a chapter: 4a and 4b, not 4.9 and 4.10 after its sections."""

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

Number = Sequence[int | str]


def lettered(
    below: Mapping[str, Sequence[str]], numbers: Mapping[str, Mapping[str, Number]]
) -> dict[str, str]:
    """The number of every page that stands below a numbered one, as 4a."""
    found = {}
    for chapter, pages in below.items():
        number = numbers.get(chapter, {}).get("", ())
        if len(number) == 1:
            pairs = zip(pages, ascii_lowercase, strict=False)
            found |= {page: f"{number[0]}{letter}" for page, letter in pairs}
    return found


def _when_numbered(app: Sphinx, env: Any) -> list[str]:
    """Give them to the pages, their sections, and the table of contents."""
    own = lettered(env.toctree_includes, env.toc_secnumbers)
    for page, name in own.items():
        first = len(env.toc_secnumbers[page].get("", ()))
        if not first:
            continue

        def renamed(number: Number, name: str = name, first: int = first) -> list:
            return [name, *number[first:]]

        sections = env.toc_secnumbers[page]
        env.toc_secnumbers[page] = {
            k: tuple(renamed(v)) if v else v for k, v in sections.items()
        }
        env.titles[page]["secnumber"] = [name]
        for link in env.tocs[page].findall(nodes.reference):
            if link.get("secnumber"):
                link["secnumber"] = renamed(link["secnumber"])
    return list(own)


def setup(app: Sphinx) -> dict[str, bool]:
    # After the numbers that Sphinx gives.
    app.connect("env-get-updated", _when_numbered, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
