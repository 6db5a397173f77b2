"""A module as a pure function of its parameters and buffers, whole or in its two parts.

The one way in which anything here runs a network. In evaluation a `Network` is a
function of a state. In training it is called by a client's loss, while `bound` to the
client's parameters, buffers and mini-batch: its Dropouts then draw from the batch's
key, and its BatchNorms weigh the batch's samples and leave new statistics behind.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Protocol
from weakref import WeakSet

import torch
from torch import Tensor, nn

from fedlab_core.arguments import Axes, Within, checked
from fedlab_core.errors import InputError, require
from fedlab_core.models.layers import BatchNorm, Dropout
from fedlab_core.models.losses import entropies, own_loss, takes_flat
from fedlab_core.tree import Tree, check_shapes

Samples = Annotated[Tensor, Axes("samples ...", "any")]
Truth = Annotated[Tensor, Axes("samples", "whole", Within(0))]
# These draw from the global generator, or write their statistics in place.
REFUSED = (nn.modules.dropout._DropoutNd, nn.modules.batchnorm._NormBase)
# Networks whose features and head, one after the other, are not the whole.
APART: WeakSet[nn.Module] = WeakSet()


class Net(Protocol):
    """A network as a client's rule calls it: whole, or in its two parts.

    A BatchNorm's running statistics follow the calls with the client's own parameters.
    `weight` says how much each row counts there, if the rows are not the batch's.
    """

    def __call__(self, params: Tree, x: Tensor) -> Tensor: ...

    def features(self, params: Tree, x: Tensor) -> Tensor:
        """Features of x, the input of the head."""
        ...

    def head(self, params: Tree, h: Tensor, weight: Tensor | None = None) -> Tensor:
        """The head alone, on features."""
        ...

    def each(self, outputs: Tensor, y: Tensor) -> Tensor:
        """The loss of every sample: the cross-entropy, or that of the world."""
        ...


@dataclass
class _Bound:
    """A client's step: its parameters, buffers, sample weights and key."""

    params: Tree
    buffers: Tree  # as the calls with these parameters leave them
    weight: Tensor  # of the mini-batch's samples
    key: Tensor


class Network:
    """A module with other tensors in its slots for each call.

    In training it is a private copy of the module, and `copies` makes more, one for
    each thread; in evaluation it is the module itself, unless that is in training.
    """

    def __init__(self, model: nn.Module, training: bool = False, bf16: bool = False):
        if training:
            refuse(model)
        shared = not training and not model.training
        self.model = model if shared else copy.deepcopy(model).train(training)
        self.given, self.bf16 = model, bf16
        self.loss, self.flat = own_loss(model) or entropies, takes_flat(model)
        self.others: list[Network] = []
        self.bound: _Bound | None = None
        parts = list(self.model.named_modules())
        self.norms = {n: m for n, m in parts if isinstance(m, BatchNorm)}
        drops = {n: m for n, m in parts if isinstance(m, Dropout)}
        free = iter(sorted({*range(2 * len(drops))} - {m.salt for m in drops.values()}))
        for m in drops.values() if training else ():
            m.salt = next(free) if m.salt is None else m.salt
        self.live: Tree = dict(self.model.named_parameters())
        self.whole = self.model.state_dict()
        self.keys = [f"{n}.key" for n in drops]
        self.weights = [f"{n}.sample_weight" for n in self.norms]
        self.slots: dict[str, tuple[dict, str]] = {
            f"{at}.{n}" if at else n: (table, n)
            for at, m in parts
            for table in (m._parameters, m._buffers)
            for n, v in table.items()
            if v is not None  # as a layer's bias may be
        }
        self.linear = {f"{n}.weight" for n, m in parts if isinstance(m, nn.Linear)}
        self.has_convolutions = any(isinstance(m, nn.Conv2d) for _, m in parts)

    def copies(self, n: int) -> "list[Network]":
        """This network and others like it, n in all: one for each thread."""
        while len(self.others) < n - 1:
            self.others.append(Network(self.given, self.model.training, self.bf16))
        return [self, *self.others[: n - 1]]

    def split(self, state: Tree) -> tuple[Tree, Tree]:
        """A state's parameters, and its buffers."""
        params = {n: x for n, x in state.items() if n in self.live}
        return params, {n: x for n, x in state.items() if n not in self.live}

    def __call__(self, params: Tree, x: Tensor) -> Tensor:
        return self._run("", params, x)

    def features(self, params: Tree, x: Tensor) -> Tensor:
        """Features of x, the input of the head."""
        return self._run("features", params, x)

    def head(self, params: Tree, h: Tensor, weight: Tensor | None = None) -> Tensor:
        """The head alone, on features."""
        return self._run("head", params, h, weight)

    def each(self, outputs: Tensor, y: Tensor) -> Tensor:
        """The loss of every sample: the cross-entropy, or that of the world."""
        return self.loss(outputs.reshape(y.shape) if self.flat else outputs, y)

    @contextmanager
    def training_on(
        self, params: Tree, buffers: Tree, weight: Tensor, key: Tensor
    ) -> Iterator[_Bound]:
        """Bind calls to a client's step; the record given collects its new buffers."""
        self.bound = _Bound(params, buffers, weight, key)
        try:
            yield self.bound
        finally:
            self.bound = None

    def call(self, part: str, inside: Tree, x: Tensor) -> Tensor:
        """Output of the module, or of a part of it, with other tensors in its slots.

        Like `functional_call`, which would look every slot up again each time.
        """
        module = self._part(part)
        slots = [self.slots[name] for name in inside]
        before = [table[name] for table, name in slots]
        try:
            for (table, name), value in zip(slots, inside.values(), strict=True):
                table[name] = value
            return module(x)
        finally:
            for (table, name), value in zip(slots, before, strict=True):
                table[name] = value

    def _part(self, name: str) -> nn.Module:
        try:
            part = self.model.get_submodule(name)
            why = f"is more than its head of its features: `{name}` alone would differ"
        except AttributeError:
            part, why = self.model, f"has no `{name}`"
        if name and (part is self.model or self.given in APART):
            raise InputError(
                f"the network, a {type(self.model).__name__}, {why}; this method needs "
                "both, as fedlab_core.models.Split(features, head) has them"
            )
        return part

    def take_fresh(self) -> Tree:
        """The running statistics that the last call measured, once."""
        return {
            f"{name}.{buffer}": v
            for name, norm in self.norms.items()
            for buffer, v in norm.take_fresh().items()
        }

    def _run(
        self, part: str, params: Tree, x: Tensor, weight: Tensor | None = None
    ) -> Tensor:
        now = self.bound
        if params is not self.live:
            like = self.whole if now is None else self.live
            asked = {n: v for n, v in like.items() if n.startswith(part and f"{part}.")}
            if not asked.keys() <= params.keys() <= self.slots.keys():
                check_shapes(params, asked, "the network's parameters must be")
        if now is None:
            return self.call(part, params, x)
        own = params is now.params
        inside = now.buffers | dict.fromkeys(self.keys, now.key)
        inside |= dict.fromkeys(self.weights, now.weight if weight is None else weight)
        if params is not self.live:  # those sit in the module
            inside |= params
        out = self.call(part, inside, x)
        fresh = self.take_fresh()
        if own:
            now.buffers = now.buffers | fresh
        return out


