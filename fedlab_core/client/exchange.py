"""Reports that clients send besides models: means over samples, shared with others."""

from dataclasses import dataclass
from typing import Literal, Protocol

from torch import Tensor

from fedlab_core.arguments import Count, NotNegative, checked
from fedlab_core.models.network import Net
from fedlab_core.tree import Tree


class Quantity(Protocol):
    """One value a sample, by name: (samples, ...) each."""

    def __call__(self, net: Net, params: Tree, x: Tensor, y: Tensor) -> Tree: ...


class Share(Protocol):
    """Turn the means of clients `who` into a row to send to each of `ids`."""

    def __call__(self, known: Tree, who: list[int], ids: list[int]) -> Tree: ...


@checked
@dataclass(frozen=True)
class Exchange:
    """Means over clients' samples that go to the server besides the models.

    Taken "before" training, with the model a client was sent, or "after", with its own.
    What `share` makes of the means of a group is sent to its participants: of means
    taken before at once, of those taken after in later rounds.
    """

    of: Quantity
    when: Literal["before", "after"] = "before"
    share: Share | None = None
    batch: Count | None = None  # of so many of a client's samples, drawn; else of all
    noise: NotNegative = 0.0  # standard deviation of what a client adds to each number
