"""Clients whose labels are wrong: who gets which share, and what that is worth."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from torch import Tensor

from fedlab_book.bench import Bench, Comparison, Place, side
from fedlab_book.chapters.shrinking.gains import ELEVENTH, Facts, Printed
from fedlab_book.findings import Row
from fedlab_core.partition.scenarios import Scenario
from fedlab_core.rounds.history import Round

CROWD, ALONE = "half wrong", "the right half alone"  # with all clients, and without

GUESSES = {  # of what the server does, and what is told to each
    "One factor γ is enough: it tones down what is unreliable": "One factor "
    "scales right and wrong clinics together.",
    "The shares λ find the wrong clinics, and lower them, but not to nothing": "Every "
    "round begins anew from the sizes, and its search is short.",
    "The shares λ find them, and bring them to nothing": "They do lower them. How far "
    "is a matter of how long its steps are, added up.",
}

_NOTHING, _LOWER = 2, 40  # percent for the wrong half, of which it has 50 by size


def shares_of(now: Round) -> Tensor:
    """Everyone's share in a round: the learned one, or that by size."""
    return now.servers[0].memory.get("lambda", now.weights[0]).cpu()


def shares(now: Round) -> dict[str, np.ndarray]:
    """The same, to be seen in every round of a run."""
    return {"shares": shares_of(now).numpy()}


def kept(found: Comparison, wrong: Sequence[np.ndarray], arm: str) -> float:
    """The share, in percent, that the wrong ones have together in the last rounds."""
    held = 100 * found.curves(arm, CROWD, "shares")[:, -found.last :]
    each = [h[:, w].sum(axis=1).mean() for h, w in zip(held, wrong, strict=True)]
    return float(np.mean(each))


def right(found: Comparison, wrong: Sequence[np.ndarray], arm: str) -> str:
    """Which guess the runs bear out, by what the wrong ones keep."""
    factor, lower, nothing = GUESSES
    share = kept(found, wrong, arm)
    return nothing if share < _NOTHING else lower if share < _LOWER else factor


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
    rows = [Row(f"{a} over FedAvg", v, theirs.get(a)) for a, v in gain.items()]
    less = theirs["FedLAW"] - theirs["FedDF"]
    rows += [
        Row(f"{ALONE} over FedAvg", alone),
        Row("FedLAW minus GWS", gain["FedLAW"] - gain["GWS"], aside=True),
        Row("FedLAW minus FedDF", gain["FedLAW"] - gain["FedDF"], less, aside=True),
        Row(f"FedLAW minus {ELEVENTH}", gain["FedLAW"] - gain[ELEVENTH], aside=True),
        Row(f"FedLAW minus {ALONE}", gain["FedLAW"] - alone, aside=True),
    ]
    ahead = [side(v) for v in (gain["FedLAW"], *(row.values for row in rows[-4:]))]
    level = found.scores("FedAvg", CROWD).mean()
    end = found.curves("FedAvg", CROWD).shape[1]
    seen = 100 * clean.curves("FedAvg", "alike")[:, end - found.last : end].mean()
    note = f"FedAvg itself: {level:.1f} %; with right labels, as long, {seen:.1f} %."
    return {"rows": rows, "holds": ahead == [1, 1, 1, 1, -1], "note": note}
