"""The methods, by name. A method is added by one file here and one line below."""

from collections.abc import Callable
from functools import partial

from fedlab_core.federation import Method
from fedlab_core.methods.fedavg import Equal, fedavg, local_only
from fedlab_core.methods.feddisco import feddisco

METHODS: dict[str, Callable[..., Method]] = {
    "fedavg": fedavg,
    "equal": partial(fedavg, weigh=Equal(), name="Equal"),
    "feddisco": feddisco,
    "local": local_only,
}
