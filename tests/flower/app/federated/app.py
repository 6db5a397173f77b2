"""The app of two machines and a server: the tests' small world, by any method.

The folder that FEDLAB_TRIED names is where it says how far it is, and what came of it.
"""

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch as files

import fedlab_core as fl
from fedlab_core import Dataset, History, Method
from fedlab_flower import client_app, parts_of, server_app
from tests.flower.playing import DATA, MAKE, PROXY, SEED, named

CLIENTS = 2
PARTS = fl.dirichlet(DATA.y_train, CLIENTS, 0.5, seed=1)


def tried() -> Path:
    """The folder for what is to be seen from outside."""
    return Path(os.environ["FEDLAB_TRIED"])


def chosen(config: Mapping[str, Any]) -> Method:
    """The method that the run's configuration names."""
    return named(str(config["method"]))


def seen(message: Any, context: Any, go_on: Any) -> Any:
    """A mod as Flower has them: it says what came, and waits if it is told to."""
    facts = message.content.config_records["facts"]
    kind = message.metadata.message_type
    name = f"{kind}-{facts['round']}-{context.node_config['partition-id']}"
    (tried() / f"began-{name}").touch()
    while (tried() / f"hold-{name}").exists():
        time.sleep(0.1)
    return go_on(message, context)


def own() -> Dataset:
    """The server's data; and which process the server is."""
    (tried() / "server.pid").write_text(str(os.getpid()))
    return DATA


def written(history: History) -> None:
    """Write down what came of a run."""
    path = tried() / history.method
    files.save_file(
        {n: v.contiguous() for n, v in history.states.items()}, f"{path}.safetensors"
    )
    Path(f"{path}.json").write_text(json.dumps(history.rows))


client = client_app(chosen, MAKE, parts_of(DATA, PARTS), engine="looped", mods=[seen])
server = server_app(
    chosen, MAKE, own, proxy=PROXY, done=written, clients=CLIENTS, seed=SEED
)
