"""A federation of three small clients: simulated, and through Flower's messages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import fedlab_core as fl
from fedlab_core import METHODS, Dataset, History, Method, Training, World
from fedlab_core.partition import Partition
from fedlab_flower import Here, client_app, parts_of, server_app

CLIENTS, SEED = 3, 3
LOCAL = Training(lr=0.05, epochs=1, batch_size=16, momentum=0.5)
# Servers' epochs and discriminators' rounds are few: the question is who computes what.
BRIEF: dict[str, dict[str, Any]] = {
    "gws": {"server_epochs": 2},
    "attentive": {"server_epochs": 2},
    "fedlaw": {"server_epochs": 2},
    "fedlaw-swa": {"server_epochs": 2},
    "feddf": {"epochs": 2},
    "fedbe": {"epochs": 2},
    "fedcollab": {"rounds": 4, "every": 2, "restarts": 5, "hidden": 8},
    "kmeans": {"k": 2, "alone": 1},
    "fesem": {"k": 2},
    "ifca": {"k": 2},
}


def small() -> tuple[Dataset, Partition, Partition]:
    """Sixty letters of three clients, and sixty to test on, some of each client's."""
    data = fl.load("letters", n_train=60, n_test=60)
    own = tuple(torch.arange(k, 30, CLIENTS).numpy() for k in range(CLIENTS))
    tests = Partition("tests", {}, own)
    return data, fl.dirichlet(data.y_train, CLIENTS, 0.5, seed=1), tests


DATA, WHO, TESTS = small()
MAKE = fl.build("mlp", DATA.shape, 10, hidden=(8,))
PROXY = fl.Proxy(1)


def named(name: str) -> Method:
    """The method of that name, in brief."""
    return METHODS[name](LOCAL, **BRIEF.get(name, {}))


def judged_by_clients(method: Method) -> bool:
    """Whether its clients have models of their own."""
    return method.personal.name != "nothing"


def simulated(method: Method) -> World:
    """The world in which `federate` plays what `deployed` plays."""
    if judged_by_clients(method):
        return fl.world(DATA, WHO, MAKE, tests=TESTS.indices)
    return fl.world(DATA, WHO, MAKE, proxy=PROXY)


def deployed(
    method: Method,
    folder: Path,
    rounds: int = 5,
    tamper: Callable | None = None,
    nodes: dict[int, dict] | None = None,
    **plan: Any,
) -> tuple[History, Here]:
    """The history of a method through Flower's messages, and what they went through."""
    tests = TESTS if judged_by_clients(method) else None
    client = client_app(method, MAKE, parts_of(DATA, WHO, tests), engine="looped")
    histories: list[History] = []
    how: dict[str, Any] = {"clients": CLIENTS, "rounds": rounds, "seed": SEED} | plan
    server = server_app(
        method, MAKE, lambda: DATA, proxy=PROXY, done=histories.append, **how
    )
    own = {"memory": str(folder)}
    there = {90 - k: {"partition-id": k} | own for k in range(CLIENTS)}
    grid = Here(client, there if nodes is None else nodes, tamper=tamper)
    grid.play(server)
    return histories[0], grid
