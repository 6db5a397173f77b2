"""Networks written elsewhere, as functions that make what the engine takes."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from fedlab_core.arguments import checked
from fedlab_core.errors import InputError, require
from fedlab_core.models import Split, empty_sample
from fedlab_core.models.layers import BatchNorm, Dropout
from fedlab_core.models.split import Shape, made_by

Make = Callable[[], nn.Module]


@checked
def adapted(make: Make, shape: Shape, *, head: str = "") -> Make:
    """A function that makes the same network from parts that train many clients alike.

    PyTorch's BatchNorm and Dropout become ours, lazy layers get their sizes from a
    sample of this shape, frozen parameters become buffers, and nothing is changed in
    place. `head` names the last layer, as "fc": the network is then cut in front of
    it, as rFedAvg, FedImpro and MOON need. What cannot be adapted is refused. The way
    back into the network as it was is `load_model`, of a file by `save_model`.
    """

    def made() -> nn.Module:
        model = made_by(make)
        _sized(model, shape)
        for name, part in list(model.named_modules()):
            if isinstance(part, nn.MultiheadAttention):
                drops = f"{name or 'the network'} drops attention from PyTorch's"
                cure = "generator: make it with dropout=0.0"
                require(part.dropout == 0, f"{drops} {cure}")
            if hasattr(part, "inplace"):
                part.__dict__["inplace"] = False
            _thaw(part)
            for at, child in list(part.named_children()):
                where = f"{name}.{at}".lstrip(".")
                part._modules[at] = _replaced(child, where)
        model = _replaced(model, "the network")
        return _cut(model, shape, head) if head else model

    made()  # so that it is refused here, and not in the first round
    return made


def _sized(model: nn.Module, shape: Shape) -> None:
    """Give lazy layers their sizes."""
    lazy = (nn.parameter.UninitializedParameter, nn.parameter.UninitializedBuffer)
    tensors = [*model.parameters(), *model.buffers()]
    if any(isinstance(v, lazy) for v in tensors):
        model.eval()
        _out(model, shape)
        model.train()


def _out(model: nn.Module, shape: Shape) -> Tensor:
    with torch.no_grad():
        try:
            return model(empty_sample(shape, model))
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            why = (str(error).splitlines() or [type(error).__name__])[0]
            raise InputError(f"adapted: it takes no sample of {shape}: {why}") from None


def _thaw(part: nn.Module) -> None:
    """Frozen parameters as buffers, which training leaves as they are."""
    for name, value in list(part._parameters.items()):
        if value is not None and not value.requires_grad:
            del part._parameters[name]
            part.register_buffer(name, value.detach())


def _replaced(part: nn.Module, where: str) -> nn.Module:
    """Our layer in the place of PyTorch's, with its numbers; or the part itself."""
    if isinstance(part, _DropoutNd):
        plain = type(part) is nn.Dropout
        kind = type(part).__name__
        require(plain, f"{where}, a {kind}, has no match here: use Dropout")
        return Dropout(float(part.p)).train(part.training)
    if not isinstance(part, _BatchNorm):
        return part
    kind = type(part).__name__
    known = part.affine and part.track_running_stats and part.momentum is not None
    need = "weights, running statistics and a momentum"
    require(known, f"{where}, a {kind}, can be adapted only with {need}")
    trained = isinstance(part.weight, nn.Parameter)
    text = f"{where}, a frozen {kind}, would still measure its batches: leave it free"
    require(trained, text)
    ours = BatchNorm(part.num_features, float(part.momentum or 0), part.eps)
    theirs = part.state_dict()
    ours = ours.to(theirs["weight"].dtype)
    ours.load_state_dict({n: theirs[n] for n in ours.state_dict()})
    return ours.train(part.training)


def _cut(model: nn.Module, shape: Shape, head: str) -> Split:
    """The network as what comes before a layer, and the layer."""
    try:
        layer = model.get_submodule(head)
    except AttributeError:
        known = ", ".join(n for n, _ in model.named_modules() if n)
        raise InputError(f"head={head!r} is no layer of: {known:.200}") from None
    model.eval()
    whole = _out(model, shape)
    parent, _, at = head.rpartition(".")
    model.get_submodule(parent)._modules[at] = nn.Identity()
    cut = Split(model, layer)
    flat = _out(model, shape).ndim == 2
    same = torch.allclose(_out(cut.eval(), shape), whole, equal_nan=True)
    text = f"head={head!r} is not the last layer on flat features: name that one"
    require(flat and same, text)
    return cut.train()
