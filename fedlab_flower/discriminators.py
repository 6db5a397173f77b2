"""FedCollab's question before round one, with every client's samples where they are.

A discriminator of two clients is trained as the paper has it: in each of its rounds
both take its gradient on a batch of their own, and the server takes the step on the
mean. The core trains the same networks side by side, in coordinates of what they see:
a distance is a share of right guesses, and comes out the same.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from fedlab_core.errors import require
from fedlab_core.methods.collab_distance import (
    columns_of,
    distances,
    first_discriminator,
    halves_of,
    spread,
)
from fedlab_core.methods.fedcollab import Solved
from fedlab_core.rounds import Method, World
from fedlab_core.tree import Tree, add, gradient, repeat, take, with_grad
from fedlab_flower.messages import Ask, Reply, Talk, told

# Ask everybody: kind, round, trees by client, facts, and what the answers look like.
Everybody = Callable[..., Talk[dict[int, Reply]]]


def options(method: Method) -> dict[str, Any]:
    """How `distances` is called by this method's groups."""
    begin = method.groups.begin
    assert isinstance(begin, Solved)
    known = inspect.signature(distances).parameters.items()
    given = {n: p.default for n, p in known if p.default is not p.empty}
    return {n: begin.options.get(n, v) for n, v in given.items() if n != "seed"}


def estimate(method: Method, w: World, seed: int, ask: Everybody) -> Talk[Tensor]:
    """The distance of every two clients, as `distances` has it: the server's half."""
    how, sizes = options(method), w.counts.sum(1)
    n, smallest = len(w), int(sizes.min())
    require(smallest >= 2, f"every client needs 2 samples or more, not {smallest}")
    look = how["features"] or (lambda x: x.flatten(1))
    width, hidden = look(w.view.blank).shape[1], how["hidden"]
    start = first_discriminator(width, len(w.classes), hidden, seed)
    who = torch.triu_indices(n, n, 1).T
    now = {"out": start["out.weight"][0], "shift": start["out.bias"][0]}
    now["in"] = torch.zeros(hidden, width + len(w.classes) + 2)
    now = {name: v.expand(len(who), *v.shape) for name, v in now.items()}
    scale: Tree = {}
    if how["standardise"]:
        scale = yield from _scale(ask, smallest, width)
    alive, since = torch.arange(len(who)), torch.zeros(len(who), dtype=torch.int64)
    best = torch.full((len(who),), -torch.inf, dtype=torch.float64)

    def everybody(kind: str, t: int) -> Talk[Tree]:
        """Each alive pair's sum of what its two clients say."""
        mine = {k: (who[alive] == k).any(1) for k in range(n)}
        sent = {
            k: {"pairs": {"of": alive[rows]}, "now": take(now, rows), "scale": scale}
            for k, rows in mine.items()
            if bool(rows.any())
        }
        like = {k: told(**_of(kind, trees["now"])) for k, trees in sent.items()}
        found = yield from ask(kind, t, sent, {"smallest": smallest}, like)
        whole = _of(kind, now)
        total = {name: torch.zeros_like(v) for name, v in whole.items()}
        for k, reply in found.items():
            for name, v in reply.trees["told"].items():
                total[name][mine[k]] += v
        return total

    for begin in range(1, how["rounds"] + 1, how["every"]):
        for t in range(begin, min(begin + how["every"], how["rounds"] + 1)):
            now = add(now, (yield from everybody("step", t)), -how["lr"])
        score = (yield from everybody("score", begin))["right"]
        since = torch.where(score > best[alive], 0, since + 1)
        best[alive] = torch.maximum(best[alive], score)
        on = (since < how["patience"]) & (best[alive] < 2)
        alive, since, now = alive[on], since[on], take(now, on)
        if not len(alive):
            break
    found = torch.zeros(n, n, dtype=torch.float64)
    i, j = who.unbind(1)
    found[i, j] = found[j, i] = best - 1
    return found


def _of(kind: str, now: Tree) -> Tree:
    """An answer's form for these pairs: gradients, or shares of right guesses."""
    rows = len(now["shift"])
    right = {"right": torch.zeros(rows, dtype=torch.float64)}
    return right if kind == "score" else now


def _scale(ask: Everybody, smallest: int, width: int) -> Talk[Tree]:
    """Mean and deviation of what all clients train on, equally many samples each."""
    like = {"mean": torch.zeros(width), "square": torch.zeros(width)}
    found = yield from ask("moments", 0, None, {"smallest": smallest}, told(**like))
    told_ = [reply.trees["told"] for reply in found.values()]
    means = torch.stack([tree["mean"] for tree in told_])
    inside = torch.stack([tree["square"] for tree in told_]).mean(0)
    whole = inside + (means - means.mean(0)).square().mean(0)
    return {"mean": means.mean(0), "std": whole.sqrt().clamp(min=1e-6)}


