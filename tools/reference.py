"""The reference: a page or several of what `surface` finds, written for each build.

What an argument may be stands there in the words that refuse a wrong one: those of
`fedlab_core.arguments`. A name in backticks that is public becomes a link.
"""

import importlib
import inspect
import re
import shutil
import typing
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fedlab_core.arguments import kind_of
from tools import examples, paths, surface
from tools.surface import Name, Parameter

SOURCES = "_static/source"  # of the site: the packages' files, as text


@dataclass(frozen=True)
class Page:
    """A page: its title, what it begins with, and its rooms by their headings."""

    title: str
    intro: str
    rooms: dict[str, str]


PAGES = {
    "api_data": Page(
        "API: data, and who holds it",
        "What is learnt, and how it is shared out among clients: as papers do it, or "
        "as you say. {doc}`../notebooks/your_own_data` shows the way.",
        {
            "Data": "fedlab_core.data",
            "Who holds what": "fedlab_core.partition",
            "More than a split": "fedlab_core.partition.scenarios",
        },
    ),
    "api_models": Page(
        "API: networks and clients",
        "What is trained, and what a client does with it in a round. "
        "{doc}`../notebooks/your_own_model` shows the way.",
        {"Networks": "fedlab_core.models", "What a client does": "fedlab_core.client"},
    ),
    "api_rounds": Page(
        "API: worlds, rounds and the engine",
        "Where a method is played, the choices that make one, the loop, what trains "
        "many clients at once. {doc}`../notebooks/your_own_method` shows the way.",
        {
            "A world, a method, the loop": "fedlab_core.rounds",
            "Many clients at once": "fedlab_core.engine",
            "What is refused": "fedlab_core",
        },
    ),
    "api_metrics": Page(
        "API: what is measured",
        "What a round reports, and what the papers measure to explain a result.",
        {
            "What is measured in a round": "fedlab_core.metrics",
            "What explains a result": "fedlab_use.analysis",
        },
    ),
    "api_methods": Page(
        "API: the methods",
        "The makers of methods. Each takes how clients train and options of its own, "
        "and gives a method to play. {doc}`methods` has them side by side.",
        {"Methods": "fedlab_core.methods"},
    ),
    "api_use": Page(
        "API: keep, watch, stop",
        "What stands around training: files, tables, observers. Each name is one of "
        "`fl`, too, as `fl.save_model`. {doc}`../notebooks/keep_and_continue` shows "
        "the way.",
        {"Around a run": "fedlab_use"},
    ),
    "api_ledger": Page(
        "API: the ledger",
        "What holds the papers' numbers against ours. Most work with it goes through "
        "the command line, as in `python -m fedlab_core run feddisco/table1`; this is "
        "what that calls.",
        {"The ledger": "fedlab_ledger"},
    ),
}
_CONTENTS = """\
# API reference

Every public name of the packages: {names} of them, each with what it takes, what it
gives back, and where its source is. The pages are made from the signatures and
docstrings whenever the book is built.

Functions and records each have an **example**, which the tests run. All of them stand
on these lines. `folder` is an empty folder, `found` what the ledger has measured,
`fedlab_ledger.report.book.opened().found`.

```python
{setup}
```

New here? {{doc}}`../notebooks/your_own_data`, {{doc}}`../notebooks/your_own_model` and
{{doc}}`../notebooks/your_own_method` need a screen or two each.

**What an argument may be** is said in words, and they are the ones that a wrong value
is refused with: a call is held to its signature before anything else happens, and what
does not fit is one line, an {{py:obj}}`InputError <fedlab_core.InputError>`.

{rooms}
"""


# -- text ----------------------------------------------------------------------------


