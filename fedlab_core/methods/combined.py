"""Methods put together from others: one gives the client's rule, others their choices.

    compose(rule="fedprox", weigh="feddisco", groups="fedcollab")

is FedProx with FedDisco's weights, in FedCollab's coalitions. Every choice is named
after a method that makes it (see `METHODS`); what is not said is as with the rule.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fedlab_core.client.local import Local
from fedlab_core.errors import InputError, require
from fedlab_core.methods import METHODS
from fedlab_core.rounds.method import Method

CHOICES = ("weigh", "server", "groups", "personal")

Options = Mapping[str, Mapping[str, Any]]


def compose(
    local: Local | None = None,
    *,
    rule: str = "fedavg",
    weigh: str | None = None,
    server: str | None = None,
    groups: str | None = None,
    personal: str | None = None,
    options: Options | None = None,
) -> Method:
    """The method `rule`, with choices of other methods in place of its own.

    Args:
        local: how every one of them trains.
        options: of the methods by what they were chosen for, for instance
            {"groups": {"C": 5}}.

    Raises:
        InputError: for an unknown name, and for choices that make no sense together.
    """
    given = dict(options or {})
    chosen = dict(zip(CHOICES, (weigh, server, groups, personal), strict=True))
    taken = {choice: name for choice, name in chosen.items() if name is not None}
    strange = ", ".join(sorted(set(given) - {"rule", *taken}))
    require(not strange, f"options for {strange}: nothing was chosen for it")
    base = _made("rule", rule, local, given)
    others = {c: _made(c, name, local, given) for c, name in taken.items()}
    kept = others["personal"].personal.kept if "personal" in others else None
    require(
        kept is None or personal == rule,
        f"personal={personal} is kept by its own local rule: choose rule={personal}",
    )
    parts = {choice: getattr(made, choice) for choice, made in others.items()}
    names = dict.fromkeys([base.name, *(made.name for made in others.values())])
    return replace(base, name=" + ".join(names), **parts)


def _made(choice: str, name: str, local: Local | None, options: Options) -> Method:
    known = ", ".join(METHODS)
    require(name in METHODS, f"unknown {choice}={name!r}: choose from {known}")
    try:
        return METHODS[name].make(local, **options.get(choice, {}))
    except TypeError as error:
        raise InputError(f"{choice}={name}: {error}") from None
