"""Links that tell a story: a state, what to look for, and promises that are kept.

A promise is that the state comes out above the one beside it, or below, by the rule of
the book (`verdict.judge_gain`) over five seeds, and with the seed, the division and the
rounds that the page plays. The build stops at a story that does not keep one.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Literal

import numpy as np

from fedlab_browser.playground import state as can
from fedlab_browser.playground.observers import SEEN
from fedlab_core import Run, run_all
from fedlab_core.errors import require
from fedlab_core.rounds.records import Round
from fedlab_ledger.model.verdict import SAME, Verdict, judge_gain

SEEDS = (0, 1, 2, 3, 4)  # the page plays the first, unless it is told otherwise
LAST = 5  # rounds whose mean is compared
# What is compared: accuracy on all letters, on each client's own, how much of the
# clients' ways is left, the largest weight, or what the server makes the weights' sum.
What = Literal["accuracy", "own", "left", "weight", "sum"]
Found = dict[What, tuple[dict[int, float], dict[int, float]]]  # means by seed, of both


@dataclass(frozen=True)
class Preset:
    """A title, what to look for, a state, and the one `beside` that it is held against.

    It promises to come out `above` that one in `what`, or else below, and so in what it
    says `also`, {what: above}.
    """

    title: str
    look: str
    state: str
    beside: str
    what: What = "accuracy"
    rounds: int = 20
    above: bool = True
    also: Mapping[What, bool] = field(default_factory=dict)

    @property
    def promised(self) -> dict[What, bool]:
        """Everything that is compared, and whether it is above."""
        return {self.what: self.above, **self.also}

    @property
    def compared(self) -> str:
        """Choices of the other state that are not as in this one, in words."""
        return _apart(self.state, self.beside)

    @property
    def named(self) -> str:
        """Choices of this state that are not as in the other one, in words."""
        return _apart(self.beside, self.state)

    @property
    def measured(self) -> str:
        """Numbers that are compared when the book is built, in words."""
        each = (
            f"{_SAID[what]} is {'higher' if above else 'lower'}"
            for what, above in self.promised.items()
        )
        return f"mean of rounds {self.rounds - LAST + 1} to {self.rounds}: " + (
            ", ".join(each)
        )


def _apart(other: str, state: str) -> str:
    """Choices of a state that are not as in another one, in words."""
    a, b = can.parsed(other), can.parsed(state)
    clients = int(b["clients"])
    words = [can.CHOICES[n][str(b[n])] for n in can.CHOICES if a[n] != b[n]]
    for n in (n for n in can.NUMBERS if a[n] != b[n] and can.matters(b, n)):
        full, _, symbol = can.NUMBERS[n].name.partition(", ")
        name = "α" if n == "alpha" else symbol or full.lower()
        many = f"{can.present(b) or clients} of {clients}" if n == "present" else ""
        words.append(f"{name} {many or format(b[n], 'g')}")
    return ", ".join(words)


_SAID: dict[What, str] = {
    "accuracy": "accuracy on all letters",
    "own": "accuracy on own letters",
    "left": "what is left of the updates",
    "weight": "the largest weight",
    "sum": "the weights’ sum, γ,",
}

PRESETS = (
    Preset(
        "Alike, and pulled apart",
        "With letters dealt almost alike, the first updates point together, and most "
        "of them is left in the average. Under strong skew most of them cancels.",
        "alpha=100",
        "alpha=0.05",
        "left",
        rounds=5,
    ),
    Preset(
        "Skew costs accuracy",
        "Ten clients with some letters each, dealt fairly evenly. Under strong skew "
        "the curve stays below.",
        "alpha=5",
        "alpha=0.05",
    ),
    Preset(
        "Long updates cancel",
        "Twelve epochs a round under strong skew. By round 20 less is left of the "
        "updates than with one epoch. Accuracy is still higher by then, for twelve "
        "times the work.",
        "alpha=0.1&epochs=12",
        "alpha=0.1&epochs=1",
        "left",
        above=False,
        also={"accuracy": True},
    ),
    Preset(
        "The small ones know more",
        "Two large clients hold two letters each, the small ones all ten. If all count "
        "the same, more letters are read than if each counts by its size.",
        "weigh=equal&split=big",
        "split=big",
    ),
    Preset(
        "Nine know two letters, one has all",
        "FedDisco makes the client that holds every letter count more: its bar stands "
        "above the mark that says what size alone would give.",
        "weigh=disco&split=two",
        "split=two",
        "weight",
    ),
    Preset(
        "Corrected drift",
        "SCAFFOLD tells every client how the others move, and their arrows point more "
        "alike: more is left of the updates than with plain SGD.",
        "rule=scaffold&weigh=equal&alpha=0.1",
        "weigh=equal&alpha=0.1",
        "left",
    ),
    Preset(
        "Four kinds, in coalitions",
        "Two pairs of kinds share letters. FedCollab's solver puts those together who "
        "help each other. Each reads more of its own letters than with one model for "
        "everyone, and less of all ten.",
        "groups=fedcollab&split=kinds&clients=8",
        "split=kinds&clients=8",
        "own",
        also={"accuracy": False},
    ),
    Preset(
        "Four kinds, alone or in coalitions",
        "The same clients by themselves have too few letters to learn much. In "
        "coalitions each still has its own kind of model, learnt from more.",
        "groups=fedcollab&split=kinds&clients=8",
        "groups=nobody&split=kinds&clients=8",
        "own",
    ),
    Preset(
        "C is a cliff",
        "Five large clients read five letters, five small ones the other five. With C "
        "of 3 the solver finds the two worlds, and each reads more of its own letters. "
        "With C of 10 it puts all ten together.",
        "groups=fedcollab&split=worlds&ratio=9&fedcollab.C=3",
        "groups=fedcollab&split=worlds&ratio=9",
        "own",
    ),
    Preset(
        "One client is wrong",
        "One client's labels are mixed up, and it counts as much as the others. That "
        "costs everybody.",
        "split=wrong&alpha=100&clients=4",
        "alpha=100&clients=4",
        above=False,
    ),
    Preset(
        "The server finds out",
        "One of four clients has its labels mixed up. FedLAW's server tries the models "
        "on letters of its own, and counts that one less: its bar is low, and accuracy "
        "ends above the plain average's.",
        "server=fedlaw&split=wrong&alpha=100&clients=4",
        "split=wrong&alpha=100&clients=4",
    ),
    Preset(
        "Shrunk as it has learnt",
        "FedLAW's server learns, too, by what to multiply the average: γ stands below "
        "the pictures. With twelve epochs a round it is smaller than with one: long "
        "updates are shrunk more.",
        "server=fedlaw&alpha=0.1&epochs=12",
        "server=fedlaw&alpha=0.1&epochs=1",
        "sum",
        above=False,
    ),
    Preset(
        "A last step of one's own",
        "Everybody takes two more steps on its own letters before it is judged. On own "
        "letters that helps a lot; on all letters it hurts.",
        "personal=finetune&alpha=0.1",
        "alpha=0.1",
        "own",
        also={"accuracy": False},
    ),
    Preset(
        "Alone",
        "Nobody is averaged with anybody. On all letters every client is far below "
        "what they reach together; on its own letters it is better.",
        "groups=nobody",
        "",
        above=False,
        also={"own": True},
    ),
    Preset(
        "Momentum against jumps",
        "Two of ten clients take part in a round, and each pulls its own way. With a "
        "server that keeps half of its speed, the mean of rounds 36 to 40 is higher; a "
        "single round need not be.",
        "server=fedavgm&alpha=0.1&present=0.2",
        "alpha=0.1&present=0.2",
        rounds=40,
    ),
    Preset(
        "Shrink, and go on",
        "The server makes the average 5 % smaller in every round. Let it play to the "
        "end: after 60 rounds it stands above the plain average.",
        "server=shrunk&alpha=5&shrunk.gamma=0.95",
        "alpha=5",
        rounds=60,
    ),
    Preset(
        "Few at a time",
        "Two of ten clients take part in a round. What the others know is forgotten "
        "now and then: the curve jumps, and ends lower.",
        "alpha=0.1&present=0.2",
        "alpha=0.1",
        above=False,
    ),
)


def found(preset: Preset, seeds: Sequence[int] = SEEDS) -> Found:
    """Means that a story compares, by seed: its own, and those beside."""
    mine, beside = (
        _ends(text, preset, seeds) for text in (preset.state, preset.beside)
    )
    return {what: (mine[what], beside[what]) for what in preset.promised}


def held(preset: Preset) -> dict[What, Verdict]:
    """Verdict on each of a story's promises, with five seeds."""
    return {
        what: judge_gain(
            a, b, None, 0.0, sign=1 if preset.promised[what] else -1, own_scale=False
        )
        for what, (a, b) in found(preset).items()
    }


