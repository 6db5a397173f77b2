"""pfl-research: federated averaging on its simulated backend.

It can share a cohort among processes, each of which runs the same program and trains
its part. That is used here with one thread each, as many processes as there are cores
(and as divide the number of clients, or pfl would draw some twice): faster than one
process that uses every core.
"""

import multiprocessing
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from multiprocessing.connection import Connection

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.cases import Case
from benchmarks.peers import protocol, work

NEVER = 1 << 30


class _Trained(nn.Module):
    """The case's network with the two methods that pfl asks of a model."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(self.network(x), y)

    def metrics(self, x: Tensor, y: Tensor) -> dict[str, float]:
        return {"loss": self.loss(x, y).item()}


def _users(case: Case):
    """pfl trains in the order of a user's data, so each time gets a new order."""
    from pfl.data.federated_dataset import FederatedDataset  # pyright: ignore[reportMissingImports]
    from pfl.data.pytorch import PyTorchTensorDataset  # pyright: ignore[reportMissingImports]
    from pfl.data.sampling import MinimizeReuseUserSampler  # pyright: ignore[reportMissingImports]

    data = work.clients(case)

    def shuffled(k: int):
        order = torch.randperm(case.samples)
        return PyTorchTensorDataset(tuple(part[order] for part in data[k]))

    return FederatedDataset(shuffled, MinimizeReuseUserSampler(range(case.clients)))


def _rounds(case: Case, network: nn.Module) -> Callable[[int], None]:
    """Train so many more rounds.

    pfl counts iterations from the beginning, and evaluates in iteration 0 whatever the
    frequency; that is the first warm-up round.
    """
    from pfl.aggregate.simulate import SimulatedBackend  # pyright: ignore[reportMissingImports]
    from pfl.algorithm.base import NNAlgorithmParams  # pyright: ignore[reportMissingImports]
    from pfl.algorithm.federated_averaging import FederatedAveraging  # pyright: ignore[reportMissingImports]
    from pfl.hyperparam import NNTrainHyperParams  # pyright: ignore[reportMissingImports]
    from pfl.model.pytorch import PyTorchModel  # pyright: ignore[reportMissingImports]

    trained, users, done = _Trained(network), _users(case), 0
    central = torch.optim.SGD(trained.parameters(), lr=1.0)
    model = PyTorchModel(trained, torch.optim.SGD, central)
    backend, algorithm = SimulatedBackend(users, users), FederatedAveraging()
    local = NNTrainHyperParams(
        local_batch_size=case.batch_size,
        local_num_epochs=1,
        local_learning_rate=case.lr,
    )

    def rounds(count: int) -> None:
        nonlocal done
        done += count
        params = NNAlgorithmParams(
            central_num_iterations=done,
            evaluation_frequency=NEVER,
            train_cohort_size=case.clients,
            val_cohort_size=0,
        )
        algorithm.run(params, backend, model, local, send_metrics_to_platform=False)

    return rounds


def _join(rank: int, processes: int, port: int) -> None:
    """Tell pfl, which looks at the environment when it is imported, who this is."""
    os.environ["PFL_PYTORCH_DEVICE"] = "cpu"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # else the processes would meet on a GPU
    os.environ["PFL_WORKER_RANK"] = str(rank)
    os.environ["PFL_WORKER_ADDRESSES"] = ",".join([f"localhost:{port}"] * processes)
    torch.set_num_threads(1)
    np.random.seed(0)  # pfl draws its seeds from here, alike in every process


def _follow(case: dict, orders: Connection, place: tuple[int, int, int]) -> None:
    """A further process: train as many rounds as it is told to, until the end."""
    _join(*place)
    found = work.find(**case)
    rounds = _rounds(found, work.start(found))
    with suppress(EOFError):
        while True:
            rounds(orders.recv())


def _followers(case: Case, processes: int, port: int) -> list[Connection]:
    """Start the other processes; daemons end with this one."""
    new, theirs = multiprocessing.get_context("spawn"), []
    for rank in range(1, processes):
        here, there = new.Pipe()
        given = (work.identity(case), there, (rank, processes, port))
        # pfl joins the others in a process of this name only.
        new.Process(target=_follow, args=given, name="MainProcess", daemon=True).start()
        there.close()
        theirs.append(here)
    return theirs


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return s.getsockname()[1]


def simulate(case: Case, use: protocol.Use) -> None:
    """Set every process up; this one passes each request on and answers it."""
    processes = max(
        n for n in range(1, torch.get_num_threads() + 1) if case.clients % n == 0
    )
    port = _free_port()
    followers = _followers(case, processes, port)
    _join(0, processes, port)
    network = work.start(case)
    own = _rounds(case, network)

    def rounds(count: int) -> None:
        for follower in followers:
            follower.send(count)
        own(count)

    setup = f"{processes} processes x 1 thread"
    use(
        protocol.Simulation(
            version("pfl"), setup, rounds, lambda: work.parameters(network)
        )
    )


if __name__ == "__main__":
    protocol.main(simulate)
