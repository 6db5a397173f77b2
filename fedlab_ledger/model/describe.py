"""On what a number was measured, in words: data, network, clients, rounds.

A stand-in never bears the name of what it stands in for: these words are made of the
setting that was played, and of nothing else.
"""

import re
from collections.abc import Mapping
from typing import Any

from fedlab_ledger.model.cells import Setting

DATA = {
    "letters": "letters",
    "digits": "digits",
    "mnist": "MNIST",
    "fashion_mnist": "Fashion-MNIST",
    "femnist": "FEMNIST",
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "cinic10": "CINIC-10",
    "svhn": "SVHN",
    "ham10000": "HAM10000",
    "ag_news": "AG News",
}
NETWORKS = {
    "mlp_200": "MLP 200-200",
    "disco_cnn": "FedDisco's CNN",
    "simple_cnn": "SimpleCNN",
    "collab_cnn": "FedCollab's CNN",
    "mcmahan_cnn": "McMahan's CNN",
    "alexnet": "AlexNet",
    "lenet": "LeNet",
    "textcnn": "text CNN",
    "vgg9": "VGG-9",
    "resnet18": "ResNet-18",
    "resnet50": "ResNet-50",
    "wrn56_4": "WRN-56-4",
    "densenet121": "DenseNet-121",
}
_WEIGHS = {"equal": "equal", "disco": "feddisco"}  # whose weights these are

# What names of data and networks look like in the papers' tables, longest first.
_SHORT = ("FMNIST", "Tiny-ImageNet", "Sent140", "MLP", "ResNet", "CNN")
_DEEP = tuple(f"ResNet-{n}" for n in (8, 18, 20, 50, 56, 110))
NAMED = sorted(
    {*DATA.values(), *NETWORKS.values(), *_SHORT, *_DEEP} - {"letters", "digits"},
    key=len,
    reverse=True,
)


def dataset(s: Setting) -> str:
    """The data set's name, however much of it was taken: "Fashion-MNIST"."""
    return DATA.get(s.dataset, s.dataset)


def data(s: Setting) -> str:
    """Data that were learnt: "letters", "6,000 of Fashion-MNIST"."""
    name = dataset(s)
    return name if s.sample is None else f"{s.sample:,} of {name}"


def network(s: Setting) -> str:
    """Network that learnt it: "MLP 64-64", "ResNet-20"."""
    if s.model == "mlp":
        hidden = s.network.get("hidden", (128, 128))
        return f"MLP {'-'.join(map(str, hidden))}"
    if s.model == "law_resnet":
        return f"ResNet-{s.network['depth']}"
    return NETWORKS.get(s.model, s.model)


def methods(s: Setting) -> list[str]:
    """The methods whose choices are played, as the command line calls them."""
    weighs = _WEIGHS.get((s.weigh or {}).get("name", ""))
    parts = [part.get("of") for part in s.parts.values()]
    return [n for n in dict.fromkeys((s.method, weighs, *parts)) if n]


def clients(s: Setting) -> str:
    """Clients that took part: "10 clients", "10 of 60 clients a round"."""
    n = how_many(s.scenario)
    many = "clients as the data bring them" if n is None else f"{n} clients"
    return many if s.participants is None else f"{s.participants} of {many} a round"


def how_many(scenario: dict[str, Any]) -> int | None:
    """How many clients a scenario has, if it says so."""
    if "clients_each" in scenario:
        return scenario["clients_each"] * len(scenario["shares"])
    if "biased" in scenario:
        return scenario["biased"] + scenario["unbiased"]
    return scenario.get("clients", scenario.get("sample"))


def ran_on(s: Setting, seeds: int | None = None, lost: int = 0) -> str:
    """Data, network, clients, rounds and, if told how many, seeds in a line."""
    rounds = "1 round" if s.rounds == 1 else f"{s.rounds} rounds"
    many = [] if seeds is None else [in_words(seeds, lost)]
    return ", ".join([data(s), network(s), clients(s), rounds, *many])


def in_words(seeds: int, lost: int = 0) -> str:
    """How many seeds there are: "3 seeds", or "3 of 5 seeds" if some gave no number."""
    if lost:
        return f"{seeds} of {seeds + lost} seeds"
    return "1 seed" if seeds == 1 else f"{seeds} seeds"


def without_names(text: str) -> str:
    """A paper's name of a place, less the data sets and networks in it.

    "CIFAR-10 NIID-1" is "NIID-1": to be said of what was played elsewhere.
    """
    for name in NAMED:
        text = re.sub(rf"(?<!\w){re.escape(name)}(?![\w-])", "", text)
    text = re.sub(r"\s*,(\s*,)*\s*", ", ", text)
    return re.sub(r"\s+", " ", text).strip(" ,;:")


_MOST = 6  # numbers of a list that are written out
_NAMES = {  # what a group of constants is called
    "scenario": "split",
    "data": "data",
    "pooled": "training and test samples in one",
    "resize": "pixels a side",
    "tail": "long tails",
    "held": "kept aside",
    "normalise": "mean and deviation of a channel",
    "network": "network",
    "local": "clients' steps",
    "options": "method",
    "weigh": "weights",
    "parts": "choices",
    "proxy": "the server's samples",
}


def constants(s: Setting) -> dict[str, str]:
    """A setting's constants by what they belong to, as the settings name them.

    {"split": "dirichlet, alpha 0.5", "clients' steps": "lr 0.1, epochs 5"}
    """
    given = s.plain()
    found = {"split": [s.kind]}
    for name, called in _NAMES.items():
        if name in given:
            found.setdefault(called, []).extend(_told(given[name]))
    return {called: ", ".join(told) for called, told in found.items()}


def _told(value: Any) -> list[str]:
    """Texts "name value" of a mapping, or a value alone."""
    if not isinstance(value, Mapping):
        return [_short(value)]
    return [f"{name} {_short(v)}" for name, v in value.items()]


def _short(value: Any) -> str:
    """A number with six digits; of a long list, how much there is of it."""
    if isinstance(value, Mapping):
        return f"({', '.join(_told(value))})"
    if isinstance(value, (list, tuple)):
        long = len(value) > _MOST or any(isinstance(v, (list, tuple)) for v in value)
        return f"of {len(value)}" if long else f"({', '.join(map(_short, value))})"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
