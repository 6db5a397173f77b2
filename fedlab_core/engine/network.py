"""A module as a pure function of parameters, buffers and a mini-batch."""

import copy
from functools import lru_cache

import torch
from torch import Tensor, nn

from fedlab_core.client.local import Batch, ClientInput, Loss
from fedlab_core.errors import require
from fedlab_core.models.layers import BatchNorm, Dropout
from fedlab_core.tree import Tree

# These draw from the global generator, or write their statistics in place.
_REFUSED = (nn.modules.dropout._DropoutNd, nn.modules.batchnorm._NormBase)


class Network:
    """A private copy of a module, in training mode."""

    def __init__(self, model: nn.Module, bf16: bool = False):
        own = {type(m).__name__ for m in model.modules() if isinstance(m, _REFUSED)}
        require(
            not own,
            f"{', '.join(sorted(own))} cannot train many clients alike: "
            "use Dropout and BatchNorm of fedlab_core.models.layers",
        )
        self.given, self.bf16 = model, bf16
        self.others: list[Network] = []
        self.model = copy.deepcopy(model).train()
        named = list(self.model.named_modules())
        self.norms = {n: m for n, m in named if isinstance(m, BatchNorm)}
        self.drops = {n: m for n, m in named if isinstance(m, Dropout)}
        self.live: Tree = dict(self.model.named_parameters())
        self.keys = [f"{n}.key" for n in self.drops]
        self.weights = [f"{n}.sample_weight" for n in self.norms]
        self.slots: dict[str, tuple[dict, str]] = {
            f"{at}.{n}" if at else n: (table, n)
            for at, m in named
            for table in (m._parameters, m._buffers)
            for n, v in table.items()
            if v is not None  # as a layer's bias may be
        }
        self.linear = {f"{n}.weight" for n, m in named if isinstance(m, nn.Linear)}
        self.has_convolutions = any(isinstance(m, nn.Conv2d) for _, m in named)

    def copies(self, n: int) -> "list[Network]":
        """This network and others like it, n in all: one for each thread."""
        while len(self.others) < n - 1:
            self.others.append(Network(self.given, self.bf16))
        return [self, *self.others[: n - 1]]

    def split(self, state: Tree) -> tuple[Tree, Tree]:
        """A state's parameters, and its buffers."""
        params = {n: x for n, x in state.items() if n in self.live}
        return params, {n: x for n, x in state.items() if n not in self.live}

    def call(self, part: str, inside: Tree, x: Tensor) -> Tensor:
        """The module, or a part of it, with other tensors in its slots for this call.

        As `functional_call` does, which would look every slot up again each time.
        """
        slots = [self.slots[name] for name in inside]
        before = [table[name] for table, name in slots]
        try:
            for (table, name), value in zip(slots, inside.values(), strict=True):
                table[name] = value
            return self.model.get_submodule(part)(x)
        finally:
            for (table, name), value in zip(slots, before, strict=True):
                table[name] = value

    def value(
        self, loss: Loss, params: Tree, buffers: Tree, batch: Batch, given: ClientInput
    ) -> tuple[Tensor, Tree, Tree]:
        """The loss, the buffers after it, and what changes in the client's memory.

        A batch without padding has no weights: empty.
        """
        net = _Net(self, params, buffers, batch)
        if not batch.weight.numel():
            n, like = len(batch.x), numbers(batch.x, params)
            batch = Batch(batch.x, batch.y, like.new_full((n,), 1 / n), batch.key)
        with torch.autocast(
            batch.x.device.type, torch.bfloat16, self.bf16, cache_enabled=False
        ):
            found = loss(net, params, batch, given)
        number, changes = found if isinstance(found, tuple) else (found, {})
        detached = {n: x.detach() for n, x in changes.items()}
        return number, net.buffers, detached


@lru_cache(maxsize=4)
def shared(model: nn.Module) -> Network:
    """A network for a short while: of the same model, it is the same one."""
    return Network(model)


def numbers(x: Tensor, params: Tree) -> Tensor:
    """What a network's numbers are like: its data, or, if those are words, itself."""
    return x if x.is_floating_point() else next(iter(params.values()))


class _Net:
    """What a loss calls; see `local.Net`."""

    def __init__(self, network: Network, params: Tree, buffers: Tree, batch: Batch):
        self.network, self.params, self.buffers = network, params, buffers
        self.batch = batch

    def __call__(self, params: Tree, x: Tensor) -> Tensor:
        return self._run("", params, x, self.batch.weight)

    def features(self, params: Tree, x: Tensor) -> Tensor:
        return self._run("features", params, x, self.batch.weight)

    def head(self, params: Tree, h: Tensor, weight: Tensor | None = None) -> Tensor:
        weight = self.batch.weight if weight is None else weight
        return self._run("head", params, h, weight)

    def _run(self, part: str, params: Tree, x: Tensor, weight: Tensor) -> Tensor:
        network, own = self.network, params is self.params
        inside = self.buffers | dict.fromkeys(network.keys, self.batch.key)
        inside |= dict.fromkeys(network.weights, weight)
        if params is not network.live:  # those sit in the module
            inside |= params
        out = network.call(part, inside, x)
        fresh = {
            f"{name}.{buffer}": v
            for name, norm in network.norms.items()
            for buffer, v in norm.take_fresh().items()
        }
        if own:
            self.buffers = self.buffers | fresh
        return out
