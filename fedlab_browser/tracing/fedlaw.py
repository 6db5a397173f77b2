"""FedLAW's search for weights, step by step.

The gradients are the core's own `Search.slopes`; Adam's step is written here with its
corrected rates as numbers that are handed in.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from fedlab_browser.tracing.learning import Learning, Slope, in_steps
from fedlab_core.client import Batch
from fedlab_core.methods.fedlaw import Knobs, Law, Search
from fedlab_core.rounds import Gathered, ServerState
from fedlab_core.tree import Tree

_OF_ADAM = ("mean", "square")


@dataclass(frozen=True)
class LawInSteps:
    """A round of `Law`: known is a `Search`, found are knobs and Adam's memory."""

    law: Law

    @property
    def epochs(self) -> int:
        """Epochs on the server's samples, in every round."""
        return self.law.server_epochs

    @property
    def batch(self) -> int:
        """Samples of a mini-batch."""
        return self.law.batch

    def knobs(self, found: Tree) -> Knobs:
        """Knobs where they stand."""
        return Knobs(found["g"], found["x"], self.law.parameters == "quad")

    def begin(self, now: Gathered) -> tuple[Tree, Tree]:
        """The search of a round, and knobs that nothing has moved yet."""
        search = Search.of(now, self.law)
        knobs = Knobs.at(search.shares, self.law.parameters == "quad")
        found = {"g": knobs.g, "x": knobs.x}
        parts = ((f"{n}.{part}", v) for n, v in found.items() for part in _OF_ADAM)
        return vars(search), found | {n: torch.zeros_like(v) for n, v in parts}

    def paces(self, per_epoch: int) -> dict[str, list[float]]:
        """Adam's corrected rates of g and x, and what a root is divided by."""
        law, (a, b) = self.law, self.law.betas
        steps = range(self.epochs * per_epoch)

        def rates(lr: float) -> list[float]:
            return [law.halved(t // per_epoch, lr) / (1 - a ** (t + 1)) for t in steps]

        roots = [math.sqrt(1 - b ** (t + 1)) for t in steps]
        return {"g": rates(law.lr), "x": rates(law.x_lr or law.lr), "root": roots}

    def step(
        self,
        known: Tree,
        found: Tree,
        batch: Batch,
        paces: Mapping[str, Tensor],
        slope: Slope,
    ) -> Tree:
        """Knobs, and Adam's memory, after a step of those that are learned."""
        search, after, (a, b) = Search(**known), dict(found), self.law.betas
        slopes = search.slopes(self.law.learn, self.knobs(found), batch, slope)
        for n, by in slopes.items():
            mean = found[f"{n}.mean"].lerp(by, 1 - a)
            square = found[f"{n}.square"].mul(b).addcmul(by, by, value=1 - b)
            below = square.sqrt() / paces["root"] + 1e-8
            after[n] = found[n] - paces[n] * mean / below
            after |= {f"{n}.mean": mean, f"{n}.square": square}
        return after

    def finish(
        self, now: Gathered, known: Tree, found: Tree, buffers: Tree
    ) -> tuple[ServerState, Tree]:
        """The server's next state, and gamma and lambda."""
        search = Search(**known)
        if self.epochs:
            learned = search.read(self.law.learn, self.knobs(found))
            search.gamma, search.shares = learned
        state = search.finish(now, self.law, buffers)
        return state, {"gamma": search.gamma, "shares": search.shares}


@in_steps.register
def _(law: Law) -> Learning | None:
    """A search that is alike in every round, and copies no network to measure it."""
    alike = law.early_stop is None and law.statistics != "reestimate"
    return LawInSteps(law) if alike else None
