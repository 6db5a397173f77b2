"""Flower: FedAvg in its simulation runtime, which runs clients in Ray's processes.

As many client processes as there are cores, one thread each: clients are independent,
so this is faster than one process that uses every core (Ray gives a process as many
threads as it has `num_cpus`). Messages wait in a store that the server looks into every
0.1 s unless told otherwise, a good part of a short round; here, every 0.01 s. The
runtime's own wait of 0.1 s between looks for new messages cannot be changed.
"""

import logging
import os
from functools import cache
from importlib.metadata import version

import torch
from torch import Tensor, nn

from benchmarks.cases import Case
from benchmarks.peers import protocol, work

PULL_INTERVAL = 0.01
ENVIRONMENT = {  # before the imports
    "FLWR_TELEMETRY_ENABLED": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",  # else any other process goes before the clients
}


@cache
def _world(**identity) -> tuple[Case, nn.Module, list[tuple[Tensor, Tensor]]]:
    """A case, its network and its data: made once in a process, never sent."""
    torch.set_num_threads(1)
    case = work.find(**identity)
    return case, work.start(case), work.clients(case)


def _train(message, context):
    """One client's round: load what it is sent, train, send back."""
    from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict  # pyright: ignore[reportMissingImports]

    config = message.content["config"]
    case, model, clients = _world(**{key: config[key] for key in work.IDENTITY})
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    work.epoch(case, model, *clients[context.node_config["partition-id"]])
    reply = {
        "arrays": ArrayRecord(model.state_dict()),
        "metrics": MetricRecord({"num-examples": case.samples}),
    }
    return Message(RecordDict(reply), reply_to=message)


def _strategy(clients: int):
    from flwr.serverapp.strategy import FedAvg  # pyright: ignore[reportMissingImports]

    class Everyone(FedAvg):
        """FedAvg averages whatever arrives; here, a client that failed is an error."""

        def aggregate_train(self, server_round, replies):
            replies = list(replies)
            failed = [reply.error.reason for reply in replies if reply.has_error()]
            if failed or len(replies) < clients:
                raise RuntimeError(f"{len(replies)} of {clients} replied: {failed[:1]}")
            return super().aggregate_train(server_round, replies)

    return Everyone(
        fraction_evaluate=0.0, min_train_nodes=clients, min_available_nodes=clients
    )


def _serve(case: Case, use: protocol.Use, grid, processes: int) -> None:
    """Serve requests: start the strategy anew at each one."""
    from flwr.app import ArrayRecord, ConfigRecord  # pyright: ignore[reportMissingImports]

    model, strategy = work.start(case), _strategy(case.clients)
    arrays = ArrayRecord(model.state_dict())
    config = ConfigRecord(work.identity(case))
    grid.pull_interval = PULL_INTERVAL

    def rounds(count: int) -> None:
        nonlocal arrays
        result = strategy.start(grid, arrays, num_rounds=count, train_config=config)
        arrays = result.arrays

    def parameters() -> work.Tree:
        model.load_state_dict(arrays.to_torch_state_dict())
        return work.parameters(model)

    setup = f"{processes} processes x 1 thread"
    use(protocol.Simulation(version("flwr"), setup, rounds, parameters))


def simulate(case: Case, use: protocol.Use) -> None:
    """Start the runtime; requests are answered inside the server, until they end."""
    os.environ |= ENVIRONMENT
    from flwr.clientapp import ClientApp  # pyright: ignore[reportMissingImports]
    from flwr.serverapp import ServerApp  # pyright: ignore[reportMissingImports]
    from flwr.simulation import run_simulation  # pyright: ignore[reportMissingImports]

    logging.getLogger("flwr").setLevel(logging.ERROR)
    processes = torch.get_num_threads()
    server, client = ServerApp(), ClientApp()
    server.main()(lambda grid, context: _serve(case, use, grid, processes))
    client.train()(_train)
    resources = {
        "init_args": {"num_cpus": processes, "log_to_driver": False},
        "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
    }
    run_simulation(server, client, case.clients, backend_config=resources)


if __name__ == "__main__":
    # Ray sends what belongs to a module by name, what belongs to __main__ by value,
    # and would then make the data anew for every client.
    from benchmarks.peers import flower_peer

    protocol.main(flower_peer.simulate)
