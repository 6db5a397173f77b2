"""Distances between clients' data: FedCollab's discriminators, all pairs at once.

Each pair of clients trains a small network to tell whose sample it is looking at, an
image's features with its label. How well it does, beyond guessing, is the distance. A
federated round of a pair, one step on either side and the average of the two, is one
step on the mean of the two losses; so the pairs' networks train here side by side.

A network only ever changes within the span of the samples it is trained on. Where these
are fewer than the inputs have numbers, its change is kept in coordinates of that span:
the same steps, with a fraction of the arithmetic. Agreement: 3e-8 with FedCollab's code
(83de4b9).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fedlab_core.arguments import Count, Positive, Seed, checked
from fedlab_core.errors import require
from fedlab_core.keys import derive_seed, keys_of, random_bits
from fedlab_core.models import initial_state
from fedlab_core.rounds import World
from fedlab_core.tree import Tree, add, gradient, take, with_grad

Features = Callable[[Tensor], Tensor]
_SPLIT, _BATCH, _FIRST = 0xD15C0, 0xD15C1, 0xD15C2  # what a key is for


@checked
def pooled_pixels(side: Count) -> Features:
    """Images averaged down to side x side pixels, as vectors."""
    return lambda x: F.adaptive_avg_pool2d(x, side).flatten(1)


@checked
def distances(
    world: World,
    *,
    features: Features | None = None,
    standardise: bool = False,
    hidden: Count = 200,
    lr: Positive = 0.01,
    batch: Count = 32,
    rounds: Count = 2000,
    every: Count = 10,
    patience: Count = 10,
    check: Count | None = None,
    seed: Seed = 0,
) -> Tensor:
    """The estimated distance of every two clients: (clients, clients), zero diagonal.

    D = acc_i + acc_j - 1, twice the balanced accuracy less one, on samples that the
    discriminator has not been trained on; the best of an evaluation `every` so many
    rounds, until `patience` of them in a row bring nothing. It may be negative.
    `features` turns images into vectors (their pixels by default); `standardise` gives
    these mean 0 and variance 1 over all clients' training parts. `check` bounds how
    many of a client's samples an evaluation uses.

    Paper: FedCollab Alg. 1, App. A.3.
    """
    needs = "FedCollab needs classes: it compares clients' labels"
    require(world.loss is None, f"{needs}; this world has a loss of its own")
    parts = halves(world, seed)
    if check is not None:
        parts = [(a, spread(b, min(check, len(b)))) for a, b in parts]
    pairs = _pair_up(world, parts, features, standardise, hidden, seed)
    best = _train(pairs, lr, batch, rounds, every, patience, seed)
    found = torch.zeros(len(world), len(world), dtype=torch.float64)
    i, j = pairs.who.unbind(1)
    found[i, j] = found[j, i] = best.cpu() - 1
    return found


def halves(world: World, seed: int = 0) -> list[tuple[Tensor, Tensor]]:
    """Each client's samples to train discriminators on, and the rest, to judge them by.

    Everyone trains on the same number, half of the smallest client's samples (rounded
    down), with labels as frequent as among all samples of the client.
    """
    smallest = int(world.counts.sum(1).min())
    few = f"every client needs 2 samples or more, but one has {smallest}: its samples"
    require(smallest >= 2, f"{few} are split, some to train on and some to judge by")
    return [halves_of(world, k, smallest, seed) for k in range(len(world))]


def halves_of(world: World, k: int, smallest: int, seed: int) -> tuple[Tensor, Tensor]:
    """Two halves of client k's samples, where the smallest client has so many."""
    key = keys_of(torch.tensor([seed, k, _SPLIT]))
    mine = world.client(k)
    mine = mine[random_bits(key, len(mine)).argsort()]
    mine = mine[world.y.cpu()[mine].argsort(stable=True)]
    part = spread(torch.arange(len(mine)), smallest // 2)
    rest = torch.ones(len(mine), dtype=torch.bool)
    rest[part] = False
    return mine[part], mine[rest]


def spread(order: Tensor, n: int) -> Tensor:
    """n entries at even gaps: of samples in order of labels, each label's share."""
    return order[(2 * torch.arange(n) + 1) * len(order) // (2 * n)]


@dataclass(frozen=True, eq=False)
class _Pairs:
    """All pairs' discriminators before training, and the samples they look at."""

    who: Tensor  # (pairs, 2) the two clients
    inputs: Tensor  # (samples, width) of all clients, one after another
    first: Tensor  # (samples, hidden) the first layer's outputs at the start
    out: Tree  # the second layer at the start
    train: Tensor  # (pairs, 2 n) places in `inputs`, the first client's first
    rest: list[slice]  # each client's other places
    span: Tensor | None  # (pairs, width, 2 n) a basis of what a pair trains on
    within: Tensor | None  # (pairs, 2 n, 2 n) that, in coordinates of the basis

    @property
    def width(self) -> int:
        """Numbers per hidden unit in the change of a network's first layer."""
        return (self.inputs if self.span is None else self.span).shape[-1]

    def batch(self, pairs: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
        """These of the pairs' training samples, and their first outputs."""
        places = self.train[pairs].gather(1, columns)
        if self.within is None:
            return self.inputs[places], self.first[places]
        return self.within[pairs[:, None], columns], self.first[places]

    def of(self, client: int) -> Tensor:
        """The pairs that this client is in."""
        return (self.who == client).any(1).nonzero()[:, 0]

    def seen(self, client: int) -> Tensor:
        """Samples that a client judges networks by: (pairs or 1, samples, width)."""
        x = self.inputs[self.rest[client]][None]
        return x if self.span is None else x @ self.span[self.of(client)]


def _pair_up(
    world: World,
    parts: Sequence[tuple[Tensor, Tensor]],
    features: Features | None,
    standardise: bool,
    hidden: int,
    seed: int,
) -> _Pairs:
    device, classes = world.x.device, len(world.classes)
    sizes = [len(part) for both in parts for part in both]
    ends = torch.tensor(sizes).cumsum(0).tolist()
    rest = [slice(a, b) for a, b in zip(ends[::2], ends[1::2], strict=True)]
    train = torch.tensor([range(s.start - sizes[0], s.start) for s in rest])
    held = torch.cat([part for both in parts for part in both]).to(device)
    look = features or (lambda images: images.flatten(1))
    with torch.no_grad():
        x = torch.cat([look(world.x[some]).float() for some in held.split(2048)])
    if standardise:
        among = x[train.flatten()]
        x = (x - among.mean(0)) / among.std(0, correction=0).clamp(min=1e-6)
    nu = classes / math.sqrt(max(classes - 1, 1))
    label = 2 * nu * F.one_hot(world.y[held], classes).to(x.dtype)
    ones = x.new_ones(len(x), 1)
    inputs = torch.cat([x, label, ones, 2 * ones], dim=1)
    start = first_discriminator(x.shape[1], classes, hidden, seed)
    start = {n: v.to(device) for n, v in start.items()}
    of_x, of_y = start["of_x.weight"], start["of_y.weight"]
    shifts = [start[n][:, None] for n in ("of_x.bias", "of_y.bias")]
    first = inputs @ torch.cat([of_x, of_y, *shifts], dim=1).T
    who = torch.triu_indices(len(parts), len(parts), 1).T
    both = train[who].flatten(1).to(device)
    span = within = None
    if both.shape[1] < inputs.shape[1]:
        span, triangle = torch.linalg.qr(inputs[both].mT)
        within = triangle.mT
    out = {"out": start["out.weight"][0], "shift": start["out.bias"][0]}
    return _Pairs(who, inputs, first, out, both, rest, span, within)


def first_discriminator(width: int, classes: int, hidden: int, seed: int = 0) -> Tree:
    """The parameters all pairs begin from, drawn as PyTorch draws linear layers.

    The network is W_x x + b_x + 2 (W_y nu e_y + b_y), ReLU, and one logit, where e_y is
    one at the label and nu = L / sqrt(L - 1) of L labels.
    """

    def make() -> nn.Module:
        return nn.ModuleDict(
            {
                "of_x": nn.Linear(width, hidden),
                "of_y": nn.Linear(classes, hidden),
                "out": nn.Linear(hidden, 1),
            }
        )

    return initial_state(make, derive_seed(seed, _FIRST))


def _logits(now: Tree, z: Tensor, first: Tensor) -> Tensor:
    """Logits of each pair's network on its samples: (pairs, samples)."""
    h = torch.relu(torch.baddbmm(first, z, now["in"].mT))
    return (h @ now["out"][..., None])[..., 0] + now["shift"][:, None]


def _gradient(now: Tree, z: Tensor, first: Tensor, target: Tensor) -> Tree:
    """Gradient of the cross-entropy, averaged over a pair's batch."""
    at = with_grad(now)
    said = _logits(at, z, first)
    whole = F.binary_cross_entropy_with_logits(
        said, target.expand_as(said), reduction="sum"
    )
    return gradient(whole / len(target), at)


def _train(
    pairs: _Pairs,
    lr: float,
    batch: int,
    rounds: int,
    every: int,
    patience: int,
    seed: int,
) -> Tensor:
    """Train until nothing improves; the best acc_i + acc_j of each pair."""
    device, n = pairs.inputs.device, len(pairs.who)
    half = pairs.train.shape[1] // 2
    size = min(batch, half)
    now = {name: v.expand(n, *v.shape) for name, v in pairs.out.items()}
    now["in"] = pairs.first.new_zeros(n, pairs.first.shape[1], pairs.width)
    target = (torch.arange(2 * size, device=device) >= size).to(pairs.first.dtype)
    kept = None
    if pairs.span is not None:  # few numbers a sample, and used again and again
        kept = [pairs.seen(k) for k in range(len(pairs.rest))]
    alive, since = torch.arange(n), torch.zeros(n, dtype=torch.int64)
    best = torch.full((n,), -torch.inf, dtype=torch.float64)
    for begin in range(1, rounds + 1, every):
        some = range(begin, min(begin + every, rounds + 1))
        for columns in columns_of(alive, half, size, seed, some).to(device):
            z, first = pairs.batch(alive.to(device), columns)
            now = add(now, _gradient(now, z, first, target), -lr)
        score = _judge(pairs, alive, now, kept)
        since = torch.where(score > best[alive], 0, since + 1)
        best[alive] = torch.maximum(best[alive], score)
        on = (since < patience) & (best[alive] < 2)  # nothing is above 2
        if not bool(on.all()):
            alive, since, now = alive[on], since[on], take(now, on.to(device))
        if not len(alive):
            break
    return best


def columns_of(alive: Tensor, half: int, size: int, seed: int, when: range) -> Tensor:
    """Columns of `_Pairs.train` in every mini-batch: (rounds, pairs, 2 size)."""
    if size == half:
        return torch.arange(2 * half).expand(len(when), len(alive), -1)
    axes = (torch.tensor(when), alive, torch.arange(2))
    t, pair, side = torch.meshgrid(*axes, indexing="ij")
    fixed = [torch.full_like(t, word) for word in (seed, _BATCH)]
    drawn = keys_of(torch.stack([fixed[0], t, fixed[1], pair, side], dim=-1))
    order = random_bits(drawn, half).argsort()[..., :size]
    return (order + half * side[..., None]).flatten(2)


@torch.no_grad()
def _judge(
    pairs: _Pairs, alive: Tensor, now: Tree, kept: list[Tensor] | None
) -> Tensor:
    """acc_i + acc_j of each pair's network, client by client."""
    total = torch.zeros(len(alive), dtype=torch.float64, device=pairs.first.device)
    for k, rest in enumerate(pairs.rest):
        rows, side = (pairs.who[alive] == k).nonzero(as_tuple=True)
        if not len(rows):
            continue
        rows, side = rows.to(total.device), side.to(total.device)
        if kept is None:
            z = pairs.seen(k)
        else:
            z = kept[k][torch.searchsorted(pairs.of(k), alive[rows.cpu()])]
        net = take(now, rows)
        z = z.expand(len(rows), -1, -1)
        h = torch.baddbmm(pairs.first[rest], z, net["in"].mT).relu_()
        said = (h @ net["out"][..., None])[..., 0] + net["shift"][:, None] > 0
        right = (said == side[:, None].bool()).sum(1)
        total[rows] += right.double() / said.shape[1]
    return total.cpu()
