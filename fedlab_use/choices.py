"""Choices of `train` that are functions: who takes part, the loss, and the metric."""

import argparse
from collections.abc import Callable
from typing import Any

from fedlab_core import auc, logistic, r2, squared
from fedlab_core.arguments import Count, Fraction, NotNegative
from fedlab_core.arguments.cli import option
from fedlab_core.data import Dataset
from fedlab_core.errors import require
from fedlab_use.own import named_function
from fedlab_use.presence import DrawByChance, DrawBySize, DropOut, UpAndDown

LOSSES: dict[str, Callable] = {"squared": squared, "logistic": logistic}
METRICS: dict[str, Callable] = {"r2": r2, "auc": auc}


def add_aims(add: Any) -> None:
    """Add the options of what is minimised, and by what models are judged."""
    own = "or my.module:function"
    add("--loss", help=f"{', '.join(LOSSES)}; {own} (the cross-entropy)")
    add("--metric", help=f"{', '.join(METRICS)}; {own} (accuracy, or the loss)")


def add_presence(add: Any) -> None:
    """Add the options of who takes part in a round."""
    known = "so many a round, drawn evenly (all); or my.rule:function"
    add("--participants", type=_asked, metavar="N", help=known)
    known = "draw the N by size: those with more samples more often"
    add("--by-size", action="store_true", help=known)
    known = "draw the N by these chances, one a client"
    add("--by-chance", type=option(NotNegative), nargs="+", metavar="P", help=known)
    known = "clients come and go: chances, a round, to go and to come; N at most"
    names = {"nargs": 2, "metavar": ("FALLS", "RISES")}
    add("--up-and-down", type=option(Fraction), **names, help=known)
    known = "chance that one who began a round is lost"
    add("--drop-out", type=option(Fraction), metavar="P", help=known)


def _asked(text: str) -> int | str:
    return text if ":" in text else option(Count)(text)


def taking_part(args: argparse.Namespace) -> Any:
    """The `participants` of a run: all, a number, or a rule."""
    named = "--participants"
    who: Any = args.participants
    if isinstance(who, str):
        who = named_function(who, named)
    kinds = ("by_size", "by_chance", "up_and_down")
    rules = [f"--{kind.replace('_', '-')}" for kind in kinds if vars(args)[kind]]
    require(len(rules) < 2, f"{', '.join(rules[:1])}: not with {', '.join(rules[1:])}")
    for rule in rules:
        require(not callable(who), f"{rule}: with a number of {named}, not a function")
        drawn = who is not None or rule == "--up-and-down"
        require(drawn, f"{rule}: say of how many, as {named} 5")
    if args.by_size:
        who = DrawBySize(args.participants)
    elif args.by_chance:
        who = DrawByChance(args.participants, tuple(args.by_chance))
    elif args.up_and_down:
        who = UpAndDown(*args.up_and_down, most=args.participants)
    return who if args.drop_out is None else DropOut(args.drop_out, of=who)


def aims(args: argparse.Namespace) -> dict[str, Callable | None]:
    """The loss and the metric of a world, by the names that it has for them."""
    loss = _named(args.loss, LOSSES, "--loss")
    metric = _named(args.metric, METRICS, "--metric")
    require(loss is not None or not args.numbers, "--numbers: only with --loss")
    alone = metric in METRICS.values() and loss is None
    require(not alone, f"--metric {args.metric}: only with --loss")
    return {"loss": loss, "metric": metric}


def _named(text: str | None, known: dict[str, Callable], name: str) -> Callable | None:
    if text is None:
        return None
    if ":" in text:
        return named_function(text, name)
    said = f"{name}: {', '.join(known)} or my.module:function, not {text!r}"
    require(text in known, said)
    return known[text]


def outputs(args: argparse.Namespace, dataset: Dataset) -> int:
    """How many numbers a network by name gives for a sample."""
    if args.loss and dataset.targets_train is not None:
        return dataset.targets_train[:1].size
    classes = len(dataset.classes)
    if args.loss not in LOSSES:
        return classes
    said = f"--loss {args.loss}: of two classes, or of --numbers, not of {classes}"
    require(classes == 2, f"{said} classes")
    return 1
