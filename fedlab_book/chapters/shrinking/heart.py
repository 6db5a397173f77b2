"""What is seen of every round: the clients' own samples, beside new ones."""

from torch import Tensor

from fedlab_book.chapters.shrinking import temper
from fedlab_core import tree
from fedlab_core.metrics import evaluate
from fedlab_core.rounds.history import Round
from fedlab_core.rounds.worlds import World

_EVERY = 5  # rounds


def own(now: Round) -> dict[str, float]:
    """Of a round: how the model that it ends with does on all clients' own samples."""
    world = now.world
    return {"own": right(world, tree.take(now.after, 0), world.x, world.y)}


def seen(now: Round) -> dict[str, float]:
    """The same, the round's two terms, and under a factor what it brings at_once.

    By so many points the model is ahead, on new samples, of the clients' average
    without it; looked at in every fifth round.
    """
    world, said = now.world, own(now) | temper.terms(now)
    shrunk = "gamma" in now.servers[0].metrics and now.number % _EVERY == 0
    if shrunk and now.scores is not None:
        rows = {n: now.trained.states[n] for n in world.parameters}
        plain = tree.take(now.after, 0) | tree.weighted_sum(rows, now.weights[0])
        without = right(world, plain, world.x_test, world.y_test)
        said["at_once"] = 100 * (float(now.scores.accuracy[0]) - without)
    return said


def all_seen(now: Round) -> dict[str, float]:
    """Own samples, and of a factor its temperature and the round's two terms."""
    return own(now) | temper.seen(now)


def right(world: World, state: tree.Tree, x: Tensor, y: Tensor) -> float:
    """The part of these samples whose label a model names."""
    row = {n: v[None] for n, v in state.items()}
    return float(evaluate(world.model, row, x, y, len(world.classes)).accuracy)
