"""States of the playground to try, as far as they go together, and own choices."""

import random
from dataclasses import dataclass

import fedlab_core as fl
from fedlab_browser.playground import state as can


def one_by_one(*choices: str) -> list[can.State]:
    """Every option of some choices, the rest as usual."""
    options = [(choice, name) for choice in choices for name in can.CHOICES[choice]]
    return [{**can.USUAL, choice: name} for choice, name in options]


def steady(state: can.State) -> bool:
    """True unless a round is a long walk of large steps, where roundings decide."""
    long = float(state["lr"]) * float(state["steps"]) > 20
    return not (state["pace"] == "steps" and long)


def drawn(many: int, seed: int = 0) -> list[can.State]:
    """States drawn by chance, as far as their numbers are no matter of roundings."""
    rng, found = random.Random(seed), []
    while len(found) < many:
        state: can.State = {n: rng.choice(list(o)) for n, o in can.CHOICES.items()}
        state |= {n: rng.choice(s.stops) for n, s in can.NUMBERS.items()}
        if steady(state) and not can.refused(state):
            found.append(state)
    return found


@dataclass(frozen=True)
class BySizeRoot:
    """Written here and nowhere in the core."""

    name: str = "root of size"
    scalars: int = 0

    def __call__(self, members):
        root = members.sizes.double().sqrt()
        return root / root.sum()


def halved(now):
    """A server that goes half of the way."""
    done = fl.fedavg().server.step(now)
    begin = now.before.begin
    model = {n: begin[n] + (w - begin[n]) / 2 for n, w in done.model.items()}
    return fl.ServerState(model)