def moments(method: Method, w: World, k: int, ask: Ask) -> Reply:
    """Mean and variance of a client's features, where it trains discriminators."""
    train, _ = _parts(method, w, k, ask)
    x = _seen(method, w, train)
    mean, square = x.mean(0), x.var(0, correction=0)
    return Reply({}, told(mean=mean.cpu(), square=square.cpu()))


def step(method: Method, w: World, k: int, ask: Ask) -> Reply:
    """A client's part of the gradient of each network that it shares with another."""
    how, pairs = options(method), ask.trees["pairs"]["of"].cpu()
    train, _ = _parts(method, w, k, ask)
    half = len(train)
    size = min(how["batch"], half)
    side = _side(pairs, k, ask)
    t, seed = int(ask.facts["round"]), int(ask.facts["seed"])
    columns = columns_of(pairs, half, size, seed, range(t, t + 1))[0]
    mine = columns.view(len(pairs), 2, size)[torch.arange(len(pairs)), side]
    inputs, first = _inputs(method, w, train, ask)
    places = (mine - half * side[:, None]).to(inputs.device)
    now = {n: v.to(inputs.device) for n, v in ask.trees["now"].items()}
    at = with_grad(now)
    said = _logits(at, inputs[places], first[places])
    target = side[:, None].to(said).expand_as(said)
    whole = F.binary_cross_entropy_with_logits(said, target, reduction="sum")
    found = gradient(whole / (2 * size), at)
    return Reply({}, told(**{n: v.detach().cpu() for n, v in found.items()}))


@torch.no_grad()
def score(method: Method, w: World, k: int, ask: Ask) -> Reply:
    """The share of a client's other samples that each of its networks gets right."""
    _, rest = _parts(method, w, k, ask)
    inputs, first = _inputs(method, w, rest, ask)
    now = {n: v.to(inputs.device) for n, v in ask.trees["now"].items()}
    side = _side(ask.trees["pairs"]["of"].cpu(), k, ask).to(inputs.device)
    z, h = repeat({"z": inputs, "h": first}, len(side)).values()
    right = ((_logits(now, z, h) > 0) == side[:, None].bool()).sum(1)
    return Reply({}, told(right=(right.double() / len(rest)).cpu()))


def _side(pairs: Tensor, k: int, ask: Ask) -> Tensor:
    """0 or 1 for each pair of a client: the place that it has in it."""
    n = int(ask.facts["clients"])
    return (torch.triu_indices(n, n, 1)[1][pairs] == k).long()


def _parts(method: Method, w: World, k: int, ask: Ask) -> tuple[Tensor, Tensor]:
    """A client's samples to train discriminators on, and those to judge them by."""
    smallest, seed = int(ask.facts["smallest"]), int(ask.facts["seed"])
    train, rest = halves_of(w, k, smallest, seed)
    if (check := options(method)["check"]) is not None:
        rest = spread(rest, min(check, len(rest)))
    return train, rest


def _seen(method: Method, w: World, at: Tensor) -> Tensor:
    look = options(method)["features"] or (lambda images: images.flatten(1))
    with torch.no_grad():
        return look(w.x[at.to(w.x.device)]).float()


def _inputs(method: Method, w: World, at: Tensor, ask: Ask) -> tuple[Tensor, Tensor]:
    """The numbers that a discriminator sees of samples, and its first layer's, unmoved.

    They are a sample's features, its label, and ones for the two shifts.
    """
    x, classes = _seen(method, w, at), len(w.classes)
    if scale := ask.trees.get("scale"):
        x = (x - scale["mean"].to(x)) / scale["std"].to(x)
    nu = classes / math.sqrt(max(classes - 1, 1))
    label = 2 * nu * F.one_hot(w.y[at.to(w.y.device)], classes).to(x.dtype)
    ones = x.new_ones(len(x), 1)
    inputs = torch.cat([x, label, ones, 2 * ones], dim=1)
    hidden, seed = options(method)["hidden"], int(ask.facts["seed"])
    start = first_discriminator(x.shape[1], classes, hidden, seed)
    shifts = [start[n][:, None] for n in ("of_x.bias", "of_y.bias")]
    layer = torch.cat([start["of_x.weight"], start["of_y.weight"], *shifts], dim=1)
    return inputs, inputs @ layer.T.to(inputs)


def _logits(now: Tree, z: Tensor, first: Tensor) -> Tensor:
    h = torch.relu(torch.baddbmm(first, z, now["in"].mT))
    return (h @ now["out"][..., None])[..., 0] + now["shift"][:, None]
