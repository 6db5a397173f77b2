"""HTML from templates: whatever is put into one is text, unless a template made it.

    table = macros("table")
    table.folded("A < B", inside)  # Markup, in which the A &lt; B

A template is a file of macros in the folder `templates` of a package. `Markup`, and
what IPython shows as HTML, stays as it is; a name that nobody gave is an error.
"""

from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined


@cache
def _environment(package: str) -> Environment:
    folders = dict.fromkeys((package, "fedlab_book"))
    return Environment(
        loader=ChoiceLoader([PackageLoader(folder) for folder in folders]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def macros(name: str, package: str = "fedlab_book") -> Any:
    """The macros of a template, by their names; each gives Markup."""
    return _environment(package).get_template(f"{name}.html").module
