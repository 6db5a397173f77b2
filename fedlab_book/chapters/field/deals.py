"""Four deals of the running case, and what is seen of a method that plays them.

    places = deals.places(bench)
    runs = deals.play(bench, places, methods, rounds=12)

The counts of two of them are the playground's. Letters and division are each seed's.
"""

from collections.abc import Mapping

import numpy as np

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison, Place
from fedlab_book.chapters.coalitions.cliff import exact
from fedlab_book.chapters.coalitions.worlds import dealt, place
from fedlab_browser.playground.observers import counted, own_letters
from fedlab_browser.playground.task import divided
from fedlab_core.methods.fedcollab import solve
from fedlab_core.rounds.records import Round

ALIKE, UNEVEN, BIG, WORLDS = (
    "alike",
    "uneven, five of ten",
    "two big ones",
    "two worlds",
)
DEALS = (ALIKE, UNEVEN, BIG, WORLDS)
PRESENT = 5  # clinics that take part in a round of the uneven
LITTLE = 0.01  # who has less of the weight does not count
METHODS = {  # as the playground's address has them
    "FedAvg": "",
    "equal": "weigh=equal",
    "SCAFFOLD": "rule=scaffold&weigh=equal",
    "FedDyn": "rule=feddyn&weigh=equal",
    "fine-tune": "personal=finetune",
    "alone": "groups=nobody",
    "Ditto": "personal=ditto",
    "FedDisco": "weigh=disco",
    "FedLAW": "server=fedlaw",
    "rFedAvg+": "rule=rfedavg-plus&weigh=equal",
    "FedImpro": "rule=fedimpro",
    "FedCollab": "groups=fedcollab&fedcollab.C=3",
}
DEALT = {
    ALIKE: "alpha=100",
    UNEVEN: "alpha=0.1&present=0.5",
    BIG: "split=big",
    WORLDS: "split=worlds",
}
EVERY, LAST = 3, 2  # judged every so many rounds; so many last ones count


def places(bench: Bench) -> dict[str, Place]:
    """Places of the four deals, by name."""
    return {
        ALIKE: bench.place("dirichlet", clients=10, alpha=100),
        UNEVEN: bench.place("dirichlet", clients=10, alpha=0.1),
        BIG: place(bench, divided("big", 10, 0, 0).counts),
        WORLDS: place(bench, dealt(ratio=3)),
    }


def play(
    bench: Bench, at: Mapping[str, Place], arms: Mapping[str, fl.Method], rounds: int
) -> Comparison:
    """Every arm on every deal, judged in the last rounds."""

    def seen(now: Round) -> dict[str, float]:
        last = now.number > rounds - EVERY * LAST and now.number % EVERY == 0
        return looked(now) if last else {}

    how = {"judge_every": EVERY, "observe": seen}
    few = {where: p for where, p in at.items() if where == UNEVEN}
    rest = {where: p for where, p in at.items() if where != UNEVEN}
    parts = [
        bench.compare(group, arms, rounds, participants=many, **how)
        for group, many in ((few, PRESENT), (rest, None))
        if group
    ]
    return parts[0] | parts[-1]


def looked(now: Round) -> dict[str, float]:
    """Own letters read, mean over clinics; and how many count, of those that could.

    A clinic's model is made by those of its group that have a hundredth of the weight
    or more; the mean over the clinics that took part.
    """
    many = [int((np.asarray(w) >= LITTLE).sum()) for w in counted(now)]
    count = np.mean([many[now.group_of[k]] for k in now.ids])
    return {
        "own": float(np.mean(own_letters(now))),
        "count": float(count),
        "of": float(len(now.ids)),
    }


def coalitions(training: fl.Training, C: float) -> fl.Method:
    """FedCollab by exact distances: what a perfect guesser of labels would say."""

    def begin(world: fl.World, seed: int) -> list[int]:
        held = world.counts.numpy()
        found = solve(exact(held), held.sum(1), C, restarts=20)
        return list(found.group_of)

    return fl.fedavg(training, groups=fl.Groups("exact", begin), name="FedCollab")
