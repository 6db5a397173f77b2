"""Arms of the field: every method, its controls, and combinations; their constants.

Each method has one constant that is chosen for a field, of the same number of values:
a quarter of the usual one, the usual one, and four times as much; FedDisco's a within
the range in which its paper tunes it, for beyond that most clients count nothing. What
stands in `CHOSEN` did best on seeds that nothing else is played with (`tuning`; a test
holds it to those lines). It is chosen for each judgement by itself: who wants one model
for all looks at other numbers than who wants a model of its own. FedAvg, and the
clients' training that everyone shares, are those of the field, but for a control that
chooses its learning rate of as many values; FedAvg, equal weights, SCAFFOLD and Local
have nothing to choose.
"""

from collections.abc import Mapping

from fedlab_ledger.papers.common import Plain

_TIMES = (0.25, 1.0, 4.0)  # the usual constant
_NARROW = {"FedDisco": (0.4, 1.0, 1.4)}  # a = .2, .5, .7, the range of its Figure 4
# The constant of each method, and what is usual: the paper's or its code's, where the
# features, rounds or clients of these fields are as theirs; else what chapters use.
TUNED: dict[str, tuple[str, float]] = {
    "FedDisco": ("a", 0.5),
    "FedLAW": ("lr", 0.01),  # of the server
    "rFedAvg+": ("lam", 0.003),
    "FedImpro": ("alpha", 1000 / 60),
    "FedCollab": ("C", 5.0),
    "Server-FT": ("lr", 0.01),  # of the server
    "Fine-tune": ("steps", 2),
    "FedDyn": ("alpha", 0.01),
    "FedAvg, rate chosen": ("rate", 1.0),  # in parts of the field's
}
TRIED = {method: _NARROW.get(method, _TIMES) for method in TUNED}
_OF: dict[str, str] = {
    "FedAvg": "fedavg",
    "FedDisco": "feddisco",
    "FedLAW": "fedlaw",
    "rFedAvg+": "rfedavg-plus",
    "FedImpro": "fedimpro",
    "FedCollab": "fedcollab",
    "Local": "local",
    "Server-FT": "server-ft",
    "Fine-tune": "finetune",
    "Equal weights": "equal",
    "SCAFFOLD": "scaffold",
    "FedDyn": "feddyn",
    "FedAvg, rate chosen": "fedavg",
}
_FIXED: dict[str, Plain] = {
    "FedLAW": {"server_epochs": 40},
    "SCAFFOLD": {"after": True},  # before the momentum its corrections grow without end
    "FedCollab": {"restarts": 10, "hidden": 100, "lr": 0.05, "rounds": 300},
}
_CHOICE = {"FedDisco": "weigh", "FedCollab": "groups"}  # which of a round's they are

# Every arm, and the methods that it is made of: a rule first, then other choices.
ARMS: dict[str, tuple[str, ...]] = {name: (name,) for name in _OF} | {
    "FedDisco + FedImpro": ("FedImpro", "FedDisco"),
    "FedDisco + FedCollab": ("FedAvg", "FedDisco", "FedCollab"),
    "FedImpro + FedCollab": ("FedImpro", "FedCollab"),
    "rFedAvg+ + FedDisco": ("rFedAvg+", "FedDisco"),
}

