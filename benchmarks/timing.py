"""Ways to train a case in this process, and timing several ways in turn."""

import statistics
import time
from collections.abc import Callable, Mapping

import torch
from torch.nn import functional as F

from benchmarks.cases import Case
from fedlab_core import ClientInput, Training, train
from fedlab_core.engine import Client, choose_engine
from fedlab_core.engine.determinism import exact
from fedlab_core.models import initial_state
from fedlab_core.tree import Tree, repeat, weighted_sum

_FILL = 0.5  # seconds that the rounds of a turn take
Way = Callable[[], float]  # trains once or more, and says how many samples a second


def plain_loop(case: Case, device: str) -> Way:
    """Training as written without this package: a module, an optimiser, a loop."""
    x, y = case.data(device=device)
    start = {n: w.to(device) for n, w in initial_state(case.make, 0).items()}
    model = case.make().to(device).train()
    keys = torch.arange(case.epochs, device=device)

    @exact()  # as ours: without, a GPU would round the loop's alone to TF32
    def train_all() -> Tree:
        total = {n: torch.zeros_like(w) for n, w in start.items()}
        for k in range(case.clients):
            model.load_state_dict(start)
            sgd = torch.optim.SGD(
                model.parameters(),
                case.lr,
                momentum=case.momentum,
                weight_decay=case.weight_decay,
            )
            for epoch in range(case.epochs):
                order = torch.randperm(case.samples, device=device) + k * case.samples
                for i in order.split(case.batch_size):
                    if case.drop_last and len(i) < case.batch_size:
                        continue
                    images = x[i]
                    if case.augment:
                        images = case.augment(images, keys[epoch])
                    sgd.zero_grad()
                    F.cross_entropy(model(images), y[i]).backward()
                    sgd.step()
            for n, w in model.state_dict().items():
                total[n] += w / case.clients
        return total

    return timed(train_all, case, device)


def ours(
    case: Case, device: str, engine: str = "auto", precision: str = "float32"
) -> Way:
    """A round of this package: the cohort trained, its models averaged."""
    x, y = case.data(device=device)
    start = {n: w.to(device) for n, w in initial_state(case.make, 0).items()}
    numbers = (case.lr, case.epochs, case.batch_size, case.momentum)
    training = Training(
        *numbers, case.weight_decay, case.drop_last, augment=case.augment
    )
    own = torch.arange(case.total).split(case.samples)
    cohort = [Client(i, (0, 0, k)) for k, i in enumerate(own)]
    model, given = case.make().to(device), ClientInput(repeat(start, case.clients))
    weights, kept = torch.full((case.clients,), 1 / case.clients), {}

    def train_all() -> Tree:
        trained = train(
            model, x, y, cohort, given, training,
            engine=engine, precision=precision, kept=kept,  # pyright: ignore
        )  # fmt: skip
        return weighted_sum(trained.states, weights)

    return timed(train_all, case, device)


def chosen(case: Case, device: str) -> str:
    """The engine that `train` takes for a case."""
    images = torch.zeros(1, *case.shape, device=device)
    return choose_engine(case.make(), case.clients, images)


def timed(train_all: Callable[[], object], case: Case, device: str) -> Way:
    """Time whole rounds, as many as fill a good part of a second."""

    def once() -> float:
        begun = time.perf_counter()
        train_all()
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - begun

    rounds = 0

    def rate() -> float:
        nonlocal rounds
        if not rounds:  # warm, then see how long one takes
            once()
            rounds = max(1, round(_FILL / once()))
        seconds = sum(once() for _ in range(rounds))
        return rounds * case.total * case.epochs / seconds

    return rate


def limit(device: str, side: int = 1536) -> Way:
    """The machine's limit: the operations a second of a large product."""
    a = torch.ones(side, side, device=device)

    @exact()
    def rate() -> float:
        begun = time.perf_counter()
        for _ in range(8):
            torch.mm(a, a)
        if device == "cuda":
            torch.cuda.synchronize()
        return 8 * 2 * side**3 / (time.perf_counter() - begun)

    return rate


def alternate(
    ways: Mapping[str, Way], turns: int, budget: float
) -> dict[str, list[float]]:
    """Every way's rate in each of several turns, fewer if they outlast the budget.

    In a turn each way is timed once, so that a busy machine slows all of them.
    """
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        way()
    begun = time.perf_counter()
    for done in range(turns):
        for name, way in ways.items():
            rates[name].append(way())
        if (time.perf_counter() - begun) * (done + 2) / (done + 1) > budget:
            break
    return rates


def compare(rates: dict[str, list[float]], mine: str, theirs: str) -> dict:
    """Median rates, and the median and range of the turns' ratios."""
    ratios = [a / b for a, b in zip(rates[mine], rates[theirs], strict=True)]
    return {
        "ours": round(statistics.median(rates[mine]), 1),
        "theirs": round(statistics.median(rates[theirs]), 1),
        "ratio": round(statistics.median(ratios), 3),
        "spread": [round(min(ratios), 3), round(max(ratios), 3)],
        "turns": len(ratios),
    }
