"""Work of every peer: the case's data, one client's epoch, and the right answer."""

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.cases import CASES, NETWORKS, Case

Tree = dict[str, Tensor]


IDENTITY = ("name", "batch_size", "lr")


def identity(case: Case) -> dict:
    """Arguments of `find` in another process; a case itself cannot be sent."""
    return {field: getattr(case, field) for field in IDENTITY}


def find(name: str, **changes) -> Case:
    """The case of that name, with some fields changed."""
    named = {case.name: case for case in (*CASES, *NETWORKS)}
    if name not in named:
        raise SystemExit(f"no case {name!r}: choose from {', '.join(named)}")
    return replace(named[name], **changes)


def start(case: Case) -> nn.Module:
    """The network that round one begins with, the same in every process."""
    torch.manual_seed(0)
    return case.make().train()


def clients(case: Case) -> list[tuple[Tensor, Tensor]]:
    """Each client's images and labels."""
    x, y = case.data()
    return list(zip(x.split(case.samples), y.split(case.samples), strict=True))


def batches(x: Tensor, y: Tensor, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """One epoch of mini-batches in a new order; the last one may be smaller."""
    for i in torch.randperm(len(x)).split(size):
        yield x[i], y[i]


def epoch(case: Case, model: nn.Module, x: Tensor, y: Tensor) -> None:
    """Train one client, as plain PyTorch does it."""
    sgd = torch.optim.SGD(model.parameters(), lr=case.lr)
    for images, labels in batches(x, y, case.batch_size):
        sgd.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        sgd.step()


def parameters(model: nn.Module) -> Tree:
    """A copy of the parameters; buffers are not averaged by every peer."""
    return {name: w.detach().clone() for name, w in model.named_parameters()}


def plain_round(case: Case, model: nn.Module, data: list[tuple[Tensor, Tensor]]):
    """Train every client from the model's parameters, then load their average."""
    begin = parameters(model)
    total = {name: torch.zeros_like(w) for name, w in begin.items()}
    for x, y in data:
        model.load_state_dict(begin, strict=False)
        epoch(case, model, x, y)
        for name, w in model.named_parameters():
            total[name] += w.detach() / len(data)
    model.load_state_dict(total, strict=False)
