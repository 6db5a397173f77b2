"""The one exception for bad input: its message is meant to be read by a person."""

from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function_unary


class InputError(ValueError):
    """Something asked for cannot be done: says what was wrong and what is allowed."""


def require(condition: bool, message: str) -> None:
    """Raise `InputError` with this message unless the condition holds."""
    if not condition:
        raise InputError(message)


def require_all(there: Tensor, message: str) -> None:
    """`require` of every number; who traces a function leaves it out: it looks."""
    if has_torch_function_unary(there):
        return handle_torch_function(require_all, (there,), there, message)
    return require(bool(there.all()), message)
