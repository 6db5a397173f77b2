"""The plan of each client's steps in a round, drawn from the clients' keys alone.

Everything is computed for the whole cohort at once. Where clients come in order of
their number of steps, most first, step t is for the first few of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from fedlab_core.arguments import Axes, Positive, Seed, Whole, checked
from fedlab_core.arguments.annotations import shown
from fedlab_core.client import Training
from fedlab_core.client.training import Range, bounds
from fedlab_core.errors import InputError, require
from fedlab_core.keys import bits_at, fold, keys_of, uniform

# What a key is for.
_ORDER, _DRAWS, _CAP, _ITERATIONS = range(4)
MOST_PLACES = 2**28  # for samples in a plan: two gigabytes
_WIDTH = 64  # padding grows by as much: sums of so many are the same to the bit


@checked
@dataclass(frozen=True)
class Client:
    """One client's work in one round: its samples, and the key of its randomness."""

    indices: Annotated[Tensor, Axes("samples", "any")]
    key: tuple[Seed, Whole, Seed]  # seed, round, client
    lr: Positive | None = None  # a learning rate of its own, instead of the training's


@dataclass(frozen=True)
class Plan:
    """The steps of a cohort's round: three tensors of (steps, clients[, batch]).

    Row (t, k) of `at` holds the samples of client k's step t, `real[t, k]` of them;
    the rest is padding. A client that has finished has 0 real samples. `at` lies where
    the samples are, the rest on the host.
    """

    at: Tensor
    real: Tensor
    lr: Tensor | float  # a number if it is the same in every step
    keys: Tensor  # (clients,) for what is drawn during training
    steps: Tensor  # (clients,)
    lr_sum: Tensor  # (clients,) sum of the learning rates

    def marks(self, clients: int | slice) -> Tensor:
        """A key of its own for each step of a client, or (steps, clients) of them."""
        keys = self.keys[clients]
        steps = torch.arange(len(self.at))
        return fold(keys, steps.reshape(-1, *(1,) * keys.ndim))

    def weight(self, dtype: torch.dtype) -> Tensor:
        """How much each sample counts in its mini-batch; nothing if all are full."""
        if self.full:
            return torch.zeros(*self.real.shape, 0, dtype=dtype)
        real = self.real[..., None].to(self.at.device)
        inside = torch.arange(self.at.shape[2], device=real.device) < real
        return inside.to(dtype) / real.clamp(min=1)

    @property
    def active(self) -> list[int]:
        """How many clients, the first ones, have each step to take."""
        taken = torch.arange(len(self.at))[:, None] < self.steps
        return taken.sum(1).tolist()

    @property
    def full(self) -> bool:
        """Whether no mini-batch has padding."""
        taken = torch.arange(len(self.at))[:, None] < self.steps
        return bool((self.real[taken] == self.at.shape[2]).all())


@checked
def count_steps(clients: Sequence[Client], training: Training) -> Tensor:
    """How many steps each client takes in this round."""
    require(len(clients) > 0, "clients: nobody is there")
    return _steps(clients, _sizes(clients), training)