@cache
def _meant() -> dict[str, str]:
    """The full name behind each way to say one, but where it could be two things."""
    meant: dict[str, set[str]] = {}
    for name in surface.public():
        for full in (name.full, *name.others):
            inside = full.removeprefix("fedlab_core.")
            for said in (name.short, full, inside, f"fl.{inside}"):
                meant.setdefault(said, set()).add(name.full)
    return {said: full.pop() for said, full in meant.items() if len(full) == 1}


def link(full: str, said: str = "") -> str:
    """A name as a link to where it is described."""
    return f"{{py:obj}}`{said or full.rpartition('.')[2]} <{full}>`"


def escaped(text: str) -> str:
    """Text in which Markdown sees nothing but text."""
    return re.sub(r"([*<$\[\]{}|])", r"\\\1", text)


def linked(text: str, own: Collection[str] = ()) -> str:
    """Prose of a docstring as Markdown: public names in backticks become links.

    But those in `own`: there the text means an argument, not something public.
    """

    def plain(part: str) -> str:
        if part[:1] != "`":
            return escaped(part)
        inside = " ".join(part.strip("`").split())
        full = None if inside in own else _meant().get(re.sub(r"\(.*", "", inside))
        return link(full, inside) if full else f"`{inside}`"

    blocks = []
    for block in text.split("\n\n"):
        verbatim = all(line.startswith("    ") for line in block.splitlines())
        parts = re.split(r"(`[^`]+`)", block)
        blocks.append(block if verbatim else "".join(map(plain, parts)))
    return "\n\n".join(blocks)


def words(hint: Any) -> str:
    """Values allowed, in the words of the error for others; records are links."""
    said = "anything" if hint is Parameter.empty else kind_of(hint).words
    said = escaped(said).replace("_", r"\_")
    leaves = _leaves(hint)
    for name in surface.public():
        if not any(leaf is name.thing for leaf in leaves):
            continue
        if surface.is_protocol(name.thing):
            said += f", as {link(name.full)}"
        else:
            said = re.sub(rf"\b(an?) {name.short}\b", rf"\1 {link(name.full)}", said)
    return said


def _leaves(hint: Any) -> list[Any]:
    inside = typing.get_args(hint)
    return [leaf for part in inside for leaf in _leaves(part)] if inside else [hint]


# -- one name ------------------------------------------------------------------------


def directive(kind: str, head: str, body: list[str], *flags: str) -> str:
    """An object as Sphinx's Python domain has it, with what stands below it."""
    inside = "\n".join([*flags, "", *body]).strip("\n")
    fence = ":" * (4 if ":::{" in inside else 3)
    return f"{fence}{{py:{kind}}} {head}\n{inside}\n{fence}\n"


def described(name: Name) -> str:
    """A name: its signature, what may be passed, what it is for, and where it is."""
    if name.kind == "data":
        return directive("data", name.full, [_content(name.thing)])
    body = _call(name.thing, name.called, name.short)
    if name.kind == "exception":
        return directive("exception", name.full, [body[0], "", _where(name.thing)])
    if surface.options_of(name.thing):
        body += ["", "Options besides, with their defaults:", ""]
        body += options(name.thing, surface.options_of(name.thing))
    if name.others:
        body += [
            "",
            "Also " + " and ".join(f"`{other}`" for other in name.others) + ".",
        ]
    if inspect.isclass(name.thing):
        for kind, member, plain in surface.members(name.thing):
            body += ["", _member(kind, f"{name.short}.{member}", plain)]
    if shown := examples.examples().get(name.short):
        body += ["", "Example:", "", "```python", *shown.splitlines(), "```"]
    head = name.full + surface.signature(name.called)
    return directive(name.kind, head, [*body, "", _where(name.thing)])


def options(make: Any, given: dict[str, str]) -> list[str]:
    """Lines of a list: a method's options with these defaults, and what each means."""
    made, of = inspect.unwrap(getattr(make, "func", make)), surface.owner_of(make)
    said = surface.meanings(of, of, of.__name__) if of else {}
    said |= surface.meanings(made, made, made.__name__)
    own = set(said)
    return [f"- `{n}={v}`: {linked(said[n], own)}" for n, v in given.items()]


