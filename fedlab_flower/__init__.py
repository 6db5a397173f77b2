"""Every method of the core on Flower: clients that keep their own data.

`client_app` and `server_app` are what a Flower app names; `Here` plays both in one
process, message by message. `hub` has splits and data sets of Flower Datasets.
"""

from typing import TYPE_CHECKING, Any

from fedlab_core.errors import InputError

if TYPE_CHECKING:
    from fedlab_flower.apps import Plan, client_app, parts_of, server_app
    from fedlab_flower.flower import Here

__all__ = ["Here", "Plan", "client_app", "parts_of", "server_app"]


def __getattr__(name: str) -> Any:
    """One of the names above: Flower itself is not loaded before."""
    if name not in __all__:
        raise AttributeError(f"fedlab_flower has no {name}")
    try:
        from fedlab_flower import apps, flower
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "flwr":
            raise
        text = f"fedlab_flower.{name}: pip install 'fedlab-core[flower]'"
        raise InputError(text) from None
    return getattr(flower if name == "Here" else apps, name)
