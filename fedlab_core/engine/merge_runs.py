"""Several settings of one experiment as one kind of work, to be trained as one cohort.

Clients that differ in the learning rate, or in a number that a rule carries (FedProx's
mu), do the same arithmetic on other numbers. Those numbers travel with what
the server sends, and the rule reads them there.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import torch

from fedlab_core.client import ClientInput, Rule, Training
from fedlab_core.tree import Tree

_HOOKS = ("loss", "gradient", "push", "begin", "finish")
Work = tuple[Training, Rule]


def numberless(training: Training, rule: Rule) -> Work:
    """A training and a rule with 0 for their numbers: equal ones can share a cohort."""
    hooks = {name: _numberless(getattr(rule, name)) for name in _HOOKS}
    return _with(training, {"lr": 0.0}), _with(rule, hooks)


def merge(works: Sequence[Work]) -> tuple[Rule, list[Tree]]:
    """One rule for all alike, and the numbers to send to each one's clients."""
    rules = [rule for _, rule in works]
    hooks: dict[str, Any] = {}
    sent: list[Tree] = [{} for _ in works]
    for name in _HOOKS:
        each = [getattr(rule, name) for rule in rules]
        # one of them may be written 0, which is equal to 0.0
        numbers = dict.fromkeys(n for hook in each for n in _numbers(hook))
        differ = [n for n in numbers if len({getattr(h, n) for h in each}) > 1]
        if not differ:
            continue
        shared = _with(each[0], dict.fromkeys(differ, 0.0))  # those alike stay
        hooks[name] = _Sent(name, shared, tuple(differ))
        for tree, hook in zip(sent, each, strict=True):
            for n in differ:
                value = float(getattr(hook, n))
                tree[f"{name}/{n}"] = torch.tensor(value, dtype=torch.float64)
    return replace(rules[0], **hooks), sent


def parameters_from_broadcast(rule: Rule) -> tuple[Rule, dict[str, float]]:
    """The rule with all of its numbers read from the broadcast, and the numbers."""
    hooks: dict[str, Any] = {}
    found: dict[str, float] = {}
    for name in _HOOKS:
        hook = getattr(rule, name)
        if own := _numbers(hook):
            hooks[name] = _Sent(name, _with(hook, dict.fromkeys(own, 0.0)), tuple(own))
            found |= {f"{name}/{n}": float(getattr(hook, n)) for n in own}
    return replace(rule, **hooks), found


@dataclass(frozen=True)
class _Sent:
    """A hook some of whose numbers are read from the broadcast."""

    name: str
    hook: Any
    numbers: tuple[str, ...]

    def __call__(self, *arguments):
        given = (a.broadcast for a in arguments if isinstance(a, ClientInput))
        sent = arguments[1] if self.name == "begin" else next(given)
        new = {n: sent[f"{self.name}/{n}"] for n in self.numbers}
        return _with(self.hook, new)(*arguments)


def _numbers(hook: Any) -> list[str]:
    if not is_dataclass(hook):
        return []
    return [f.name for f in fields(hook) if isinstance(getattr(hook, f.name), float)]


def _numberless(hook: Any) -> Any:
    names = _numbers(hook)
    return _with(hook, dict.fromkeys(names, 0.0)) if names else hook


def _with(record: Any, values: dict[str, Any]) -> Any:
    """A copy with other values, unchecked: a check cannot look into a traced number."""
    new = copy.copy(record)
    for name, value in values.items():
        object.__setattr__(new, name, value)
    return new
