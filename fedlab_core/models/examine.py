"""Refusals of networks that would be trained otherwise than as they are written.

Every client's tensors are put into the same module, one client after another or all at
once. So a network has to be a function of its parameters, buffers and input alone.
"""

import copy
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor, nn

from fedlab_core.errors import InputError, require
from fedlab_core.keys import undrawn
from fedlab_core.models.layers import BatchNorm
from fedlab_core.models.losses import UNFIT
from fedlab_core.models.network import APART, Network, refuse
from fedlab_core.tree import gradient, repeat, with_grad

_TABLES = ("_parameters", "_buffers", "_modules")
_PLAIN = (bool, int, float, complex, str, bytes)
_FLOATS = (torch.float32, torch.float64)
_COMPLEX = (torch.complex64, torch.complex128)


def alike(a: nn.Module, b: nn.Module) -> bool:
    """Whether two networks are one function of their parameters and buffers.

    They have the same kinds of parts with the same attributes in the same places. What
    cannot be compared, as a function made anew for each, has to be one object.
    """
    parts = zip_longest(a.named_modules(), b.named_modules(), fillvalue=("", None))
    return a is b or all(m == n and _same_part(x, y) for (m, x), (n, y) in parts)


def _same_part(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    return _same(*(
        {n: v for n, v in vars(m).items() if n not in _TABLES}
        | {n: _kind(v, n in m._non_persistent_buffers_set)
           for n, v in (m._parameters | m._buffers).items()}
        for m in (a, b)
    ))  # fmt: skip


def _kind(value: Tensor | None, constant: bool) -> Any:
    """The kind of a tensor; its values, too, if no state has them."""
    if value is None:
        return None
    about = str(value.dtype), value.requires_grad, *value.shape
    return (*about, *value.flatten().tolist()) if constant else about


def _same(a: Any, b: Any) -> bool:
    if a is b or type(a) is not type(b):
        return a is b
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(v, b[n]) for n, v in a.items())
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    return isinstance(a, (*_PLAIN, set, frozenset)) and a == b


def examined(model: nn.Module, x: Tensor) -> nn.Module:
    """The network, where the samples x are, if it can be trained as it is written."""
    first: dict[int, str] = {}
    every = dict(model.named_parameters(remove_duplicate=False))
    require(bool(every), f"the network, a {type(model).__name__}, has no parameters")
    for name, v in every.items():
        lazy = isinstance(v, nn.parameter.UninitializedParameter) or v.is_meta
        require(not lazy, f"{name} has no numbers yet: make the network with its sizes")
        kind = str(v.dtype).removeprefix("torch.")
        require(
            v.dtype in _FLOATS,
            f"{name} is {kind}: parameters must be float32 or float64",
        )
        frozen = f"{name} has requires_grad=False, but all parameters are trained"
        require(
            v.requires_grad,
            f"{frozen}: register it as a buffer to keep it, as fl.adapted does",
        )
        hooked = v._backward_hooks or v._post_accumulate_grad_hooks
        require(not hooked, f"{name} has a hook, which training would leave")
        require(v.ndim > 0, f"{name} has no axis: make it torch.ones(1), for instance")
        other = first.setdefault(id(v), name)
        text = f"{other} and {name} are one parameter, and would be trained as two"
        require(other == name, f"{text}: use the one in forward where both are needed")
    for n, m in model.named_modules():
        at = f"the backward hook of {n or type(m).__name__}"
        hooked = m._backward_hooks or m._backward_pre_hooks
        require(not hooked, f"{at} would be left out where many are trained at once")
    model.to(x.device)
    refuse(model)
    if all(_a_function(model, x, mode) for mode in (True, False)):
        _for_many(model, x)
    return model


