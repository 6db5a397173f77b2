"""Links that tell a story: a state, what to look for, and a promise that is kept.

A promise is that the state comes out above the one beside it, or below, by the rule of
the book (`verdict.judge_gain`). `held` plays both by five seeds; the build stops at a
preset whose promise does not hold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from fedlab_browser.playground import state as can
from fedlab_core import Run, run_all, tree
from fedlab_core.errors import require
from fedlab_core.models.network import Network
from fedlab_core.rounds.records import Round
from fedlab_ledger.model.verdict import SAME, Verdict, judge_gain

LAST = 5  # rounds whose mean is compared
# What is compared: accuracy on all letters, on each client's own, how much of the
# clients' ways is left, the largest weight, or what the server makes the weights' sum.
What = Literal["all", "own", "left", "weight", "sum"]


@dataclass(frozen=True)
class Preset:
    """A title, what to look for, a state, and the one `beside` that it is held against.

    It promises to come out `above` that one, or else below.
    """

    title: str
    look: str
    state: str
    beside: str
    what: What = "all"
    rounds: int = 20
    above: bool = True

    @property
    def compared(self) -> str:
        """Choices of the other state that are not as in this one, in words."""
        a, b = can.parsed(self.state), can.parsed(self.beside)
        other = [n for n in can.CHOICES if a[n] != b[n]]
        words = [can.CHOICES[n][str(b[n])] for n in other]
        for n in (n for n in can.NUMBERS if a[n] != b[n] and can.matters(b, n)):
            name = can.NUMBERS[n].name.partition(",")[0].lower()
            words.append(f"{name} {b[n]:g}")
        return ", ".join(words)

    @property
    def measured(self) -> str:
        """Number that is compared when the book is built, in words."""
        which = {
            "all": "accuracy on all letters",
            "own": "accuracy on own letters",
            "left": "how much of the clients’ ways is left",
            "weight": "the largest weight",
            "sum": "what the server makes the weights’ sum",
        }[self.what]
        rounds = f"rounds {self.rounds - LAST + 1} to {self.rounds}"
        return f"{which}, mean of {rounds}, is {'higher' if self.above else 'lower'}"


PRESETS = (
    Preset(
        "Alike, and pulled apart",
        "With letters dealt almost alike, the clients’ first ways point together, and "
        "much of them is left in the average. Under strong skew they point apart and "
        "cancel. Press One round five times: later all that is left are quarrels.",
        "alpha=100",
        "alpha=0.05",
        "left",
        rounds=5,
    ),
    Preset(
        "Skew costs accuracy",
        "Ten clients with some letters each. Play, then move the skew to 0.05 and play "
        "again: the curve stays below, and it jumps from round to round.",
        "alpha=5",
        "alpha=0.05",
    ),
    Preset(
        "Long ways, little progress",
        "Twelve epochs a round under strong skew: every client walks far, and after "
        "some twenty rounds most of it cancels. With one epoch more of each way is "
        "left, though the way is short.",
        "alpha=0.1&epochs=12",
        "alpha=0.1&epochs=1",
        "left",
        above=False,
    ),
    Preset(
        "Two classes each, one has all",
        "Nine clients know two letters, the tenth knows all. FedDisco makes it count "
        "more: its bar stands above the mark that says what size alone would give.",
        "weigh=disco&split=two",
        "split=two",
        "weight",
    ),
    Preset(
        "Corrected drift",
        "SCAFFOLD tells every client how the others move, and their arrows point more "
        "alike: more of their ways is left. Compare with SGD, on the same clients.",
        "rule=scaffold&weigh=equal&alpha=0.1",
        "weigh=equal&alpha=0.1",
        "left",
    ),
    Preset(
        "Four kinds, in coalitions",
        "Two pairs of kinds share letters. FedCollab's solver puts those together who "
        "help each other: look at the accuracy on own letters.",
        "groups=fedcollab&split=kinds&clients=8",
        "split=kinds&clients=8",
        "own",
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
        "One client is wrong",
        "One client's labels are mixed up, and it counts as much as the others. Choose "
        "“by chance” instead to see what that costs everybody.",
        "split=wrong&alpha=100&clients=4",
        "alpha=100&clients=4",
        above=False,
    ),
    Preset(
        "The server finds out",
        "One of four clients has its labels mixed up. FedLAW’s server tries the models "
        "on letters of its own, and counts that one less: its bar is low, and accuracy "
        "ends above the plain average’s.",
        "server=fedlaw&split=wrong&alpha=100&clients=4",
        "split=wrong&alpha=100&clients=4",
    ),
    Preset(
        "Shrunk as it has learnt",
        "FedLAW’s server learns, too, by what to multiply the average: γ stands below "
        "the bars. With twelve epochs a round it is smaller than with one: long ways "
        "are shrunk more.",
        "server=fedlaw&alpha=0.1&epochs=12",
        "server=fedlaw&alpha=0.1&epochs=1",
        "sum",
        above=False,
    ),
    Preset(
        "A last step of one's own",
        "Everybody takes two more steps on its own letters before it is judged. On own "
        "letters that helps at once; on all letters it does not.",
        "personal=finetune&alpha=0.1",
        "alpha=0.1",
        "own",
    ),
    Preset(
        "Alone",
        "Nobody is averaged with anybody. On all letters every client is far below "
        "what they reach together.",
        "groups=nobody",
        "",
        above=False,
    ),
    Preset(
        "Momentum against jumps",
        "Two of ten clients take part in a round, and each pulls its own way. A server "
        "that keeps half of its speed smooths the curve, and ends higher.",
        "server=fedavgm&alpha=0.1&present=0.2",
        "alpha=0.1&present=0.2",
        rounds=40,
    ),
    Preset(
        "Shrink, and go on",
        "The server makes the average 5 % smaller in every round. Let it "
        "play to the end: after 60 rounds it stands above the plain average.",
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


def held(preset: Preset, seeds: Sequence[int] = (0, 1, 2, 3, 4)) -> Verdict:
    """Verdict on a preset's promise."""
    mine, beside = (
        _ends(text, preset, seeds) for text in (preset.state, preset.beside)
    )
    a, b = (dict(zip(seeds, map(float, v), strict=True)) for v in (mine, beside))
    sign = 1 if preset.above else -1
    return judge_gain(a, b, None, 0.0, sign=sign, own_scale=False)