def refuse(model: nn.Module) -> None:
    """Refuse layers of PyTorch's that no key and no padding reaches."""
    own = {type(m).__name__ for m in model.modules() if isinstance(m, REFUSED)}
    require(
        not own,
        f"{', '.join(sorted(own))} cannot train many clients alike: "
        "use Dropout and BatchNorm of fedlab_core.models.layers, or fl.adapted",
    )


@lru_cache(maxsize=32)
def shared(model: nn.Module) -> Network:
    """A network to train for a short while, cached by its model."""
    return Network(model, training=True)


def takes(model: nn.Module, state: Tree, x: Tensor, y: Tensor | None = None) -> None:
    """Refuse a state of another network, and samples or labels that it cannot take.

    Names and shapes are compared, and the network is tried on one sample.
    """
    check_shapes(state, model.state_dict(), "the network's state must be")
    require(x.ndim > 0 and len(x) > 0, "x holds no sample")
    try:
        with torch.no_grad():
            said = Network(model)(state, x[:1])
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        shape, why = tuple(x.shape[1:]), str(error).splitlines()[0]
        raise InputError(f"the network takes no x of shape {shape}: {why}") from None
    if y is None:
        return
    require(len(x) == len(y), f"{len(x)} samples do not go with {len(y)} labels")
    if own_loss(model):
        return
    most, outputs = int(y.max()), tuple(said.shape[1:])
    known = len(outputs) == 1 and most < outputs[0]
    require(known, f"y has the label {most}, but the network's outputs are {outputs}")


@contextmanager
def explained(
    model: nn.Module, states: Tree, x: Tensor, y: Tensor | None = None
) -> Iterator[None]:
    """Turn an error of arguments that do not fit together into an InputError."""
    try:
        yield
    except InputError:
        raise
    except (RuntimeError, ValueError, IndexError, TypeError, KeyError):
        takes(model, {n: v[0] for n, v in states.items() if v.ndim and len(v)}, x, y)
        raise


def float_like(x: Tensor, params: Tree) -> Tensor:
    """Tensor to take type and device from: x, or a parameter if x holds words."""
    return x if x.is_floating_point() else next(iter(params.values()))


@checked
def logits(model: nn.Module, state: Tree, x: Tensor) -> Tensor:
    """One model's outputs on x, in evaluation mode."""
    with explained(model, {n: v[None] for n, v in state.items()}, x):
        return Network(model)(state, x)
