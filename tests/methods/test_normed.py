"""Networks with BatchNorm under servers that train or shift, beside PyTorch's own."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import fedlab_core as fl
from fedlab_core.keys import fold, keys_of, normal
from fedlab_core.methods.fedbe import _SAMPLE
from fedlab_core.methods.server_steps import SERVER
from fedlab_core.models.layers import BatchNorm
from tests.methods.at_server import server_batches
from tests.methods.plainly import LOCAL, SEED, Setting, agree, played, setting
from tests.reference import distill, fedavg, feddyn
from tests.reference.common import Round

EPOCHS, BATCH = 3, 7
FIT = {"epochs": EPOCHS, "batch": BATCH, "keep_velocity": False}
SGD = distill.sgd(0.08, 0.9, 5e-4)


class Pytorch(nn.Module):
    """PyTorch's BatchNorm, which writes its statistics itself, by the names of ours."""

    running_mean: Tensor
    running_var: Tensor
    weight: nn.Parameter
    bias: nn.Parameter

    def __init__(self, ours: BatchNorm):
        super().__init__()
        self.momentum, self.eps = ours.momentum, ours.eps
        for name, v in ours.named_parameters():
            self.register_parameter(name, nn.Parameter(v.detach().clone()))
        for name in ("running_mean", "running_var"):
            self.register_buffer(name, ours.get_buffer(name).clone())

    def forward(self, x: Tensor) -> Tensor:
        own = self.running_mean, self.running_var, self.weight, self.bias
        return F.batch_norm(x, *own, self.training, self.momentum, self.eps)


def pytorchs(net: nn.Module) -> None:
    """Put PyTorch's BatchNorm wherever a network has ours."""
    for name, part in net.named_children():
        if isinstance(part, BatchNorm):
            setattr(net, name, Pytorch(part))
        pytorchs(part)


@pytest.fixture(scope="module")
def precise(normed) -> fl.World:
    """Three clients, an MLP with BatchNorm, two images a class, all in float64."""
    images, labels = normed.proxy

    def make() -> nn.Module:
        return normed.make().double()

    there = {"x": normed.x.double(), "x_test": normed.x_test.double()}
    known = images.double(), labels
    return replace(normed, model=make().eval(), make=make, proxy=known, **there)


def at_server(kind: str) -> Callable[[Setting, fl.World], list[Round]]:
    def plain(s: Setting, w: fl.World) -> list[Round]:
        def drawn(t: int, name: str, shape: torch.Size) -> Tensor:
            key = keys_of(torch.tensor((SEED, t, SERVER)))
            at = w.parameters.index(name)
            return normal(fold(fold(key, _SAMPLE), at), shape.numel()).view(shape)

        def order(t: int) -> list[Tensor]:
            return server_batches(w, t, EPOCHS, BATCH)

        known = w.view.proxy_set("test")
        how = {"proxy": known, "proxy_batches": order, "optimiser": SGD, "kind": kind}
        return distill.run(*s.start, *s.sgd, s.by_size, noise=drawn, **how)

    return plain


CASES: dict[str, tuple[fl.Method, Callable[[Setting, fl.World], list]]] = {
    "FedAvg": (fl.fedavg(LOCAL), lambda s, w: fedavg.run(*s.start, *s.sgd, s.by_size)),
    "FedDF": (fl.feddf(LOCAL, **FIT), at_server("feddf")),
    "FedBE": (fl.fedbe(LOCAL, floor=0.0, **FIT), at_server("fedbe")),
    "Server-FT": (fl.server_ft(LOCAL, **FIT), at_server("server_ft")),
    "FedDyn, law": (
        fl.feddyn(LOCAL, alpha=0.4, form="law"),
        lambda s, w: feddyn.run_law(*s.start, *s.sgd, s.by_size, 0.4),
    ),
}


@pytest.mark.parametrize("engine", ["looped", "stacked"])
@pytest.mark.parametrize("name", CASES)
def test_batch_norm_is_trained_as_pytorchs(precise, name, engine):
    """Statistics as well: the student's follow its steps; FedDyn's are averaged.

    With FedBE, all teachers are in evaluation mode.
    """
    method, plain = CASES[name]
    s = setting(precise, LOCAL, None)
    pytorchs(s.model)
    rounds = [r if isinstance(r, Round) else Round(r) for r in plain(s, precise)]
    agree(played(precise, method, None, engine), rounds, 1e-11)