def make_plan(
    clients: Sequence[Client], training: Training, device: torch.device | str = "cpu"
) -> Plan:
    """The plan of these clients; to be stacked, those with the most steps first."""
    require(len(clients) > 0, "clients: nobody is there")
    sizes, keys = _sizes(clients), _keys(clients)
    steps = _steps(clients, sizes, training)
    longest, most = int(steps.max()), int(sizes.max())
    size = min(training.batch_size, -(-most // _WIDTH) * _WIDTH)
    if longest * len(clients) * size > MOST_PLACES:
        raise InputError(
            f"{longest} steps of {len(clients)} clients with {size} samples are more "
            f"than {MOST_PLACES} samples in a round: take fewer epochs"
        )
    per_epoch = _batches(sizes, training).clamp(min=1)
    t = torch.arange(longest)[:, None]
    left = sizes - t % per_epoch * training.batch_size  # of the epoch, before step t
    real = torch.where(t < steps, left.clamp(max=training.batch_size), 0)
    own = torch.cat([c.indices for c in clients])
    at = _shuffled(own, sizes, fold(keys, _ORDER), steps, training, size, device)
    lr, lr_sum = _rates(clients, training, steps, longest)
    keys = fold(keys, _DRAWS)
    return Plan(at=at, real=real, lr=lr, keys=keys, steps=steps, lr_sum=lr_sum)


def lr_sums(clients: Sequence[Client], training: Training) -> Tensor:
    """The sum of the learning rates of each client's steps."""
    steps = count_steps(clients, training)
    return _rates(clients, training, steps, int(steps.max()))[1]


@checked
def batch_order(client: Client, training: Training) -> list[Tensor]:
    """The samples of each of a client's mini-batches, in the order it meets them."""
    plan = make_plan([client], training)
    return [at[:n] for at, n in zip(plan.at[:, 0], plan.real[:, 0], strict=True)]


def _sizes(clients: Sequence[Client]) -> Tensor:
    return torch.tensor([len(c.indices) for c in clients])


def _keys(clients: Sequence[Client]) -> Tensor:
    return keys_of(torch.tensor([c.key for c in clients]))


def _steps(clients: Sequence[Client], sizes: Tensor, training: Training) -> Tensor:
    per_epoch = _batches(sizes, training)
    if training.iterations is None:
        steps = training.epochs * per_epoch
    else:
        drawn = _draw(fold(_keys(clients), _ITERATIONS), training.iterations)
        steps = torch.where(per_epoch > 0, drawn, 0)
    if training.cap is not None:
        steps = torch.minimum(steps, _draw(fold(_keys(clients), _CAP), training.cap))
    return steps


def _batches(sizes: Tensor, training: Training) -> Tensor:
    whole, rest = sizes // training.batch_size, sizes % training.batch_size
    return whole + ((rest > 0) & (not training.drop_last))


def _draw(keys: Tensor, between: Range) -> Tensor:
    low, high = bounds(between)
    return low + (uniform(keys, 1)[:, 0].double() * (high - low + 1)).long()


def _shuffled(
    samples: Tensor,
    sizes: Tensor,
    keys: Tensor,
    steps: Tensor,
    training: Training,
    size: int,
    device: torch.device | str,
) -> Tensor:
    """The samples of each step, padded to `size`; nothing waits for the device.

    An epoch of a client is a stretch of one long list; one sort, by numbers drawn from
    the epoch's key, shuffles every stretch within itself.
    """
    clients, batch = len(sizes), training.batch_size
    per_epoch = _batches(sizes, training)
    epochs = -(-steps // per_epoch.clamp(min=1))
    whose = torch.arange(clients).repeat_interleave(epochs)
    epoch, length = _count_up(epochs), sizes[whose]
    done = epoch * per_epoch[whose]  # steps before the stretch
    kept = torch.minimum(per_epoch[whose], steps[whose] - done) * batch
    begins, first = length.cumsum(0) - length, (sizes.cumsum(0) - sizes)[whose]
    rows = (fold(keys[whose], epoch), begins, first, done, whose, kept)
    table = torch.stack(rows, dim=1)  # a row a stretch: what is gathered lies together
    total, number = int(length.sum()), torch.arange(len(whose))
    longest = int(steps.max())

    table, number, length = (v.to(device) for v in (table, number, length))
    stretch = number.repeat_interleave(length, output_size=total)
    key, begin, first, done, whose, kept = table.index_select(0, stretch).unbind(1)
    rank = torch.arange(total, device=device) - begin
    drawn = bits_at(key, rank) >> 24 & 2**40 - 1
    order = (stretch << 40 | drawn).argsort(stable=True)
    taken = first + rank.index_select(0, order)
    sample = samples.to(device).index_select(0, taken)
    place = ((done + rank // batch) * clients + whose) * size + rank % batch
    at = sample.new_zeros(longest * clients * size + 1)
    at.scatter_(0, torch.where(rank < kept, place, len(at) - 1), sample)  # rest: last
    return at[:-1].view(longest, clients, size)


def _count_up(lengths: Tensor) -> Tensor:
    """0, 1, ..., length - 1 for each length, one after another."""
    first = lengths.cumsum(0) - lengths
    return torch.arange(int(lengths.sum())) - first.repeat_interleave(lengths)


def _rates(
    clients: Sequence[Client], training: Training, steps: Tensor, longest: int
) -> tuple[Tensor | float, Tensor]:
    if training.schedule is None and all(c.lr is None for c in clients):
        return training.lr, training.lr * steps.double()
    own = [training.lr if c.lr is None else c.lr for c in clients]
    t = torch.arange(longest, dtype=torch.float64)[:, None]
    lr = torch.tensor(own, dtype=torch.float64).expand(longest, -1)
    if training.schedule:
        rounds = torch.tensor([c.key[1] for c in clients], dtype=torch.float64)
        try:
            times = training.schedule(rounds + t / steps.clamp(min=1))
        except RuntimeError as error:
            cure = "it is given many times in a tensor: torch.where(time < 2, 1.0, 0.1)"
            require("Boolean value" not in str(error), f"schedule asks if: {cure}")
            raise
        fits = isinstance(times, Tensor) and times.shape in ((), lr.shape)
        require(fits, f"schedule must give a factor for each time, not {shown(times)}")
        lr = lr * times
    lr = torch.where(t < steps, lr, 0.0)
    return lr, lr.sum(0)
