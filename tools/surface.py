"""Public names of the packages, each with the text and comments of its source.

A name is public if a room of the core, the core itself or the ledger offers it without
an underscore. It belongs to the room that it is defined in, and is called by the
shortest name that it can be imported by.
"""

import ast
import importlib
import inspect
import io
import re
import sys
import tokenize
import tomllib
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

from tools import paths

PACKAGES = ("fedlab_core", "fedlab_use", "fedlab_ledger")
ROOMS = (
    *("fedlab_core", "fedlab_core.data", "fedlab_core.partition"),
    *("fedlab_core.partition.scenarios", "fedlab_core.models", "fedlab_core.client"),
    *("fedlab_core.rounds", "fedlab_core.engine", "fedlab_core.metrics"),
    *("fedlab_use.analysis", "fedlab_core.methods", "fedlab_use"),
    "fedlab_ledger",
)

Fields = dict[str, str]  # something in words for each argument
Parameter = inspect.Parameter


@dataclass(frozen=True, eq=False)
class Name:
    """A public name: its import path, the room it belongs to, and its object."""

    full: str
    room: str
    thing: Any
    others: tuple[str, ...] = ()  # further names of the same thing in the same place

    @property
    def short(self) -> str:
        return self.full.rpartition(".")[2]

    @property
    def kind(self) -> str:
        """Kind of object in Sphinx's words."""
        if inspect.isclass(self.thing):
            wrong = issubclass(self.thing, BaseException)
            return "exception" if wrong else "class"
        return "function" if inspect.isroutine(self.thing) else "data"

    @property
    def called(self) -> Any:
        """The function that a call of it runs."""
        if not inspect.isclass(self.thing):
            return self.thing
        how = "__call__" if is_protocol(self.thing) else "__init__"
        return getattr(self.thing, how, self.thing)


def is_protocol(thing: Any) -> bool:
    return getattr(thing, "_is_protocol", False)


def is_ours(thing: Any) -> bool:
    return str(getattr(thing, "__module__", "")).startswith(PACKAGES)


def _offered(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name, thing in vars(module).items():
        if name[0] == "_" or isinstance(thing, (ModuleType, typing.TypeVar)):
            continue
        where = str(getattr(thing, "__module__", ""))
        if module.__name__.endswith(".scenarios") and where != module.__name__:
            if not name.isupper():
                continue  # a file, not a room: what it imports is not its own
        if name.isupper() or (is_ours(type(thing)) and not inspect.isclass(thing)):
            yield name, thing
        elif is_ours(thing) and callable(thing) and hasattr(thing, "__name__"):
            if not where.startswith("fedlab_core.arg") and name != "require":
                yield name, thing  # else it is what rooms are written with


@cache
def public() -> tuple[Name, ...]:
    """Every public name once, room by room."""
    places: dict[int, list[tuple[str, str]]] = {}
    things: dict[int, Any] = {}
    for room in ROOMS:
        for name, thing in _offered(importlib.import_module(room)):
            places.setdefault(id(thing), []).append((room, name))
            things[id(thing)] = thing
    found = []
    for key, known in places.items():
        thing = things[key]
        top = min((room for room, _ in known), key=lambda room: room.count("."))
        here = [name for room, name in known if room == top]
        own = getattr(thing, "__name__", "")  # of `run = federate`, the latter
        here.sort(key=lambda name: name != own)
        full, *others = (f"{top}.{name}" for name in here)
        home = _home(thing) if top == "fedlab_core" else top
        found.append(Name(full, home, thing, tuple(others)))
    return tuple(sorted(found, key=lambda name: ROOMS.index(name.room)))


def _home(thing: Any) -> str:
    """The room that something is defined in."""
    where = _holder(thing) if not hasattr(thing, "__name__") else thing.__module__
    rooms = [room for room in ROOMS if f"{where}.".startswith(f"{room}.")]
    return max(rooms, key=len)


def _holder(thing: Any) -> str:
    """Module that defines a record's class; else the deepest module that has it."""
    if is_ours(type(thing)):
        return type(thing).__module__
    have = [
        name
        for name, module in sorted(sys.modules.items())
        if name.startswith(PACKAGES) and any(v is thing for v in vars(module).values())
    ]
    return max(have, key=lambda name: name.count("."))


# -- the text of its source ------------------------------------------------------------


def hints(called: Any) -> dict[str, Any]:
    return typing.get_type_hints(called, include_extras=True)


def arguments(called: Any) -> dict[str, Parameter]:
    """Parameters of a callable, by name, without self and what is private."""
    asked = inspect.signature(called).parameters
    hidden = ("self", "cls")
    return {n: p for n, p in asked.items() if n not in hidden and n[0] != "_"}


def default(value: Any) -> str:
    """A default as one would type it: the same in every run."""
    if type(value).__name__ == "_HAS_DEFAULT_FACTORY_CLASS":
        return "..."
    if not (is_ours(type(value)) or is_ours(value)):
        if inspect.isbuiltin(value) or inspect.isclass(value):
            return f"{value.__module__}.{value.__name__}".removeprefix("builtins.")
        return repr(value)
    have = (sys.modules[name] for name in sorted(sys.modules)
            if name.startswith(PACKAGES))  # fmt: skip
    named = [n for module in have for n, v in vars(module).items() if v is value]
    return named[0] if named else f"{type(value).__name__}()"


def signature(called: Any) -> str:
    """The arguments with their defaults, as they are typed."""
    said = []
    for name, p in arguments(called).items():
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        if p.kind is p.KEYWORD_ONLY and not any(s[0] == "*" for s in said):
            said.append("*")
        value = "" if p.default is p.empty else f"={default(p.default)}"
        said.append(f"{stars}{name}{value}")
    return f"({', '.join(said)})"


def remarks(thing: Any) -> Fields:
    """The comments at the ends of the lines on which fields and arguments stand."""
    text = dedent(inspect.getsource(inspect.unwrap(thing)))
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    }
    node = ast.parse(text).body[0]
    if isinstance(node, ast.ClassDef):
        fields = (field for field in node.body if isinstance(field, ast.AnnAssign))
        lines = {ast.unparse(f.target): f.end_lineno or f.lineno for f in fields}
    else:
        assert isinstance(node, ast.FunctionDef)
        given = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
        lines = {arg.arg: arg.lineno for arg in given if arg.lineno != node.lineno}
    return {name: comments[at] for name, at in lines.items() if at in comments}


