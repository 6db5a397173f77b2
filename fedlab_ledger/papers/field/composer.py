"""Every combination of five choices on two smaller fields: one run in two seconds."""

from collections.abc import Iterator
from itertools import product

from fedlab_core.errors import InputError
from fedlab_core.methods.combined import compose
from fedlab_ledger.model import Cell, Table
from fedlab_ledger.papers.common import Plain, joined, letters, settings
from fedlab_ledger.papers.field.worlds import FIELDS, played

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
_GROUPS: Plain = {"of": "fedcollab", "C": 5.0, "restarts": 10, "hidden": 100}
_GROUPS |= {"lr": 0.05, "rounds": 300}
RULES: dict[str, Plain] = {
    "SGD": {"method": "fedavg"},
    "rFedAvg+": {"method": "rfedavg-plus", "options": {"lam": 0.003}},
    "FedImpro": {"method": "fedimpro", "options": {"alpha": 1000 / 20}},
}
CHOICES: dict[str, dict[str, Plain]] = {
    "weigh": {
        "size": {"of": "fedavg"},
        "equal": {"of": "equal"},
        "FedDisco": {"of": "feddisco"},
    },
    "server": {"average": {}, "FedLAW": {"of": "fedlaw", "server_epochs": 10}},
    "groups": {"everyone": {}, "FedCollab": _GROUPS, "nobody": {"of": "local"}},
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


def possible(combination: tuple[str, ...]) -> bool:
    """True if the core takes a combination, and if it takes seconds."""
    _, _, server, groups, _ = combination
    if server == "FedLAW" and groups != "everyone":
        return False  # alone it has nothing to do; in coalitions it takes minutes
    how = composed(*combination)
    rule = {"of": how["method"], **how.get("options", {})}
    chosen = {"rule": rule, **how["parts"]}
    options = {c: {k: v for k, v in p.items() if k != "of"} for c, p in chosen.items()}
    try:
        compose(options=options, **{c: p["of"] for c, p in chosen.items()})
    except InputError:
        return False
    return True


def _composer() -> Table:
    cells = []
    for names in combinations():
        if not possible(names):
            continue
        for field, world in COMPOSED.items():
            made = settings(small=played(world, composed(*names)))
            lacks = "one scale: a run takes two seconds"
            place = "field", "composer", row(names), field
            cells.append(Cell(*place, made, None, metric="last", lacks=lacks))
    title = "Every combination of five choices, on two fields"
    return Table("field", "composer", title, tuple(cells))


TABLE = _composer()