def keep(presets: Sequence[Preset]) -> None:
    """Refuse stories that promise what is not there: as the page plays them, or at all.

    The page plays the first seed, which has to show what five seeds do. Several stories
    are played at once, each by a process of its own.
    """
    for preset, means in zip(presets, _each(presets), strict=True):
        for what, (a, b) in means.items():
            up = preset.promised[what]
            gain = judge_gain(a, b, None, 0.0, sign=1 if up else -1, own_scale=False)
            shown = (a[0] - b[0]) * (1 if up else -1)
            says = f"{preset.title!r} promises more than there is: {what}"
            require(gain.word == SAME, f"{says} {gain.mean:+.3f} ± {gain.half:.3f}")
            require(shown > 0, f"{says} as the page plays it, {shown:+.3f}")


def _each(presets: Sequence[Preset]) -> Iterator[Found]:
    """Means that each story compares, in order."""
    many = min(len(presets), os.cpu_count() or 1)
    if many < 2:
        yield from map(found, presets)
        return
    with ProcessPoolExecutor(many, get_context("spawn")) as pool:
        yield from pool.map(found, presets)


def _ends(
    text: str, preset: Preset, seeds: Sequence[int]
) -> dict[What, dict[int, float]]:
    """Means of a state's last rounds, by each seed."""
    s = can.parsed(text)
    world, method = can.world_of(s), can.method_of(s, can.group_of(s))

    def observe(now: Round) -> dict[str, float]:
        return {w: SEEN[w](now) for w in preset.promised if w != "accuracy"}

    plays = [
        Run(world, method, preset.rounds, seed, can.present(s), observe=observe)
        for seed in seeds
    ]
    histories = run_all(plays, progress=False)
    return {
        what: {
            seed: float(np.mean([row[what] for row in h.rows[-LAST:]]))
            for seed, h in zip(seeds, histories, strict=True)
        }
        for what in preset.promised
    }
