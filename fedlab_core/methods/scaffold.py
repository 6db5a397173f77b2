"""SCAFFOLD: correct every step by how the clients' gradients differ.

Citation: Karimireddy et al. 2020, "SCAFFOLD: Stochastic Controlled Averaging for
Federated Learning". Agreement: 6e-10 with FedDisco's code (83de4b9).

Symbols: c -> "c" of the broadcast; c_i -> "own" of a client's state; c_i+ - c_i ->
"change" of its upload; x -> `ClientInput.start`; y_i -> `params`; K eta_l -> `lr_sum`,
the sum of a round's learning rates; eta_g -> `lr`; N -> `clients`.

Algorithm: Alg. 1, l. 10 -> `correct`; l. 12, option II -> `renew`; l. 16 and 17 ->
`Controlled`.

Deviations from the paper:
1. Control variates start at zero, for the server and for every client; in FedDisco's
   code they start as the parameters of a random network.
2. `after=True` adds the correction to the step after momentum and weight decay, as
   FedDisco's code does; by default it is part of the gradient, hence of the momentum.
3. The models are averaged with the method's weights; the default is the paper's plain
   mean. c moves by |S|/N of the mean change whatever the weights; `factor=False` leaves
   |S|/N out, as FedImpro's code does, which makes c too large by N/|S|.
4. Option II takes a step to be eta_l times a gradient. Momentum m makes A of it, up to
   1 / (1 - m), and c_i - c is multiplied by 1 - A in a round: from m = 1/2 on it may
   grow without end. With `after=True` it does not; else `scaffold` warns. So it does of
   Adam, whose steps are no gradients: what `after=True` adds to them is of their kind.
"""

import warnings
from dataclasses import dataclass

import torch
from torch import Tensor

from fedlab_core.arguments import Positive, checked
from fedlab_core.client import ClientInput, Rule, Training
from fedlab_core.methods.fedavg import Equal, fedavg
from fedlab_core.rounds import Gathered, Method, Server, ServerState, ServerView
from fedlab_core.tree import Tree, nest, subtree, tree_map, weighted_sum


def begin(start: Tree, broadcast: Tree) -> Tree:
    """c_i = 0."""
    return {f"own.{n}": torch.zeros_like(c) for n, c in subtree(broadcast, "c").items()}


def correct(grads: Tree, params: Tree, given: ClientInput) -> Tree:
    """g - c_i + c. Paper: SCAFFOLD Alg. 1 l. 10."""
    own, c = subtree(given.state, "own"), subtree(given.broadcast, "c")
    return {n: g - own[n] + c[n] for n, g in grads.items()}


def difference(params: Tree, given: ClientInput) -> Tree:
    """c - c_i, to be added to a step."""
    own, c = subtree(given.state, "own"), subtree(given.broadcast, "c")
    return {n: c[n] - own[n] for n in params}


def renew(
    params: Tree, given: ClientInput, steps: Tensor, lr_sum: Tensor
) -> tuple[Tree, Tree]:
    """c_i+ = c_i - c + (x - y_i) / (K eta_l). Paper: SCAFFOLD Alg. 1 l. 12."""
    own, c = subtree(given.state, "own"), subtree(given.broadcast, "c")
    new = {
        n: own[n] - c[n] + (given.start[n] - y) / lr_sum.clamp(min=1e-30)
        for n, y in params.items()
    }
    change = {n: (steps > 0) * (new[n] - own[n]) for n in new}
    return nest("own", new), nest("change", change)


@checked
@dataclass(frozen=True)
class Controlled:
    """x <- x + eta_g mean(y_i - x), c <- c + |S|/N mean(c_i+ - c_i)."""

    lr: Positive = 1.0
    factor: bool = True

    def __call__(self, now: Gathered) -> ServerState:
        mean = weighted_sum(now.models, now.weights)
        x, here = now.before.model, len(now.weights)
        trained = now.view.parameters
        model = {
            n: x[n] + self.lr * (w - x[n]) if n in trained else w
            for n, w in mean.items()
        }
        part = here / now.clients if self.factor else 1.0
        change = tree_map(lambda v: v.mean(0), subtree(now.uploads, "change"))
        c = subtree(now.before.broadcast, "c")
        c = {n: c[n] + part * v for n, v in change.items()}
        return ServerState(model, broadcast=nest("c", c))


def uncontrolled(model: Tree, view: ServerView) -> ServerState:
    """c = 0."""
    names = [n for n in model if n in view.parameters]
    c = {f"c.{n}": torch.zeros_like(model[n]) for n in names}
    return ServerState(model, broadcast=c)


@checked
def scaffold(
    training: Training | None = None,
    lr: Positive = 1.0,
    after: bool = False,
    factor: bool = True,
) -> Method:
    """FedAvg with control variates; `lr` is the server's."""
    momentum = training.momentum if training else 0.0
    if momentum > 0.5 and not after:
        text = f"momentum={momentum} may let SCAFFOLD's corrections grow without end"
        warnings.warn(f"{text}: use 0.5 or less, or after=True", stacklevel=3)
    if training and training.adam is not None and not after:
        text = "SCAFFOLD corrects gradients by lengths of Adam's steps"
        warnings.warn(f"{text}: use after=True", stacklevel=3)
    rule = Rule(
        gradient=None if after else correct,
        push=difference if after else None,
        begin=begin,
        finish=renew,
        sends=("change",),
        needs=("c",),
    )
    step = Controlled(lr, factor)
    server = Server("controlled", step, uncontrolled, ("c",), ("change",))
    return fedavg(training, Equal(), name="SCAFFOLD", server=server, rule=rule)
