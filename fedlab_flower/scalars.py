"""A client's numbers for its weight, told once: FedDisco's distance, no label count.

A rule of one's own that weighs by labels has `told(counts)`, which runs at the client
on its own row, and `by(sizes, told)`, which weighs at the server.
"""

from typing import Any

import torch
from torch import Tensor

from fedlab_core.methods.feddisco import Disco, disco_weights
from fedlab_core.metrics.labels import far_from


def known(weigh: Any) -> bool:
    """Whether a rule's numbers can be told by clients one by one."""
    own = hasattr(weigh, "told") and hasattr(weigh, "by")
    return own or isinstance(weigh, Disco)


def told(weigh: Any, counts: Tensor) -> Tensor:
    """Numbers that clients with these counts tell: a row each."""
    if isinstance(weigh, Disco):
        return far_from(counts, weigh.target, weigh.metric)
    return weigh.told(counts)


def weights(weigh: Any, sizes: Tensor, numbers: Tensor) -> Tensor:
    """The weights that the rule gives clients of these sizes, who told these."""
    if not isinstance(weigh, Disco):
        return weigh.by(sizes, numbers)
    n = sizes.to(torch.float64) / sizes.sum()
    if weigh.normalise:
        numbers = torch.where(numbers.sum() > 0, numbers / numbers.sum(), numbers)
    return disco_weights(n, numbers, weigh.a, weigh.b)
