"""Clients whose labels are wrong: who gets which share, and what that is worth."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from torch import Tensor

from fedlab_book.bench import Bench, Comparison, Place, side
from fedlab_book.chapters.shrinking.gains import ELEVENTH, UNIT, Facts, Printed
from fedlab_book.findings import Row
from fedlab_core.partition.scenarios import Scenario
from fedlab_core.rounds.history import Round

CROWD, ALONE = "half wrong", "the right half alone"  # with all clients, and without


def shares_of(now: Round) -> Tensor:
    """Everyone's share in a round: the learned one, or that by size."""
    return now.servers[0].memory.get("lambda", now.weights[0]).cpu()


def shares(now: Round) -> dict[str, np.ndarray]:
    """The same, to be seen in every round of a run."""
    return {"shares": shares_of(now).numpy()}


def half(bench: Bench) -> tuple[Place, Place, Callable[[int], np.ndarray]]:
    """Ten alike clients of which half permute their labels; the right half alone; who.

    The last says of a seed which clients are wrong.
    """

    def crowd(seed: int) -> Scenario:
        how = {"corrupt": 0.5, "how": "permute", "capacity": False}
        return bench.scenario(seed, "dirichlet", clients=10, alpha=100, **how)

    def who(seed: int) -> np.ndarray:
        return np.isin(range(10), crowd(seed).corrupted)

    return bench.place(crowd), bench.place(lambda seed: without(crowd(seed))), who


def without(crowd: Scenario) -> Scenario:
    """The same federation of its clients with right labels alone."""
    stay = [k for k in range(len(crowd)) if k not in crowd.corrupted]
    held = tuple(crowd.train.indices[k] for k in stay)
    return replace(crowd, train=replace(crowd.train, indices=held), corrupted=())


def rescued(found: Comparison, paper: Printed, clean: Comparison) -> Facts:
    """Whether shares rescue the average, and all else with the same images far less.

    That is the factor, a clinic more, and imitation.

    `clean` has FedAvg among the alike, all labels right, for as many rounds or more.
    """
    arms = ["GWS", "FedLAW", "FedDF", ELEVENTH]
    theirs = {arm: gains[0] for arm, gains in paper.items()}
    gain = {arm: found.gain(arm, where=CROWD) for arm in arms}
    alone = found.scores("FedAvg", ALONE) - found.scores("FedAvg", CROWD)
    rows = [Row(a, v, theirs.get(a)) for a, v in gain.items()]
    less = theirs["FedLAW"] - theirs["FedDF"]
    rows += [
        Row(ALONE, alone),
        Row("FedLAW minus GWS", gain["FedLAW"] - gain["GWS"], aside=True),
        Row("FedLAW minus FedDF", gain["FedLAW"] - gain["FedDF"], less, aside=True),
        Row(f"FedLAW minus {ELEVENTH}", gain["FedLAW"] - gain[ELEVENTH], aside=True),
        Row(f"FedLAW minus {ALONE}", gain["FedLAW"] - alone, aside=True),
    ]
    ahead = [side(v) for v in (gain["FedLAW"], *(row.values for row in rows[-4:]))]
    level = found.scores("FedAvg", CROWD).mean()
    end = found.curves("FedAvg", CROWD).shape[1]
    seen = 100 * clean.curves("FedAvg", "alike")[:, end - found.last : end].mean()
    note = f"FedAvg itself: {level:.1f} %; with right labels, as long, {seen:.1f} %. "
    note += "In the paper, with a thousand images, FedDF is as good as FedLAW."
    how = {"unit": UNIT, "folded": "points", "note": note}
    return {"rows": rows, "holds": ahead == [1, 1, 1, 1, -1], **how}
