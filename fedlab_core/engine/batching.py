"""Several settings of one experiment as one kind of work, to be trained as one cohort.

Clients whose `Local` differ in the learning rate, or in a number that a rule carries
(FedProx's mu), do the same arithmetic on other numbers. Those numbers travel with what
the server sends, and the rule reads them there.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import torch

from fedlab_core.client.local import ClientInput, Local
from fedlab_core.tree import Tree

_RULES = ("loss", "gradient", "push", "memory", "finish")


def kind(local: Local) -> Local:
    """A `Local` without its numbers: those who are alike in it fit together."""
    blank = {name: _blank(getattr(local, name)) for name in _RULES}
    return _with(local, {"lr": 0.0, **blank})


def merge(locals: Sequence[Local]) -> tuple[Local, list[Tree]]:
    """One `Local` for all of a kind, and the numbers to send to the clients of each."""
    first = locals[0]
    rules: dict[str, Any] = {}
    sent: list[Tree] = [{} for _ in locals]
    for name in _RULES:
        each = [getattr(local, name) for local in locals]
        # one of them may be written 0, which is as blank as 0.0
        numbers = dict.fromkeys(n for rule in each for n in _numbers(rule))
        differ = [n for n in numbers if len({getattr(r, n) for r in each}) > 1]
        if not differ:
            continue
        shared = _with(each[0], dict.fromkeys(differ, 0.0))  # those alike stay
        rules[name] = _Sent(name, shared, tuple(differ))
        for tree, rule in zip(sent, each, strict=True):
            for n in differ:
                tree[f"{name}.{n}"] = torch.tensor(float(getattr(rule, n)))
    return replace(first, **rules), sent


@dataclass(frozen=True)
class _Sent:
    """A rule some of whose numbers are read from what was sent."""

    name: str
    rule: Any
    numbers: tuple[str, ...]

    def __call__(self, *arguments):
        given = (a.broadcast for a in arguments if isinstance(a, ClientInput))
        sent = arguments[1] if self.name == "memory" else next(given)
        new = {n: sent[f"{self.name}.{n}"] for n in self.numbers}
        return _with(self.rule, new)(*arguments)


def _numbers(rule: Any) -> list[str]:
    if not is_dataclass(rule):
        return []
    return [f.name for f in fields(rule) if isinstance(getattr(rule, f.name), float)]


def _blank(rule: Any) -> Any:
    names = _numbers(rule)
    return _with(rule, dict.fromkeys(names, 0.0)) if names else rule


def _with(rule: Any, values: dict[str, Any]) -> Any:
    """A copy with other values, unchecked: a check cannot look into a traced number."""
    new = copy.copy(rule)
    for name, value in values.items():
        object.__setattr__(new, name, value)
    return new
