"""FedLab: its serial SGD trainer and synchronous server, in one process."""

from importlib.metadata import version

import torch

from benchmarks.cases import Case
from benchmarks.peers import protocol, work


class _Data:
    """Data set as the trainer expects it: mini-batches of a client.

    Batches are cut from tensors: a DataLoader, which collates samples one by one, would
    only be slower.
    """

    def __init__(self, case: Case):
        self.clients = work.clients(case)

    def get_dataloader(self, client: int, batch_size: int):
        return work.batches(*self.clients[client], batch_size)


def simulate(case: Case, use: protocol.Use) -> None:
    """Set up a standalone pipeline whose last round moves on with every request."""
    from fedlab.contrib.algorithm.basic_client import SGDSerialClientTrainer  # pyright: ignore[reportMissingImports]
    from fedlab.contrib.algorithm.basic_server import SyncServerHandler  # pyright: ignore[reportMissingImports]
    from fedlab.core.standalone import StandalonePipeline  # pyright: ignore[reportMissingImports]

    class Pipeline(StandalonePipeline):
        def evaluate(self) -> None:
            """Evaluate nothing."""

    model = work.start(case)
    trainer = SGDSerialClientTrainer(model, case.clients)
    trainer.setup_dataset(_Data(case))
    trainer.setup_optim(1, case.batch_size, case.lr)
    handler = SyncServerHandler(model, global_round=0, sample_ratio=1.0)
    pipeline = Pipeline(handler, trainer)

    def rounds(count: int) -> None:
        handler.global_round += count
        pipeline.main()

    use(
        protocol.Simulation(
            version=version("fedlab"),
            setup=f"1 process x {torch.get_num_threads()} threads",
            rounds=rounds,
            parameters=lambda: work.parameters(handler.model),
        )
    )


if __name__ == "__main__":
    protocol.main(simulate)
