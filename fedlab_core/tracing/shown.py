"""A method where one can play with it: the core draws nothing, so it asks who does."""

from importlib.metadata import entry_points
from typing import Any

from fedlab_core.arguments import checked
from fedlab_core.errors import InputError
from fedlab_core.rounds import Method


@checked
def playground(method: Method) -> Any:
    """The book's playground with this method in it, to train in the browser.

    A notebook shows it; `save(path)` writes it as one page. It is traced, as by
    `python -m fedlab_core trace`: what cannot be a program is refused. Whoever shows it
    says so in the entry point group `fedlab_core.playground`, as `fedlab_book` does.
    """
    for point in entry_points(group="fedlab_core.playground"):
        return point.load()(method)
    raise InputError(
        "playground: nothing is installed that shows one: pip install '.[book]'"
    )
