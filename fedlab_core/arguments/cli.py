"""Arguments of the command line: one clear line for what is wrong, nothing dropped."""

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn, get_args

from fedlab_core.arguments.annotations import shown
from fedlab_core.arguments.validators import Unfit, kind_of
from fedlab_core.errors import require


class Once(argparse.Action):
    """Store what is given; what is given twice is refused, not dropped."""

    def __call__(self, parser, namespace, values, option_string=None):
        if self.dest in (given := vars(namespace).setdefault("_given", set())):
            raise argparse.ArgumentError(self, "given twice")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """Bad input gives one line and exit code 2; an option is not to be guessed."""

    def __init__(self, **options):
        super().__init__(allow_abbrev=False, **options)
        for name in (None, "store"):
            self.register("action", name, Once)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def option(hint: Any) -> Callable[[str], Any]:
    """A reader of such numbers from the command line."""
    kind, read = kind_of(hint), get_args(hint)[0]

    def number(text: str) -> Any:
        try:
            plain = text.isascii() and "_" not in text  # Python reads 1_0 as 10
            return kind.fit(read(text if plain else ""), {})
        except (ValueError, Unfit) as error:
            fault = isinstance(error, Unfit) and error.args[0] or shown(text)
            said = f"must be {kind.words}, not {fault}"
            raise argparse.ArgumentTypeError(said) from None

    return number


def as_note(message: Warning | str, *where: object, **more: object) -> None:
    """A warning in one line, without the place in the program that gave it."""
    print(f"fedlab_core: note: {message}", file=sys.stderr)


def plain(text: object) -> str:
    """The same without what would steer a terminal."""
    return "".join(c if c.isprintable() else "?" for c in str(text))


def silence() -> None:
    """Let what is still to be printed go nowhere: nobody can take it."""
    with suppress(io.UnsupportedOperation):  # of what is no file, as in a notebook
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def set_by(pairs: Sequence[str]) -> dict[str, bool | int | float | str]:
    """Options by name, from every "NAME=VALUE" after --set."""
    options: dict[str, bool | int | float | str] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        require(bool(name and value), f"--set: NAME=VALUE, not {pair!r}")
        require(name not in options, f"--set: {name} is given twice")
        options[name] = _value(value)
    return options


def _value(text: str) -> bool | int | float | str:
    """Turn a word into a number or a truth value, or leave it a word."""
    true, false = ("true", "yes", "on"), ("false", "no", "off")
    for read in (int, float) if "_" not in text else ():
        try:
            return read(text)
        except ValueError:
            continue
    return text.lower() in true if text.lower() in (*true, *false) else text
