"""Losses of outputs and labels: one number a sample.

A world's `loss` is one of these, or a function of one's own: `(outputs, labels)` to a
tensor with a number a sample. It runs inside the engine, as a rule does: no branch on a
tensor, and nothing drawn.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fedlab_core.errors import InputError, require

Each = Callable[[Tensor, Tensor], Tensor]
_OWN = "_fedlab_loss"  # in a network's own dictionary: the loss of its world
_FLAT = "_fedlab_flat"  # and whether it is given outputs in the labels' shape
UNFIT = (RuntimeError, ValueError, IndexError, TypeError)


def entropies(logits: Tensor, y: Tensor) -> Tensor:
    """The cross-entropy of every sample.

    To the last bit that of PyTorch, whose own takes a way through Python under vmap.
    """
    return -F.log_softmax(logits, -1).gather(-1, y[..., None])[..., 0]


def squared(outputs: Tensor, y: Tensor) -> Tensor:
    """The squared error of every sample: the mean, if it has several numbers."""
    return _a_sample((outputs.reshape(y.shape) - y).square())


def logistic(outputs: Tensor, y: Tensor) -> Tensor:
    """The binary cross-entropy of every sample: the mean, if it has several logits.

    Labels are 0 or 1, one for each logit; probabilities may lie in between.
    """
    z = outputs.reshape(y.shape)
    return _a_sample(F.softplus(z) - y * z)


def _a_sample(values: Tensor) -> Tensor:
    return values.flatten(1).mean(1) if values.ndim > 1 else values


def own_loss(model: nn.Module) -> Each | None:
    """The loss of the world that the network is of; None: the cross-entropy."""
    return vars(model).get(_OWN)


def takes_flat(model: nn.Module) -> bool:
    """Whether the loss of the network's world is given outputs in the labels' shape."""
    return vars(model).get(_FLAT, False)


def given_loss(model: nn.Module, loss: Each, x: Tensor, y: Tensor) -> None:
    """Tell a network its loss, once it was tried on samples and their labels."""
    name, flat = name_of(loss), False
    with torch.no_grad():
        out = model(x)
        if not (flat := _flat(loss, out, y)):
            shapes = f"outputs of shape {tuple(out.shape)}, labels of {tuple(y.shape)}"
            try:
                said = loss(out, y)
            except UNFIT as error:
                why = (str(error).splitlines() or [type(error).__name__])[0]
                raise InputError(f"loss {name} takes no {shapes}: {why}") from None
            kind = tuple(said.shape) if isinstance(said, Tensor) else said
            good = kind == (len(x),)
            require(
                good, f"loss {name} must give one number a sample, not {kind!r:.60}"
            )
            mixed = one_each(out, y) and not _apart(loss, out, y)
            text = f"loss {name} mixes samples, given {shapes}"
            require(not mixed, f"{text}: use outputs.view_as(labels)")
    vars(model)[_OWN] = loss  # not as an attribute: a module would become a part of it
    if flat:
        vars(model)[_FLAT] = True


def one_each(outputs: Tensor, y: Tensor) -> bool:
    """Whether they are as many numbers, in shapes that pair each with every other."""
    return outputs.numel() == y.numel() and outputs.shape != y.shape


def _flat(loss: Each, out: Tensor, y: Tensor) -> bool:
    """Whether a loss gives each sample its own number only in the labels' shape.

    So `outputs - labels` does not pair every output with every label.
    """
    ours = loss in (squared, logistic) or not one_each(out, y)
    return (
        not ours and not _apart(loss, out, y) and _apart(loss, out.reshape(y.shape), y)
    )


def _apart(loss: Each, out: Tensor, y: Tensor) -> bool:
    """Whether it says of each of several samples what it says of that one alone."""
    try:
        said = loss(out, y)
        each = [loss(out[i : i + 1], y[i : i + 1]) for i in range(len(y))]
        alone = torch.cat(each)
    except UNFIT:
        return False
    same = said.shape == alone.shape == (len(y),)
    return same and torch.allclose(said, alone, equal_nan=True)


def name_of(function: Callable) -> str:
    """The name of a function, or of what an object with a call is."""
    return getattr(function, "__name__", type(function).__name__)