def _a_function(model: nn.Module, x: Tensor, training: bool) -> bool:
    """Whether x fits. Refuse a network that is more than a function of its tensors.

    Tensors count the writes to them, so that one of the same numbers is seen as well.
    """
    who = f"the network, a {type(model).__name__},"
    for n, v in model.state_dict().items():
        number = v.dtype not in (torch.bool, *_COMPLEX)
        require(number, f"{who} has {n} in its state, which no mean can be taken of")
    try:
        probe, other = (copy.deepcopy(model).train(training) for _ in range(2))
    except RuntimeError:  # as the older weight_norm, which hooks write into
        kept = (
            "a tensor of an earlier call: register one that is trained as a parameter"
        )
        raise InputError(f"{who} keeps {kept}") from None
    there = x.clone()
    before = {n: (v, v._version) for n, v in probe.named_buffers()}
    kept = {n: dict(vars(m)) for n, m in probe.named_modules()}
    instead = "Dropout of fedlab_core.models.layers"
    with _quiet(x), undrawn(who, x.device, instead):
        try:
            said = probe(there)
            alone, again = other(x[:1].clone()), other(x.clone())
        except UNFIT:
            return False  # `world` refuses samples that do not fit
    kind = type(said).__name__
    require(isinstance(said, Tensor), f"{who} must give a tensor of logits, not {kind}")
    written = there._version > 0
    require(not written, f"{who} changes its input in place: not inplace=True")
    text = "in forward, where all clients would find it"
    for n, v in probe.named_buffers():
        same = v is before[n][0] and v._version == before[n][1]
        require(same, f"{who} writes its buffer {n} {text}")
    for n, m in probe.named_modules():
        for key, value in vars(m).items():
            fixed = not isinstance(value, _PLAIN) or _same(value, kept[n].get(key))
            at = f"{n}.{key}" if n else key
            require(fixed, f"{who} keeps {at} from one forward to the next")
    text = "gives other numbers when it is called again"
    require(_near(said, again), f"{who} {text}")
    normed = training and any(isinstance(m, BatchNorm) for m in model.modules())
    apart = normed or _near(said[:1] if said.ndim else said, alone)
    text = "what it gives for one depends on the others of a mini-batch"
    require(apart, f"{who} mixes samples: {text}")
    return True


def _near(a: Tensor, b: Tensor) -> bool:
    """Whether two outputs differ by rounding alone."""
    far = 1e-4 * float(a.nan_to_num().abs().max()) if a.numel() else 0.0
    return a.shape == b.shape and torch.allclose(a, b, atol=far, equal_nan=True)


def _for_many(model: nn.Module, x: Tensor) -> None:
    """Refuse a network that cannot run as many; notice parts that are not the whole."""
    who = f"the network, a {type(model).__name__},"
    network, one = Network(model), model.state_dict()
    training, many = Network(model, training=True), x.expand(2, *x.shape)
    params, buffers = training.split(repeat(one, 2))
    with _quiet(x):
        try:
            torch.vmap(network)(params | buffers, many)
            with torch.enable_grad():
                params = with_grad(params)
                out = torch.vmap(partial(training.call, ""))(params | buffers, many)
                gradient(out.sum(), params)
        except UNFIT as error:
            why = str(error).strip().splitlines()[0].split(". We could")[0]
            asks = "data-dependent" in why or ".item()" in why
            why = "forward asks a tensor (if, float): use torch.where" if asks else why
            if cell := re.search("aten::(gru|lstm|rnn)", why):
                own = "nn.RNNCell" if cell[1] == "rnn" else "nn.GRUCell"
                why += f"; call {own} in a loop over the steps, which can"
            raise InputError(f"{who} cannot run as many at once: {why}") from None
        if {"features", "head"} <= dict(model.named_children()).keys():
            try:
                parts = network.head(one, network.features(one, x))
                whole = torch.allclose(parts, network(one, x), equal_nan=True)
            except UNFIT:
                whole = False
            if not whole:
                APART.add(model)


@contextmanager
def _quiet(x: Tensor) -> Iterator[None]:
    """No gradients, and nothing drawn that a later draw would notice."""
    with torch.no_grad(), torch.random.fork_rng([x.device] if x.is_cuda else []):
        yield
