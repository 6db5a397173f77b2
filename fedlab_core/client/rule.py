"""A rule says what one client minimises, remembers and sends.

Hooks make a `Rule`; they see one client's tensors and no client axis. What holds for
all of them, because the engine runs them for many clients at once (`torch.vmap`):

1. No Python branch on a tensor: `torch.where`, not `if`; no `.item()`, no `float()`.
2. A hook is a function, or a frozen dataclass with `__call__`: it is hashed, compared.
3. A field that is a float may arrive as a tensor, where runs that differ in it train as
   one: write `self.mu * x`, never `if self.mu:`. Switches are `bool` or text.
4. Nothing is written in place: tensors of `given` and `params` belong to the engine.
5. Draw from `batch.key` (see `keys`), never from a generator: the same in both engines.
6. Padding has `weight` 0: take means with `batch.mean(values)`, not `values.mean()`.
   `net.each(outputs, batch.y)` is the plain loss of each sample, in any world.
7. Names of state, broadcast and upload are "prefix" or "prefix.NAME" (`tree.nest`);
   `sends` and `needs` name the prefixes. Names with a "/" are the engine's.
8. `finish` gives the whole state to keep, and the upload. What of `begin` it leaves out
   begins anew in the next round; of the rest, a client without a step keeps what it
   had, but sends what `finish` says: multiply by `steps > 0`, and divide by no zero.
9. What a server sends is in `given.broadcast`, besides what every client can be told:
   "share", "clients", "round", "lr_sum" (`needs` them to get them).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from torch import Tensor

from fedlab_core.arguments import checked, checked_when_passed
from fedlab_core.client.exchange import Exchange
from fedlab_core.models.network import Net
from fedlab_core.tree import Tree, take


@checked_when_passed
@dataclass(frozen=True)
class Batch:
    """One client's mini-batch; `weight` sums to one and is zero on padding."""

    x: Tensor
    y: Tensor
    weight: Tensor
    key: Tensor  # for what a rule draws: its own in every step

    def mean(self, values: Tensor) -> Tensor:
        """The mean over the batch's samples of one value a sample."""
        return (self.weight * values).sum()


@checked_when_passed
@dataclass(frozen=True)
class ClientInput:
    """The input of a client's round, besides its data; for a cohort, a row a client."""

    start: Tree  # parameters and buffers
    state: Tree = field(default_factory=dict)  # what it kept for itself, by name
    broadcast: Tree = field(default_factory=dict)  # what it was sent besides, by name

    def of(self, rows) -> "ClientInput":
        """Some clients' of a cohort's, or, of an integer, one client's."""
        trees = (self.start, self.state, self.broadcast)
        return ClientInput(*(take(t, rows) for t in trees))


class Loss(Protocol):
    """The number that a client minimises, and perhaps a change of its state."""

    def __call__(
        self, net: Net, params: Tree, batch: Batch, given: ClientInput
    ) -> Tensor | tuple[Tensor, Tree]: ...


class Gradient(Protocol):
    """Change a step's gradient before the client follows it."""

    def __call__(self, grads: Tree, params: Tree, given: ClientInput) -> Tree: ...


class Push(Protocol):
    """A term added to a step's direction after momentum and weight decay."""

    def __call__(self, params: Tree, given: ClientInput) -> Tree: ...


class Finish(Protocol):
    """After a client's last step: the state that it keeps, and what it sends.

    `steps` is how many it took, `lr_sum` the sum of their learning rates.
    """

    def __call__(
        self, params: Tree, given: ClientInput, steps: Tensor, lr_sum: Tensor
    ) -> tuple[Tree, Tree]: ...


def cross_entropy(net: Net, params: Tree, batch: Batch, given: ClientInput) -> Tensor:
    """Mean cross-entropy over the mini-batch, or loss of the world: FedAvg's own."""
    return batch.mean(net.each(net(params, batch.x), batch.y))


def losses(net: Net, params: Tree, x: Tensor, y: Tensor) -> Tree:
    """The loss of every sample, to be asked of clients before a round."""
    return {"loss": net.each(net(params, x), y)}


@checked
@dataclass(frozen=True)
class Rule:
    """A client's rule; without arguments, FedAvg's: the plain loss, nothing kept."""

    loss: Loss = cross_entropy  # what it minimises, and perhaps changes of its state
    gradient: Gradient | None = None  # what it makes of a step's gradient
    push: Push | None = None  # what it adds to a step, after momentum and weight decay
    begin: Callable[[Tree, Tree], Tree] | None = None  # first state: start, broadcast
    finish: Finish | None = None  # the state that it keeps, and what it sends
    sends: tuple[str, ...] = ()  # of upload and reports, by the first part of the names
    needs: tuple[str, ...] = ()  # what it must be sent, likewise
    exchange: Exchange | None = None  # what it reports of its samples


PLAIN = Rule()
