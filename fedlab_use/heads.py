"""Networks of which a part stays at its client: FedPer, FedRep, LG-FedAvg.

Citation: Arivazhagan et al. 2019, "Federated Learning with Personalization Layers";
Collins et al. 2021, "Exploiting Shared Representations for Personalized Federated
Learning"; Liang et al. 2020, "Think Locally, Act Globally: Federated Learning with
Local and Global Representations".

Symbols: W_P, h_i, l_i, what stays -> "own" of a client's state; W_B, phi, g, what is
averaged -> the rest of the model.

Each is FedAvg with the rule `Parted`, judged by the group's model with the client's own
part in its place. What stays takes steps of SGD of its own inside the loss, so that the
model that is sent has the first model's numbers there, and says nothing of the client.
Networks are cut where their head begins: `fl.build(..., split=...)` moves that.

Deviations from the papers:
1. A client that has not taken part yet has the first model's part.
2. FedRep's first steps and its others go on through one list of mini-batches.
3. On Flower a model is sent whole; the column `bytes` leaves out what says nothing.
4. What stays may have no BatchNorm, and LG-FedAvg's network none at all.
"""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from fedlab_core.arguments import (
    Count,
    Fading,
    Fraction,
    NotNegative,
    Positive,
    checked,
)
from fedlab_core.client import Batch, ClientInput, Net, Rule, Training
from fedlab_core.errors import require
from fedlab_core.methods.fedavg import fedavg
from fedlab_core.rounds import Method, Personal
from fedlab_core.tree import Tree, nest, subtree

Part = Literal["head", "features"]


@checked
@dataclass(frozen=True)
class Turns:
    """The first share of a client's steps, which are its own part's alone.

    `lr` is that of every step, by which the sum of a round's gives their number.
    """

    first: Fraction
    lr: Positive

    def own(self, given: ClientInput) -> Tensor:
        """Whether this step is the own part's."""
        steps = given.broadcast["lr_sum"] / self.lr
        return given.state["step"] < (steps * self.first).round()


@checked
@dataclass(frozen=True)
class Parted:
    """The plain loss of the shared part with the client's own, which takes a step too.

    Its step is SGD's, as of the other part, on the gradient of the same mini-batch.
    """

    part: Part
    lr: Positive
    momentum: Fading = 0.0
    weight_decay: NotNegative = 0.0
    turns: Turns | None = None

    def __call__(
        self, net: Net, params: Tree, batch: Batch, given: ClientInput
    ) -> tuple[Tensor, Tree]:
        kept, pace = subtree(given.state, "own"), subtree(given.state, "pace")
        own = {n: kept[n] for n in params if n in kept}
        head = self.part == "head"
        h = net.features(params, batch.x) if head else batch.x

        def value(own: Tree) -> Tensor:
            outputs = (
                net.head(own, h) if head else net.head(params, net.features(own, h))
            )
            return batch.mean(net.each(outputs, batch.y))

        grads, loss = torch.func.grad_and_value(value)(own)
        slopes = {n: grads[n] + self.weight_decay * w for n, w in own.items()}
        moves = {n: self.momentum * pace[n] + v for n, v in slopes.items()}
        new = {n: w - self.lr * moves[n] for n, w in own.items()}
        if self.turns:
            mine = self.turns.own(given)
            new = {n: torch.where(mine, v, own[n]) for n, v in new.items()}
        step = {"step": given.state["step"] + 1}
        return loss, nest("own", new) | nest("pace", moves) | step


@checked
@dataclass(frozen=True)
class Rest:
    """The gradient of what is shared, with its weight decay; none of what stays."""

    weight_decay: NotNegative = 0.0
    turns: Turns | None = None

    def __call__(self, grads: Tree, params: Tree, given: ClientInput) -> Tree:
        kept = subtree(given.state, "own")
        moves = {
            n: torch.zeros_like(g) if n in kept else g + self.weight_decay * params[n]
            for n, g in grads.items()
        }
        if self.turns:
            mine = self.turns.own(given)
            moves = {n: torch.where(mine, 0.0, g) for n, g in moves.items()}
        return moves


@checked
@dataclass(frozen=True)
class Begun:
    """The first state: the model's own part, at rest, before the first step."""

    part: Part

    def __call__(self, start: Tree, broadcast: Tree) -> Tree:
        own = {n: w for n, w in start.items() if n.startswith(f"{self.part}.")}
        looked = start if self.part == "features" else own
        normed = [n for n in looked if n.endswith("running_mean")]
        text = f"the network's {self.part} cannot stay at clients: {normed[:1]} is of a"
        require(not normed, f"{text} BatchNorm, whose statistics would not go on")
        still = {n: torch.zeros_like(w) for n, w in own.items()}
        step = {"step": next(iter(start.values())).new_zeros(())}
        return nest("own", own) | nest("pace", still) | step


def stayed(
    params: Tree, given: ClientInput, steps: Tensor, lr_sum: Tensor
) -> tuple[Tree, Tree]:
    """The own part to keep; nothing is sent, and the next round begins at rest."""
    return nest("own", subtree(given.state, "own")), {}


def _parted(
    name: str, training: Training, part: Part, turns: Turns | None = None
) -> Method:
    """FedAvg of what does not stay."""
    lr, m, decay = training.lr, training.momentum, training.weight_decay
    plain = Training(
        lr,
        training.epochs,
        training.batch_size,
        m,
        decay,
        training.drop_last,
        training.iterations,
        training.cap,
        augment=training.augment,
    )
    text = f"{name}: training must be SGD with a constant lr, momentum and weight_decay"
    require(training == plain, f"{text} and nothing else, such as clip or schedule")
    rule = Rule(
        loss=Parted(part, lr, m, decay, turns),
        gradient=Rest(decay, turns),
        begin=Begun(part),
        finish=stayed,
        needs=("lr_sum",) if turns else (),
    )
    method = fedavg(replace(training, weight_decay=0.0), name=name, rule=rule)
    return replace(method, personal=Personal(part, kept="own", sent=False))


@checked
def fedper(training: Training | None = None) -> Method:
    """FedAvg of the features, which each client trains with a head of its own."""
    return _parted("FedPer", training or Training(), "head")


@checked
def fedrep(training: Training | None = None, head: Count = 5) -> Method:
    """FedAvg of the features, which clients train after a head of their own.

    The head trains for `head` epochs, and then rests; then the features train for
    those of `training`, before which they rest.
    """
    training = training or Training()
    counted = training.iterations is None and training.cap is None
    require(
        counted, "FedRep counts epochs: training must have no iterations and no cap"
    )
    training = replace(training, epochs=head + training.epochs)
    turns = Turns(head / training.epochs, training.lr)
    return _parted("FedRep", training, "head", turns)


@checked
def lg_fedavg(training: Training | None = None) -> Method:
    """FedAvg of the head, which each client trains with features of its own."""
    return _parted("LG-FedAvg", training or Training(), "features")
