"""The one exception for bad input: its message is meant to be read by a person."""


class InputError(ValueError):
    """Something asked for cannot be done: says what was wrong and what is allowed."""


def require(condition: bool, message: str) -> None:
    """Raise `InputError` with this message unless the condition holds."""
    if not condition:
        raise InputError(message)
