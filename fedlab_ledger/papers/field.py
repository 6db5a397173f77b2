"""Everyone on one field: no paper's table, but the question that none of them asks.

"home_and_away" plays every method on the home field of each of the five papers: a small
world of built-in letters in which that paper's effect has been seen or looked for, with
the clients' training that goes with it. "composer" plays every combination of choices
on two of the fields, in fewer rounds.

What is measured is the "small" scale. All arms of a field share their seeds: data,
split, first model and the order of mini-batches.
"""

from collections.abc import Iterator
from itertools import product

from fedlab_core.errors import InputError
from fedlab_core.methods.combined import compose
from fedlab_core.partition import FEDCOLLAB_LABEL_SHIFT
from fedlab_ledger import Cell, Table
from fedlab_ledger.papers.common import (
    TINY,
    TINY_LOCAL,
    Plain,
    joined,
    letters,
    settings,
)

_SHARES = [list(shares) for shares in FEDCOLLAB_LABEL_SHIFT]

# The worlds, each with the training of the paper at home there.
FIELDS: dict[str, Plain] = {
    "FedDisco's": joined(
        letters(0.2),
        {"kind": "niid2", "scenario": {"biased": 5, "unbiased": 1}, "rounds": 12},
        {"local": {"lr": 0.01, "momentum": 0.9, "epochs": 5, "batch_size": 32}},
    ),
    "FedLAW's": joined(
        letters(0.35),
        {"kind": "dirichlet", "scenario": {"clients": 10, "alpha": 1.0}, "rounds": 20},
        {"local": {"lr": 0.1, "epochs": 5, "batch_size": 32}},
    ),
    "rFedAvg's": joined(
        letters(0.2),
        {"kind": "similarity", "scenario": {"clients": 10, "s": 0.1}, "rounds": 12},
        {"local": {"lr": 0.1, "epochs": 5, "batch_size": 32}},
    ),
    "FedImpro's": joined(
        letters(0.2),
        {"kind": "dirichlet", "scenario": {"clients": 10, "alpha": 0.1}, "rounds": 60},
        {"scenario": {"min_size": 10}, "participants": 5},
        {"local": {"lr": 0.1, "weight_decay": 1e-4, "batch_size": 32}},
    ),
    "FedCollab's": joined(
        letters(0.3),
        {"data": {"n_train": 8000, "n_test": 1000}},
        {"kind": "clusters", "scenario": {"shares": _SHARES, "clients_each": 3}},
        {"scenario": {"own_test": 0.4, "keep": [1.0, 0.05]}, "rounds": 40},
        {"network": {"hidden": [64, 64]}, "local": {"lr": 0.1, "batch_size": 16}},
    ),
}
_COLLAB: Plain = {"C": 5.0, "restarts": 10, "hidden": 100, "lr": 0.05, "rounds": 300}
_DISCO: Plain = {"weigh": {"of": "feddisco"}}
_GROUPS: Plain = {"groups": {"of": "fedcollab", **_COLLAB}}
_LAW: Plain = {"server_epochs": 40}
_IMPRO: Plain = {"method": "fedimpro", "options": {"alpha": 1000 / 60}}
_PULL: Plain = {"method": "rfedavg-plus", "options": {"lam": 0.003}}

ARMS: dict[str, Plain] = {
    "FedAvg": {"method": "fedavg"},
    "FedDisco": {"method": "feddisco"},
    "FedLAW": {"method": "fedlaw", "options": _LAW},
    "rFedAvg+": _PULL,
    "FedImpro": _IMPRO,
    "FedCollab": {"method": "fedcollab", "options": _COLLAB},
    "Local": {"method": "local"},
    "Server-FT": {"method": "server-ft"},
    "Fine-tune": {"method": "finetune"},
    "FedDisco + FedImpro": joined(_IMPRO, {"parts": _DISCO}),
    "FedDisco + FedCollab": joined({"method": "fedavg"}, {"parts": _DISCO | _GROUPS}),
    "FedImpro + FedCollab": joined(_IMPRO, {"parts": _GROUPS}),
    "FedDisco + FedImpro + FedCollab": joined(_IMPRO, {"parts": _DISCO | _GROUPS}),
    "rFedAvg+ + FedDisco": joined(_PULL, {"parts": _DISCO}),
}


def _tiny(field: Plain) -> Plain:
    """A field in a few seconds: fewer letters, two rounds."""
    tiny = joined(TINY, {"local": TINY_LOCAL})
    tiny |= {"kind": field["kind"], "scenario": dict(field["scenario"])}
    if field["kind"] == "clusters":
        own: Plain = {"clients_each": 1, "own_test": 0.2, "keep": [1.0, 0.3]}
        tiny["scenario"] = field["scenario"] | own
    elif "clients" in field["scenario"]:
        tiny["scenario"] |= {"clients": 4}
        if "alpha" in tiny["scenario"]:
            tiny["scenario"] |= {"alpha": max(1.0, tiny["scenario"]["alpha"])}
    return tiny


