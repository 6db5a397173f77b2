"""This package as it was at an earlier commit; see `environments.earlier`."""

from pathlib import Path

import torch

from benchmarks.cases import Case
from benchmarks.peers import protocol, work
from fedlab_core import ClientInput, Training, train
from fedlab_core.engine import Client
from fedlab_core.tree import repeat, weighted_sum


def simulate(case: Case, use: protocol.Use) -> None:
    """Rounds as `timing.ours` plays them, each from the average of the one before."""
    network, (x, y) = work.start(case), case.data()
    numbers = (case.lr, case.epochs, case.batch_size, case.momentum)
    training = Training(
        *numbers, case.weight_decay, case.drop_last, augment=case.augment
    )
    own = torch.arange(case.total).split(case.samples)
    cohort = [Client(i, (0, 0, k)) for k, i in enumerate(own)]
    weights, kept = torch.full((case.clients,), 1 / case.clients), {}
    state = {n: w.clone() for n, w in network.state_dict().items()}

    def rounds(count: int) -> None:
        for _ in range(count):
            given = ClientInput(repeat(state, case.clients))
            trained = train(network, x, y, cohort, given, training, kept=kept)
            state.update(weighted_sum(trained.states, weights))

    def parameters() -> work.Tree:
        return {n: state[n].clone() for n, _ in network.named_parameters()}

    version = Path("COMMIT").read_text().strip()
    setup = f"1 process x {torch.get_num_threads()} threads"
    use(protocol.Simulation(version, setup, rounds, parameters))


if __name__ == "__main__":
    protocol.main(simulate)
