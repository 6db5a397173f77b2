"""A command's options as a TOML file, written and read again."""

import argparse
import json
import tomllib
from pathlib import Path
from typing import Any

from fedlab_core.atomic_files import replacing
from fedlab_core.errors import InputError, require

_NOT_KEPT = ("toml", "force")  # they say what becomes of this file
Options = dict[str, Any]


def _asked(args: argparse.Namespace, parser: argparse.ArgumentParser) -> Options:
    """The options that differ from what they are when nothing is said, by name."""
    found: Options = {}
    for action in parser._actions:
        name = (action.option_strings or [action.dest])[0].lstrip("-")
        value = getattr(args, action.dest, action.default)
        if value != action.default and name not in _NOT_KEPT:
            found[name] = value
    return found


def write_settings(args: argparse.Namespace, path: Path) -> None:
    """Write a file whose name can be given in place of the data set."""
    asked = _asked(args, args.parser)
    lines = [f"{name} = {json.dumps(value)}" for name, value in asked.items()]
    with replacing(path) as file:
        file.write(("\n".join(lines) + "\n").encode())


def read_settings(
    args: argparse.Namespace, parser: argparse.ArgumentParser
) -> argparse.Namespace:
    """The options of a file; those that are given besides take their place."""
    path = args.dataset
    try:
        with open(path, "rb") as file:
            kept = tomllib.load(file)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read as TOML: {why}") from None
    asked = _asked(args, parser)
    del asked["dataset"]
    options, words = kept | asked, []
    place = options.pop("dataset", None)
    named = isinstance(place, str) and not place.endswith(".toml")
    require(named, f'{path} must name its data set: dataset = "letters"')
    known = {n.lstrip("-"): a for a in parser._actions for n in a.option_strings}
    for name, value in options.items():
        known_here = ", ".join(n for n in known if n not in ("h", "help"))
        require(name in known, f"{path} has {name!r}, but options are {known_here}")
        if known[name].nargs == 0:
            words += [f"--{name}"] if value is True else []
        elif isinstance(value, list):
            words += [f"--{name}", *map(str, value)]
        else:
            words += [f"--{name}={value}"]
    words += ["--force"] * args.force
    words += [] if args.toml is None else [f"--toml={args.toml}"]
    read = parser.parse_args([str(place), *words])
    read.parser, read.verb = parser, args.verb
    return read


def each_file(path: Path, seed: int) -> str:
    """The file of one seed where there are several."""
    return str(path.with_name(f"{path.stem}-{seed}{path.suffix}"))
