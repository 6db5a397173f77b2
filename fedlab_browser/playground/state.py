"""Choices of the playground, and what each is in the core.

A state is the page's address: `rule=fedprox&fedprox.mu=0.3&alpha=0.1`. What is not said
is as in `USUAL`. The page draws its controls from the same tables (see `export`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any
from urllib.parse import parse_qsl

from fedlab_browser.playground.task import coalitions, divided, placed
from fedlab_browser.playground.weights import WEIGHS
from fedlab_core import Groups, Method, Training, World
from fedlab_core.errors import InputError, require
from fedlab_core.methods.combined import compose
from fedlab_core.partition.scenarios import Scenario

BATCH = 16


@dataclass(frozen=True)
class Slider:
    """A number and where it may stand; `of` is when it matters: {choice: values}.

    One that `falls` has its largest stop at the left.
    """

    name: str
    stops: tuple[float, ...]
    usual: float
    of: Mapping[str, tuple[str, ...]]
    falls: bool = False


# The rows of the page: what may be chosen, by the names of the core's methods.
CHOICES: dict[str, dict[str, str]] = {
    "rule": {
        "fedavg": "SGD",
        "fedprox": "FedProx",
        "scaffold": "SCAFFOLD",
        "feddyn": "FedDyn",
        "feddc": "FedDC",
        "moon": "MOON",
        "rfedavg": "rFedAvg",
        "rfedavg-plus": "rFedAvg+",
        "fedimpro": "FedImpro",
        "per-fedavg": "Per-FedAvg",
        "pfedme": "pFedMe",
    },
    "weigh": {
        "size": "size",
        "equal": "equal",
        "disco": "FedDisco",
        "power": "a power of size",
        "last": "one by hand",
    },
    "server": {
        "average": "average",
        "shrunk": "shrink",
        "fedavgm": "momentum",
        "fedadam": "Adam",
        "fednova": "FedNova",
        "fedlaw": "FedLAW",
    },
    "groups": {
        "everyone": "everyone",
        "fedcollab": "FedCollab’s",
        "two": "two halves",
        "nobody": "nobody",
        "chosen": "as I tick",
    },
    "personal": {"nothing": "nothing", "finetune": "fine-tune", "ditto": "Ditto"},
    "pace": {"epochs": "epochs", "steps": "steps"},
    "split": {
        "dirichlet": "by chance",
        "big": "two big ones",
        "worlds": "two worlds",
        "two": "one has all",
        "kinds": "four kinds",
        "wrong": "one is wrong",
        "sizes": "large and small",
    },
}
# What an option does, in a sentence, while it is chosen.
SAYS: dict[str, dict[str, str]] = {
    "split": {
        "dirichlet": "each letter by chance: more skew, more unevenly",
        "big": "two large ones hold two letters each, the small ones all ten",
        "worlds": "the first half holds L T V Z X, the second H U F Y K",
        "two": "nine hold two letters each, the last holds all ten",
        "kinds": "a kind holds the same letters; two pairs of kinds share some",
        "wrong": "as by chance, but one client’s labels are mixed up",
        "sizes": "the same mix of letters for all, but some have many and some few",
    },
    "rule": {
        "fedavg": "plain steps down the error on its own letters",
        "fedprox": "a pull back to the model that it was sent",
        "scaffold": "every step is corrected by how the others move",
        "feddyn": "a penalty, learnt by each, leads all to one place",
        "feddc": "each keeps track of how far it drifts, and takes that back",
        "moon": "its features are drawn to the server’s, pushed from its own last ones",
        "rfedavg": "its mean features are pulled to each of the others’",
        "rfedavg-plus": "its mean features are pulled to the mean of the others’",
        "fedimpro": "the upper layers train on features drawn from a shared pool, too",
        "per-fedavg": "towards a start from which a few own steps suffice",
        "pfedme": "each keeps a model of its own, tied to the group’s",
    },
    "weigh": {
        "size": "a client with twice the letters counts twice",
        "equal": "everybody counts the same",
        "disco": "by size, and more the nearer its mix of letters is to an even one",
        "power": "by its number of letters to the power p: 0 is equal, 1 is by size",
        "last": "the last client counts as you say, the others share the rest by size",
    },
    "server": {
        "average": "takes the weighted average of the models",
        "shrunk": "multiplies the average by γ, a little below one",
        "fedavgm": "keeps some of the last round’s speed",
        "fedadam": "moves towards the average by Adam’s steps",
        "fednova": "averages what each did per step: more steps do not count more",
        "fedlaw": "learns the weights, and their sum, on a few letters of its own",
    },
    "groups": {
        "everyone": "one model for all",
        "fedcollab": "before round 1 a solver groups them by sizes and labels",
        "two": "the first half and the second, each with a model",
        "nobody": "each trains alone",
        "chosen": "the clients that are ticked, and the rest",
    },
    "pace": {
        "epochs": "times through its own letters: who has more takes more steps",
        "steps": "the same number for everybody, 400 in all",
    },
    "personal": {
        "nothing": "it is judged with the model that it is given",
        "finetune": "two more steps on its own letters before it is judged",
        "ditto": "a second model of its own, tied to the group’s, is judged",
    },
}
_BY_EPOCHS = {"pace": ("epochs",)}
_DRAWN = {"split": ("dirichlet", "wrong")}
WORK = 400  # steps of a client in all, where steps are what is chosen
SLIDERS: dict[str, Slider] = {
    "alpha": Slider("Skew", (0.05, 0.1, 0.2, 0.5, 1, 5, 100), 0.5, _DRAWN, falls=True),
    "rho": Slider("Largest to smallest", (1, 3, 10, 30), 10, {"split": ("sizes",)}),
    "ratio": Slider("Large world to small", (1, 3, 4.5, 9), 3, {"split": ("worlds",)}),
    "epochs": Slider("Local epochs", (1, 2, 3, 5, 8, 12), 5, _BY_EPOCHS),
    "steps": Slider(
        "Steps a round", (1, 5, 10, 20, 50, 100, 200, WORK), 20, {"pace": ("steps",)}
    ),
    "clients": Slider("Clients", (4, 6, 8, 10), 10, {}),
    "present": Slider("Clients a round", (0.2, 0.5, 1), 1, _BY_EPOCHS),
    "lr": Slider("Learning rate", (0.01, 0.02, 0.05, 0.1, 0.2, 0.5), 0.1, {}),
    "draw": Slider("Division", (0, 1, 2), 0, {}),
    "seed": Slider("Seed", (0, 1, 2, 3, 4), 0, {}),
}
SHARES = (0, 0.1, 0.2, 0.4, 0.6, 0.8, 1)
# Number that a way to divide takes.
DIVIDES = {"dirichlet": "alpha", "wrong": "alpha", "sizes": "rho", "worlds": "ratio"}
# A method's own number, as "METHOD.OPTION"; it matters where the method is chosen.
KNOBS: dict[str, Slider] = {
    f"{method}.{option}": Slider(name, stops, usual, {choice: (method,)})
    for choice, method, option, name, stops, usual in (
        ("rule", "fedprox", "mu", "Pull, μ", (0, 0.01, 0.1, 0.3, 1), 0.1),
        ("rule", "feddyn", "alpha", "Pull, α", (0.001, 0.01, 0.1), 0.01),
        ("rule", "feddc", "alpha", "Pull, α", (0.001, 0.01, 0.1), 0.01),
        ("rule", "moon", "mu", "Contrast, μ", (0, 0.1, 1, 5), 1),
        ("rule", "rfedavg", "lam", "Pull, λ", (0, 0.001, 0.01, 0.1, 1), 0.01),
        ("rule", "rfedavg-plus", "lam", "Pull, λ", (0, 0.001, 0.01, 0.1, 1), 0.01),
        ("rule", "pfedme", "lam", "Pull, λ", (1, 5, 15), 5),
        ("weigh", "disco", "a", "Discrepancy, a", (0, 0.2, 0.5, 1), 0.5),
        ("weigh", "power", "p", "Power, p", (-1, -0.5, 0, 0.5, 1, 2), 0.5),
        ("weigh", "last", "share", "Last client’s weight", SHARES, 0.4),
        ("server", "shrunk", "gamma", "Shrink, γ", (0.8, 0.9, 0.95, 0.98, 1), 0.9),
        ("server", "fedavgm", "beta", "Momentum, β", (0.3, 0.5, 0.8), 0.5),
        ("server", "fedadam", "lr", "Server’s rate", (0.003, 0.01, 0.03), 0.01),
        ("server", "fedlaw", "server_epochs", "Server’s epochs", (5, 10, 20, 50), 20),
        ("groups", "fedcollab", "C", "Capacity, C", (1, 3, 5, 10, 15, 20, 30), 10),
        ("groups", "chosen", "who", "In one coalition", tuple(range(1024)), 3),
        ("personal", "ditto", "lam", "Tie, λ", (0, 0.1, 1, 5), 1),
    )
}
NUMBERS = SLIDERS | KNOBS
ROUNDS = 60

State = dict[str, str | float]
USUAL: State = {
    **{name: next(iter(options)) for name, options in CHOICES.items()},
    **{name: slider.usual for name, slider in NUMBERS.items()},
}


def parsed(text: str) -> State:
    """The state of an address, or of what stands behind its "?"."""
    given, _, behind = text.strip().rpartition("?")[2].partition("#")
    require("=" not in behind, f"#{behind}: choices stand behind a ?, not a #")
    words = [w for w in given.split("&") if w and "=" not in w]
    require(not words, f"NAME=VALUE, not {words[0] if words else ''!r}")
    found: State = {}
    for name, value in parse_qsl(given, keep_blank_values=True):
        require(name in USUAL, f"{name!r} is no choice: choose from {', '.join(USUAL)}")
        require(name not in found, f"{name} is given twice")
        found[name] = _value(name, value)
    return sound(USUAL | found)


def _value(name: str, text: str) -> str | float:
    if name in CHOICES:
        known = ", ".join(CHOICES[name])
        require(text in CHOICES[name], f"{name}={text!r}: choose from {known}")
        return text
    stops = NUMBERS[name].stops
    known = ", ".join(f"{v:g}" for v in stops)
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    require(value in stops, f"{name}={text!r}: choose from {known}")
    return next(v for v in stops if v == value)


def matters(s: State, name: str) -> bool:
    """True if a number changes anything, as the rest is chosen."""
    return all(s[choice] in values for choice, values in NUMBERS[name].of.items())


def said(s: State) -> str:
    """The state as an address: what is as usual, or does not matter, is left out."""
    parts = [(n, s[n]) for n in (*CHOICES, *NUMBERS) if s[n] != USUAL[n]]
    kept = [(n, v) for n, v in parts if n in CHOICES or matters(s, n)]
    return "&".join(
        f"{n}={v if isinstance(v, str) else format(v, 'g')}" for n, v in kept
    )


def sound(s: State) -> State:
    """The state, if its choices go together; otherwise a line on what does not."""
    method_of(s, [0] * int(s["clients"]))
    return s


def training_of(s: State) -> Training:
    """Training of the clients."""
    steps = int(s["steps"]) if matters(s, "steps") else None
    epochs = int(s["epochs"])
    return Training(float(s["lr"]), epochs, BATCH, iterations=steps)


def rounds_of(s: State) -> int:
    """Most rounds of a run: as many as there are, or until all steps are taken."""
    return ceil(WORK / int(s["steps"])) if matters(s, "steps") else ROUNDS


def method_of(s: State, group_of: list[int]) -> Method:
    """All that is chosen as one method; `group_of`: coalitions that are laid down."""
    options: dict[str, dict[str, Any]] = {}
    for name, value in s.items():
        method, _, option = name.partition(".")
        if option and matters(s, name):
            (choice,) = NUMBERS[name].of
            options.setdefault(choice, {})[option] = value
    laid = options.pop("groups", None)  # what the solver is told
    chosen: dict[str, Any] = {n: s[n] for n in CHOICES if n not in ("split", "pace")}
    weigh = WEIGHS[str(chosen.pop("weigh"))](**options.pop("weigh", {}))
    own = {"server": "average", "personal": "nothing"}
    for choice, usual in own.items():
        chosen[choice] = None if chosen[choice] == usual else chosen[choice]
    groups = chosen.pop("groups")
    chosen["groups"] = "local" if groups == "nobody" else None
    method = replace(
        compose(training_of(s), **chosen, options=options, weigh="size"), weigh=weigh
    )
    if laid is None and groups in ("everyone", "nobody"):
        return method
    kept = [
        [k for k, g in enumerate(group_of) if g == h] for h in sorted(set(group_of))
    ]
    return replace(method, groups=Groups.fixed(kept, str(groups)))


def group_of(s: State) -> list[int]:
    """The coalition of every client, where coalitions are laid down."""
    n = int(s["clients"])
    if s["groups"] == "two":
        return [k * 2 // n for k in range(n)]
    if s["groups"] == "chosen":
        ticked = [int(s["chosen.who"]) >> k & 1 for k in range(n)]
        return [int(there != ticked[0]) for there in ticked]
    if s["groups"] == "fedcollab":
        return coalitions(_split(s), float(s["fedcollab.C"]))
    return list(range(n)) if s["groups"] == "nobody" else [0] * n


def _split(s: State) -> tuple[str, int, float, int]:
    kind = str(s["split"])
    number = DIVIDES.get(kind)
    return kind, int(s["clients"]), float(s[number]) if number else 0.0, int(s["draw"])


def divided_of(s: State) -> Scenario:
    """Letters that each client holds, as chosen."""
    return divided(*_split(s))


def world_of(s: State) -> World:
    """The letters, divided as chosen."""
    return placed(*_split(s))


def present(s: State) -> int | None:
    """Number of clients that take part in a round; None: all of them."""
    if not matters(s, "present"):
        return None
    n = max(1, round(float(s["present"]) * int(s["clients"])))
    return None if n == s["clients"] else n


def refused(s: State) -> str:
    """Why the choices do not go together; empty if they do."""
    try:
        sound(s)
    except InputError as error:
        return str(error)
    return ""