_LIGHT: dict[str, Plain] = {
    "fedcollab": {"rounds": 20, "restarts": 2, "hidden": 16},
    "fedlaw": {"server_epochs": 2},
}


def _light(how: Plain) -> Plain:
    """A method that spends as little as it can on what is not training."""
    less = {
        choice: part | _LIGHT.get(part["of"], {})
        for choice, part in how.get("parts", {}).items()
    }
    options = how.get("options", {}) | _LIGHT.get(how["method"], {})
    return how | {"options": options, "parts": less}


def _played(field: Plain, how: Plain, per_class: int = 20) -> Plain:
    """A method in a field; a server that learns has some samples of each class."""
    law = "fedlaw" in (how["method"], how.get("parts", {}).get("server", {}).get("of"))
    law = law or how["method"] == "server-ft"
    proxy: Plain = {"proxy": {"per_class": per_class}} if law else {}
    return joined(field, {"network": {"split": "hidden1"}}, proxy, how)


def _cell(table: str, row: str, column: str, how: Plain, field: Plain) -> Cell:
    home = table == "home_and_away"
    made = settings(
        tiny=_played(_tiny(field), _light(how), 2) if home else None,
        small=_played(field, how),
    )
    return Cell(
        "field",
        table,
        row,
        column,
        made,
        None,
        metric="mean-5" if home else "last",
        lacks="nothing is published to compare with"
        if home
        else "one scale: what a widget trains in two seconds",
    )


def _home_and_away() -> Table:
    cells = (
        _cell("home_and_away", arm, field, how, world)
        for (arm, how), (field, world) in product(ARMS.items(), FIELDS.items())
    )
    title = "Every method on every paper's home field, on letters"
    return Table("field", "home_and_away", title, tuple(cells))


# The composer's fields are smaller: one run answers within two seconds.
_NET: Plain = {"network": {"hidden": [64, 64]}, "rounds": 20}
COMPOSED: dict[str, Plain] = {
    "one population, skewed labels": joined(
        letters(0.2),
        {"data": {"n_train": 2000, "n_test": 1000}, **_NET},
        {"kind": "dirichlet", "scenario": {"clients": 10, "alpha": 0.1}},
        {"scenario": {"min_size": 10}, "local": {"lr": 0.1, "batch_size": 32}},
    ),
    "four kinds of clients": joined(
        FIELDS["FedCollab's"], {"data": {"n_train": 4000, "n_test": 1000}, **_NET}
    ),
}
RULES: dict[str, Plain] = {
    "SGD": {"method": "fedavg"},
    "rFedAvg+": _PULL,
    "FedImpro": {"method": "fedimpro", "options": {"alpha": 1000 / 20}},
}
CHOICES: dict[str, dict[str, Plain]] = {
    "weigh": {
        "size": {"of": "fedavg"},
        "equal": {"of": "equal"},
        "FedDisco": {"of": "feddisco"},
    },
    "server": {"average": {}, "FedLAW": {"of": "fedlaw", "server_epochs": 10}},
    "groups": {
        "everyone": {},
        "FedCollab": {"of": "fedcollab", **_COLLAB},
        "nobody": {"of": "local"},
    },
    "personal": {"nothing": {}, "fine-tune": {"of": "finetune"}},
}


def composed(rule: str, *names: str) -> Plain:
    """A rule with a choice for each of `CHOICES`, as a setting has it."""
    chosen = zip(CHOICES, names, strict=True)
    parts = {choice: CHOICES[choice][name] for choice, name in chosen}
    return RULES[rule] | {"parts": {c: how for c, how in parts.items() if how}}


def combinations() -> Iterator[tuple[str, ...]]:
    """Every combination: a rule, and a name for each of `CHOICES`."""
    yield from product(RULES, *CHOICES.values())


def row(names: tuple[str, ...]) -> str:
    """A combination as one line."""
    return ", ".join(names)


def refused(combination: tuple[str, ...]) -> str:
    """Why a combination is not offered; nothing if it is."""
    _, _, server, groups, _ = combination
    if groups == "nobody" and server != "average":
        return f"server={server} has nothing to do where every client is by itself"
    if groups == "FedCollab" and server == "FedLAW":
        return "server=FedLAW learns in every coalition anew: minutes, not seconds"
    how = composed(*combination)
    options = {"rule": how.get("options", {})}
    options |= {c: {k: v for k, v in p.items() if k != "of"} for c, p in _of(how)}
    try:
        compose(
            rule=how["method"], options=options, **{c: p["of"] for c, p in _of(how)}
        )
    except InputError as error:
        return str(error).partition(": ")[2]
    return ""


def _of(how: Plain) -> list[tuple[str, Plain]]:
    return list(how["parts"].items())


def _composer() -> Table:
    cells = tuple(
        _cell("composer", row(names), field, composed(*names), world)
        for names in combinations()
        if not refused(names)
        for field, world in COMPOSED.items()
    )
    title = "Every combination of five choices, on two fields"
    return Table("field", "composer", title, cells)


TABLES = (_home_and_away(), _composer())