def _call(thing: Any, called: Any, where: str) -> list[str]:
    """Lines on a thing, and on the arguments that it is called with."""
    prose, _, refused = surface.told(thing)
    hints, said = surface.hints(called), surface.meanings(thing, called, where)
    asked = surface.arguments(called)
    lines = [linked(prose, asked), ""]
    for name, p in asked.items():
        if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
            what = words(hints.get(name, Parameter.empty))
            more = f": {linked(said[name], asked)}" if name in said else ""
            lines.append(f":param {name}: {what}{more}")
    gives = hints.get("return", type(None))
    if gives is not type(None) and not inspect.isclass(thing):
        lines.append(f":returns: {words(gives)}")
    return [*lines, "", f"Refused: {linked(refused)}."] if refused else lines


def _member(kind: str, full: str, plain: Any) -> str:
    name = full.rpartition(".")[2]
    if kind == "property":
        return directive("property", name, [linked(surface.told(plain)[0])])
    head = name + surface.signature(plain)
    flags = [":classmethod:"] if kind == "classmethod" else []
    return directive("method", head, _call(plain, plain, full), *flags)


def _content(value: Any) -> str:
    """Contents of a constant."""
    names = list(value) if isinstance(value, (dict, tuple)) else []
    if names and all(isinstance(name, str) for name in names):
        return "By name: " + ", ".join(f"`{name}`" for name in names) + "."
    if surface.is_ours(type(value)):
        which = getattr(value, "name", "") or "without arguments"
        return f"A{words(type(value))[1:]}: {which}."
    return f"`{value!r}`"


def _where(thing: Any) -> str:
    file, line = surface.source_of(thing)
    kind = "class" if inspect.isclass(thing) else "def"
    at = f"{file.as_posix()}.txt#:~:text={kind}%20{inspect.unwrap(thing).__name__}"
    link = f'<a href="../{SOURCES}/{at}">{file.as_posix()}</a>'
    return f'<p class="fl-where">Source: {link}, line {line}</p>'


# -- the pages -----------------------------------------------------------------------


def page(name: str) -> str:
    """A page of the reference, as Markdown."""
    made = PAGES[name]
    stand = "Examples stand on the lines of {doc}`api`."
    parts = [f"# {made.title}\n\n{made.intro} {stand}\n"]
    for heading, room in made.rooms.items():
        here = [n for n in surface.public() if n.room == room]
        about = inspect.getdoc(importlib.import_module(room)) or ""
        about = linked(about.split("\n\n")[0]) if room not in surface.PACKAGES else ""
        parts.append(f"({_anchor(room)})=\n## {heading}\n\n`{room}`. {about}\n")
        parts += [described(n) for n in here]
    return "\n".join(parts)


def contents() -> str:
    """The first page: every name, room by room, as a link."""
    rooms = []
    for made in PAGES.values():
        for heading, room in made.rooms.items():
            here = [n for n in surface.public() if n.room == room]
            names = ", ".join(link(n.full) for n in here)
            rooms.append(f"{{ref}}`{heading} <{_anchor(room)}>`\n: {names}\n")
    names, lines = len(surface.public()), "\n".join(rooms)
    return _CONTENTS.format(names=names, rooms=lines, setup=examples.setup())


def _anchor(room: str) -> str:
    return "api-" + room.replace(".", "-").replace("_", "-")


def pages() -> dict[str, str]:
    """All of it: Markdown by the name of the page."""
    return {"api": contents()} | {name: page(name) for name in PAGES}


def copy_sources(to: Path) -> None:
    """The packages' files as text, below the site's static folder."""
    for package in surface.PACKAGES:
        for file in (paths.ROOT / package).rglob("*.py"):
            place = to / f"{file.relative_to(paths.ROOT)}.txt"
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place)