def keep(presets: Sequence[Preset]) -> None:
    """Refuse presets that promise what is not there."""
    for preset in presets:
        found = held(preset)
        says = f"{preset.title!r} promises more than there is: {found.mean:+.3f}"
        require(found.word == SAME, f"{says} ± {found.half:.3f}")


def _ends(text: str, preset: Preset, seeds: Sequence[int]) -> np.ndarray:
    """Mean of a state's last rounds, by each seed."""
    s = can.parsed(text)
    world, method = can.world_of(s), can.method_of(s, can.group_of(s))

    def observe(now: Round) -> dict[str, float]:
        if preset.what == "all":
            return {}
        return {preset.what: _SEEN[preset.what](now)}

    plays = [
        Run(world, method, preset.rounds, seed, can.present(s), observe=observe)
        for seed in seeds
    ]
    name = "accuracy" if preset.what == "all" else preset.what
    rows = [
        [row[name] for row in h.rows[-LAST:]] for h in run_all(plays, progress=False)
    ]
    return np.array(rows).mean(1)


def own_accuracy(now: Round) -> float:
    """The clients' mean accuracy, each on letters as often as it has them."""
    w = now.world
    models = now.personal or tree.take(now.after, now.group_of)
    net, found = Network(w.model), []
    for k, counts in enumerate(w.counts):
        right = net(tree.take(models, k), w.x_test).argmax(1) == w.y_test
        rate = torch.stack(
            [right[w.y_test == c].float().mean() for c in range(len(counts))]
        )
        found.append(float(rate @ counts.float() / counts.sum()))
    return float(np.mean(found))


def counted(now: Round) -> list[torch.Tensor]:
    """Each group's weights: those that its server learnt, or those of its rule."""
    learnt = [server.memory.get("lambda") for server in now.servers]
    pairs = zip(now.weights, learnt, strict=True)
    return [w if own is None or not len(w) else own for w, own in pairs]


def left(now: Round) -> float:
    """Share of the clients' weighted ways that is left once they are added up."""
    before = tree.take(now.before, [now.group_of[k] for k in now.ids])
    ways = tree.flatten({n: now.trained.states[n] - v for n, v in before.items()}, True)
    parts = []
    for g, weights in enumerate(counted(now)):
        rows = [i for i, k in enumerate(now.ids) if now.group_of[k] == g]
        if rows:
            mine, share = ways[rows].double(), weights.double()
            parts.append(float((share @ mine).norm() / (share @ mine.norm(dim=1))))
    return float(np.mean(parts))


def _sums(now: Round) -> np.ndarray:
    """Sum of its weights as each group's server has made it."""
    return np.array([float(s.metrics.get("gamma", 1)) for s in now.servers])


_SEEN: dict[str, Callable[[Round], float]] = {
    "own": own_accuracy,
    "left": left,
    "weight": lambda now: max(float(w.max()) for w in counted(now) if len(w)),
    "sum": lambda now: float(_sums(now).mean()),
}
