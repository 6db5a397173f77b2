"""Methods put together from others: one gives the client's rule, others their choices.

    compose(rule="fedprox", weigh="feddisco", groups="fedcollab")

is FedProx with FedDisco's weights, in FedCollab's coalitions. Every choice is named
after a method that makes it (see `METHODS`), weights also by their own name (`WEIGHS`);
choices left out are those of the rule. The command line and the ledger make their
methods here, too.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fedlab_core.arguments import checked
from fedlab_core.client import Training
from fedlab_core.errors import require
from fedlab_core.methods import METHODS
from fedlab_core.methods.fedavg import BySize, Equal
from fedlab_core.methods.feddisco import Disco
from fedlab_core.rounds import Method

CHOICES = ("weigh", "server", "groups", "personal")
WEIGHS: dict[str, Callable] = {"size": BySize, "equal": Equal, "disco": Disco}

Options = Mapping[str, Mapping[str, Any]]


@checked
def compose(
    training: Training | None = None,
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
        training: how clients step in every one of them.
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
    base = named(rule, training, given.get("rule"), "rule")
    parts: dict[str, Any] = {}
    names = [base.name]
    for choice, name in taken.items():
        how = given.get(choice)
        if choice == "weigh" and name in WEIGHS:
            parts[choice] = WEIGHS[name](**(how or {}))
            continue
        donor = named(name, training, how, choice)
        parts[choice] = getattr(donor, choice)
        names.append(donor.name)
    kept = parts["personal"].kept if "personal" in parts else None
    text = f"personal={personal} is kept by its own rule: choose rule={personal}"
    require(kept is None or personal == rule, text)
    return replace(base, name=" + ".join(dict.fromkeys(names)), **parts)


@checked
def named(
    name: str,
    training: Training | None = None,
    options: Mapping[str, Any] | None = None,
    choice: str = "method",
) -> Method:
    """The method of a name, with its options; `choice` is what it was named for."""
    known = ", ".join(METHODS)
    require(name in METHODS, f"unknown {choice}={name!r}: choose from {known}")
    return METHODS[name].make(training, **(options or {}))