# For each judgement and field, what is not the usual constant: times that.
Chosen = Mapping[str, float]
CHOSEN: dict[str, dict[str, dict[str, float]]] = {
    "for_all": {
        "FedDisco's": {
            "FedDisco": 1.4,
            "FedLAW": 4.0,
            "rFedAvg+": 4.0,
            "FedImpro": 0.25,
            "Server-FT": 4.0,
            "Fine-tune": 0.25,
            "FedDyn": 0.25,
            "FedAvg, rate chosen": 0.25,
        },
        "FedLAW's": {
            "FedDisco": 0.4,
            "rFedAvg+": 4.0,
            "FedImpro": 4.0,
            "FedCollab": 4.0,
            "Server-FT": 4.0,
            "FedDyn": 4.0,
            "FedAvg, rate chosen": 4.0,
        },
        "rFedAvg's": {
            "FedLAW": 0.25,
            "rFedAvg+": 0.25,
            "Server-FT": 4.0,
            "Fine-tune": 0.25,
            "FedAvg, rate chosen": 4.0,
        },
        "FedImpro's": {
            "FedDisco": 0.4,
            "FedLAW": 0.25,
            "rFedAvg+": 0.25,
            "FedImpro": 4.0,
            "FedCollab": 4.0,
            "Server-FT": 4.0,
            "FedDyn": 4.0,
            "FedAvg, rate chosen": 4.0,
        },
        "FedCollab's": {
            "FedDisco": 1.4,
            "FedLAW": 0.25,
            "rFedAvg+": 0.25,
            "FedImpro": 4.0,
            "FedCollab": 4.0,
            "Server-FT": 4.0,
            "Fine-tune": 4.0,
            "FedDyn": 0.25,
            "FedAvg, rate chosen": 4.0,
        },
        "Fashion-MNIST": {
            "FedDisco": 1.4,
            "rFedAvg+": 4.0,
            "FedImpro": 0.25,
            "FedCollab": 4.0,
            "Server-FT": 4.0,
            "Fine-tune": 0.25,
            "FedDyn": 4.0,
        },
    },
    "for_own": {
        "FedDisco's": {
            "FedDisco": 1.4,
            "FedLAW": 4.0,
            "rFedAvg+": 4.0,
            "FedImpro": 0.25,
            "Server-FT": 4.0,
            "Fine-tune": 4.0,
            "FedDyn": 0.25,
            "FedAvg, rate chosen": 0.25,
        },
        "FedLAW's": {
            "FedDisco": 0.4,
            "rFedAvg+": 4.0,
            "FedImpro": 4.0,
            "Server-FT": 0.25,
            "Fine-tune": 4.0,
            "FedDyn": 4.0,
            "FedAvg, rate chosen": 4.0,
        },
        "rFedAvg's": {
            "FedLAW": 0.25,
            "rFedAvg+": 0.25,
            "Server-FT": 4.0,
            "FedAvg, rate chosen": 4.0,
        },
        "FedImpro's": {
            "FedDisco": 0.4,
            "FedLAW": 0.25,
            "rFedAvg+": 0.25,
            "FedImpro": 4.0,
            "FedCollab": 0.25,
            "Server-FT": 4.0,
            "Fine-tune": 4.0,
            "FedAvg, rate chosen": 4.0,
        },
        "FedCollab's": {
            "FedDisco": 1.4,
            "FedLAW": 0.25,
            "rFedAvg+": 0.25,
            "FedImpro": 4.0,
            "Server-FT": 4.0,
            "Fine-tune": 4.0,
            "FedAvg, rate chosen": 4.0,
        },
        "Fashion-MNIST": {
            "FedDisco": 1.4,
            "FedLAW": 4.0,
            "rFedAvg+": 4.0,
            "FedImpro": 0.25,
            "Server-FT": 4.0,
            "Fine-tune": 4.0,
            "FedDyn": 4.0,
        },
    },
}


def constant(method: str, times: float) -> float:
    """So many times a method's usual constant; steps are whole, and one at least."""
    name, usual = TUNED[method]
    value = times * usual
    return max(1, round(value)) if name == "steps" else value


def how(arm: str, times: Chosen | None = None) -> Plain:
    """An arm as a setting has it, with so many times its methods' usual constants."""

    def options(method: str) -> Plain:
        given = dict(_FIXED.get(method, {}))
        if method in TUNED:
            factor = (times or {}).get(method, 1.0)
            given[TUNED[method][0]] = constant(method, factor)
        return given

    rule, *others = ARMS[arm]
    parts = {_CHOICE[m]: {"of": _OF[m], **options(m)} for m in others}
    made: Plain = {"method": _OF[rule], "options": options(rule), "parts": parts}
    return {name: value for name, value in made.items() if value}
