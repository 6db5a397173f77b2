"""Time local training of a cohort: our engines against a plain PyTorch loop.

    python -m benchmarks              # a table
    python -m benchmarks --json       # one line of JSON a case
    python -m benchmarks --quick      # fewer samples, the same cases

A case is a network, a number of clients and a mini-batch, on random data. Each way
takes its turn in every repetition, so that a busy machine slows all of them; the ratio
is the median over the repetitions, the spread its lowest and highest value.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fedlab_core import Local, build, train
from fedlab_core.engine import Client, choose_engine
from fedlab_core.models import Split, initial_state
from fedlab_core.tree import Tree, repeat

Way = Callable[[], object]


def _small_cnn() -> Split:
    features = nn.Sequential(
        nn.Conv2d(1, 8, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3),
        nn.ReLU(),
        nn.Flatten(),
    )
    return Split(features, nn.Linear(144, 10))


@dataclass(frozen=True)
class Case:
    """What is trained: `samples` a client, for one epoch."""

    name: str
    make: Callable[[], nn.Module]
    shape: tuple[int, int, int]
    clients: int
    samples: int
    batch_size: int


CASES = (
    Case(
        "mlp 144-64-64-10",
        build("mlp", (1, 12, 12), 10, hidden=(64, 64)),
        (1, 12, 12),
        100,
        128,
        16,
    ),
    Case(
        "mlp 196-128-128-10",
        build("mlp", (1, 14, 14), 10),
        (1, 14, 14),
        10,
        1200,
        32,
    ),
    Case("small cnn 12x12", _small_cnn, (1, 12, 12), 20, 192, 16),
    Case(
        "disco_cnn fashion-mnist",
        build("disco_cnn", (1, 28, 28), 10),
        (1, 28, 28),
        10,
        512,
        64,
    ),
    Case(
        "disco_cnn cifar-10",
        build("disco_cnn", (3, 32, 32), 10),
        (3, 32, 32),
        10,
        512,
        64,
    ),
)


def plain_loop(case: Case, x: Tensor, y: Tensor, start: Tree, local: Local) -> None:
    """What one writes without this package: a module and an optimiser a client."""
    model = case.make().to(x.device).train()
    for k in range(case.clients):
        model.load_state_dict(start)
        sgd = torch.optim.SGD(model.parameters(), lr=local.lr)
        order = torch.randperm(case.samples, device=x.device) + k * case.samples
        for i in order.split(local.batch_size):
            sgd.zero_grad()
            F.cross_entropy(model(x[i]), y[i]).backward()
            sgd.step()


def measure(case: Case, repetitions: int, device: str) -> dict:
    """One row of the table: samples per second of each way, and the paired ratio."""
    total = case.clients * case.samples
    x = torch.randn(total, *case.shape, device=device)
    y = torch.randint(10, (total,), device=device)
    start = {n: w.to(device) for n, w in initial_state(case.make, 0).items()}
    local = Local(lr=0.01, epochs=1, batch_size=case.batch_size)
    own = torch.arange(total).split(case.samples)
    cohort = [Client(i, (0, 0, k)) for k, i in enumerate(own)]
    model, begin = case.make().to(device), repeat(start, case.clients)

    def ours(engine: str) -> Way:
        return lambda: train(model, x, y, cohort, begin, local, engine=engine)

    ways: dict[str, Way] = {"plain": lambda: plain_loop(case, x, y, start, local)}
    ways |= {engine: ours(engine) for engine in ("looped", "stacked")}
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(repetitions + 1):
        for name, way in ways.items():
            begun = time.perf_counter()
            way()
            if device == "cuda":
                torch.cuda.synchronize()
            if turn:  # the first turn warms up
                rates[name].append(total / (time.perf_counter() - begun))
    chosen = choose_engine(model, case.clients, x)
    ratios = [a / b for a, b in zip(rates[chosen], rates["plain"], strict=True)]
    middle = {name: statistics.median(values) for name, values in rates.items()}
    return {
        "case": f"{case.name} x {case.clients}",
        "device": device,
        "against": "plain-loop",
        "engine": chosen,
        "ours": round(middle[chosen]),
        "theirs": round(middle["plain"]),
        "ratio": round(statistics.median(ratios), 2),
        "spread": [round(min(ratios), 2), round(max(ratios), 2)],
        "looped": round(middle["looped"]),
        "stacked": round(middle["stacked"]),
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Measure every case and print it as it comes."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--json", action="store_true", help="one line of JSON a case")
    parser.add_argument("--quick", action="store_true", help="three repetitions, not 9")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    given = parser.parse_args(argv)
    if given.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: no CUDA device can be used here")
    if not given.json:
        print(f"samples per second, {torch.get_num_threads()} threads, {given.device}")
        print(f"{'case':34}{'plain':>9}{'looped':>9}{'stacked':>9}  ratio (spread)")
    for case in CASES:
        row = measure(case, 3 if given.quick else 9, given.device)
        if given.json:
            print(json.dumps(row), flush=True)
            continue
        low, high = row["spread"]
        print(
            f"{row['case']:34}{row['theirs']:9,}{row['looped']:9,}{row['stacked']:9,}"
            f"  {row['ratio']:.2f} ({low:.2f} to {high:.2f}), {row['engine']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