def told(thing: Any) -> tuple[str, Fields, str]:
    """A docstring's prose, its texts on arguments, and its text on what is refused."""
    prose, *blocks = re.split(
        r"\n\n(?=(?:Args|Raises):\n)", inspect.getdoc(thing) or ""
    )
    of: Fields = {}
    refused = ""
    for block in blocks:
        head, rest = block.split("\n", 1)
        entries = re.findall(r"(?m)^    (\w+): ((?:.|\n {8})*)", rest)
        plain = {name: " ".join(text.split()) for name, text in entries}
        if head == "Args:":
            of = plain
        else:
            refused = "; ".join(plain.values()).rstrip(".")
        after = re.split(r"\n\n(?=\S)", rest, maxsplit=1)[1:]
        prose = "\n\n".join([prose, *after])
    return prose.strip(), of, refused


@cache
def common() -> Fields:
    """The meaning of arguments by their name, or by their call and name."""
    return tomllib.loads((paths.ROOT / "tools" / "meanings.toml").read_text())


def meanings(thing: Any, called: Any, where: str) -> Fields:
    """The meaning of each argument: its own, its docstring's or comment's, or common.

    What is common stands in `meanings.toml`, and what is one call's own as "Call.name".
    """
    beside, known = told(thing)[1] | remarks(thing), common()
    asked = arguments(called)
    said = {n: beside.get(n, known.get(n, "")) for n in asked}
    own = {n: known[f"{where}.{n}"] for n in asked if f"{where}.{n}" in known}
    return {n: text for n, text in (said | own).items() if text}


def owner_of(make: Any) -> Any:
    """The function or record whose options a method's maker hands on, or None."""
    made = inspect.unwrap(getattr(make, "func", make))
    whose = re.search(
        r"`options`\s+are(?:\s+those)?\s+of\s+`(\w+)`", made.__doc__ or ""
    )
    return getattr(sys.modules[made.__module__], whose[1], None) if whose else None


def options_of(make: Any) -> Fields:
    """The options that a method's maker hands on, and their defaults.

    Each of the owner's options is tried, since the maker sets some itself.
    """
    found: Fields = {}
    of = owner_of(make)
    for name, p in arguments(of).items() if of else ():
        if name in (*arguments(make), "name", "scalars") or p.default is p.empty:
            continue
        try:
            make(**{name: p.default})
        except (TypeError, ValueError):
            continue
        found[name] = default(p.default)
    return found


def members(thing: type) -> Iterator[tuple[str, str, Any]]:
    """The documented methods and properties of a class: kind, name, and what runs."""
    for name, member in vars(thing).items():
        if isinstance(member, (property, cached_property)):
            kind = "property"
            plain = member.fget if isinstance(member, property) else member.func
        elif isinstance(member, classmethod):
            kind, plain = "classmethod", member.__func__
        else:
            kind, plain = "method", member
        if name[0] != "_" and inspect.isfunction(plain) and plain.__doc__:
            yield kind, name, plain


def source_of(thing: Any) -> tuple[Path, int]:
    """The file that something is written in, below the root, and the line."""
    plain = inspect.unwrap(thing)
    file = Path(inspect.getfile(plain)).resolve()
    return file.relative_to(paths.ROOT), inspect.getsourcelines(plain)[1]
