"""A world: data, who holds what, and a kind of model, on a device."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from fedlab_core.arguments import Axes, Count, Device, Ratio, Seed, Within, checked
from fedlab_core.data import Dataset
from fedlab_core.errors import require
from fedlab_core.metrics.measures import Metric
from fedlab_core.models import made_by
from fedlab_core.models.examine import examined
from fedlab_core.models.losses import Each, given_loss, name_of, own_loss
from fedlab_core.models.network import takes
from fedlab_core.partition import Partition
from fedlab_core.partition.scenarios import Scenario
from fedlab_core.rounds.server import ServerView

Places = Annotated[Tensor, Axes("_", "whole")]
Held = Annotated[np.ndarray, Axes("_", "whole")]


@checked
@dataclass(frozen=True, eq=False)
class World:
    """The data, clients and model that a method runs on; `world` makes one."""

    model: nn.Module
    make: Callable[[], nn.Module]
    x: Annotated[Tensor, Axes("samples ...", "any")]
    y: Annotated[Tensor, Axes("samples ...", "any")]
    x_test: Annotated[Tensor, Axes("tests ...", "any")]
    y_test: Annotated[Tensor, Axes("tests ...", "any")]
    partition: Partition
    counts: Annotated[Tensor, Axes("clients classes", "whole", Within(0))]
    classes: tuple[str, ...]
    tests: tuple[Places, ...] | None = None  # clients' own test samples, of x_test
    proxy: tuple[Tensor, Tensor] | None = None  # images and labels the server has
    common: Places | None = None  # of x_test, what is nobody's own; None: all
    loss: Each | None = None  # of outputs and labels; None: the cross-entropy
    metric: Metric | None = None  # by which models are judged; None: accuracy, or loss

    def __post_init__(self) -> None:
        self.partition.within(len(self.x), "training ")
        clients = len(self.partition)
        require(len(self.holders) > 0, "the partition gives no client a sample")
        for name in ("counts", "tests"):
            held = getattr(self, name)
            fits = held is None or len(held) == clients
            require(fits, f"{name} must be one for each of {clients} clients")
        for name, y in (("y", self.y), ("y_test", self.y_test)):
            labels = not y.is_floating_point() and y.ndim == 1
            sound = labels and (not len(y) or int(y.min()) >= 0)
            text = "whole numbers of 0 or more, one a sample, or the world has a loss"
            require(sound or self.loss is not None, f"{name} must be {text}")
        told = own_loss(self.model) is self.loss
        require(told, "loss is what the network was told: give it to fl.world")
        for k, own in enumerate(self.tests or ()):
            ends = own.aminmax() if len(own) else (-1, -1)
            inside = 0 <= ends[0] and ends[1] < len(self.x_test)
            samples = f"samples from 0 to {len(self.x_test) - 1}"
            require(bool(inside), f"tests: client {k} must have one or more {samples}")

    def __repr__(self) -> str:
        size = sum(p.numel() for p in self.model.parameters())
        server = f", {len(self.proxy[0]):,} with the server" if self.proxy else ""
        tests = f"tested on {len(self.x_test):,}{server}; a model of {size:,} numbers"
        return f"{self.partition}, {tests}"

    def __len__(self) -> int:
        return len(self.partition)

    @cached_property
    def holders(self) -> list[int]:
        """Clients with at least one sample: only they take part."""
        return [k for k, n in enumerate(self.partition.sizes.tolist()) if n]

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Names of what is trained, as the model has them; the rest is statistics."""
        return tuple(n for n, _ in self.model.named_parameters())

    @property
    def judged_by(self) -> str:
        """The name of the number by which its models are judged."""
        if self.metric is None:
            whole = not self.y.is_floating_point()
            return "accuracy" if self.loss is None or whole else "loss"
        name = name_of(self.metric)
        return name if name.isidentifier() else "metric"

    def client(self, k: int) -> Tensor:
        """The training samples of client k."""
        return torch.from_numpy(self.partition.indices[k])

    @cached_property
    def view(self) -> ServerView:
        """The part of it that a server may know."""
        empty = torch.zeros_like(self.x[:1])
        return ServerView(
            model=self.model,
            parameters=self.parameters,
            blank=empty,
            classes=self.classes,
            proxy=self.proxy,
        )


@checked
@dataclass(frozen=True)
class Proxy:
    """Labelled samples that the server has, taken out of the test set.

    Where clients have tests of their own, it takes what none of them has there.

    `per_class` of each class, or, with a long tail `rho`, from that number down to
    1/rho of it; then `resample` repeats the rarer ones until all are as many.
    """

    per_class: Count = 10
    rho: Ratio = 1.0
    resample: bool = False
    seed: Seed = 0

    def draw(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places in the test set for the server, with repetitions, and the rest's."""
        rng = np.random.default_rng([self.seed, 0x9801])
        held = np.bincount(labels)
        least = held[held > 0].min(initial=len(labels))
        fits = least > self.per_class
        require(
            bool(fits), f"per_class={self.per_class} (--proxy): a class has {least}"
        )
        chosen, server = [], []
        for c in range(len(held)):
            share = self.rho ** (-c / max(len(held) - 1, 1))
            mine = rng.permutation(np.flatnonzero(labels == c))
            mine = mine[: max(1, int(self.per_class * share))]
            chosen.append(mine)
            server.append(np.resize(mine, self.per_class) if self.resample else mine)
        rest = np.setdiff1d(np.arange(len(labels)), np.concatenate(chosen))
        return np.concatenate(server), rest


@checked
def world(
    data: Dataset,
    partition: Partition,
    make: Callable[[], nn.Module],
    device: Device = "cpu",
    *,
    tests: Sequence[Held] | None = None,
    proxy: Proxy | None = None,
    loss: Each | None = None,
    metric: Metric | None = None,
) -> World:
    """Put data, split and model together; worlds on the same data share its tensors.

    `tests` gives every client test samples of its own, by their places in the test set;
    `proxy` takes samples out of the test set for the server, none of theirs.

    `loss`, as `fl.squared` or `fl.logistic`, gives one number a sample of outputs and
    labels, instead of the cross-entropy; labels are then the data's targets, or, if it
    has none, its classes: whole if the network has an output each, else float32.
    `metric`, as `fl.r2`, gives one number of all, by which models are judged: the
    higher, the better. Either has outputs (n, 1) fit labels (n,) in `outputs - labels`.
    """
    require(not torch.is_inference_mode_enabled(), "no world in inference_mode")
    x, y, x_test, y_test = _tensors(data, str(device))
    counts = torch.from_numpy(partition.counts(y.cpu().numpy(), len(data.classes)))
    require(len(x_test) > 0, f"{data.name} has no test sample")
    with torch.random.fork_rng(devices=[]):  # draws that no state has stay the same
        torch.default_generator.manual_seed(0)
        model = _fitting(make, loss, (x, y), (x_test, y_test))
    labels, known = y_test.cpu().numpy(), None
    if loss:
        y, y_test = _targets(data, y, y_test, _tells_classes(model, x[:2], data))
        given_loss(model, loss, x[:2], y[:2])
    own = tuple(torch.from_numpy(np.asarray(i)) for i in tests or ()) or None
    rest = _nobodys(len(data.y_test), tests or ())
    if proxy:
        require(
            len(rest) > 0, "the clients' own tests leave no test sample for a proxy"
        )
        server, rest = (rest[i] for i in proxy.draw(labels[rest]))
        known = (x_test[server], y_test[server])
        if tests is None:
            x_test, y_test = x_test[rest], y_test[rest]
    common = None if tests is None else torch.from_numpy(rest)
    return World(
        model=model,
        make=make,
        x=x,
        y=y,
        x_test=x_test,
        y_test=y_test,
        partition=partition,
        counts=counts,
        classes=data.classes,
        tests=own,
        proxy=known,
        common=common,
        loss=loss,
        metric=metric,
    )


def _fitting(
    make: Callable[[], nn.Module], loss: Each | None, *parts: tuple[Tensor, Tensor]
) -> nn.Module:
    """The network that `make` gives; refused if samples or labels do not fit it."""
    model = examined(made_by(make), parts[0][0][:2]).eval()  # who trains it copies it
    for x, y in parts:
        if len(x):
            takes(model, model.state_dict(), x, None if loss else y)
    return model


def _tells_classes(model: nn.Module, x: Tensor, data: Dataset) -> bool:
    """Whether a network has an output for each class of data without targets."""
    if data.targets_train is not None:
        return False
    with torch.no_grad():
        return model(x).shape == (len(x), len(data.classes))


def _targets(
    data: Dataset, y: Tensor, y_test: Tensor, whole: bool
) -> tuple[Tensor, Tensor]:
    """The numbers to be predicted, made once while the data set lives, or classes."""
    if whole:
        return y, y_test
    place = f"targets on {y.device}"
    made = _MADE.setdefault(data, {})
    if place not in made:
        train, test = data.targets_train, data.targets_test
        if train is None or test is None:
            made[place] = y.float(), y_test.float()
        else:
            both = (torch.from_numpy(v.astype(np.float32)) for v in (train, test))
            made[place] = tuple(v.to(y.device) for v in both)
    return made[place]


def _nobodys(size: int, tests: Sequence[np.ndarray]) -> np.ndarray:
    """The places in the test set that no client has in its own."""
    taken = np.concatenate([np.zeros(0, int), *map(np.asarray, tests)])
    return np.setdiff1d(np.arange(size), taken)


@checked
def world_of(
    scenario: Scenario,
    make: Callable[[], nn.Module],
    device: Device = "cpu",
    *,
    proxy: Proxy | None = None,
    loss: Each | None = None,
    metric: Metric | None = None,
) -> World:
    """The world of a scenario: its data and split, and its clients' own tests.

    The rest is as for `world`.
    """
    own = scenario.test.indices if scenario.test else None
    more: Any = {"tests": own, "proxy": proxy, "loss": loss, "metric": metric}
    return world(scenario.data, scenario.train, make, device, **more)


_MADE: WeakKeyDictionary[Dataset, dict] = WeakKeyDictionary()


def _tensors(data: Dataset, device: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Both sets on the device, made once while the data set lives.

    Arrays of the data set that are changed later change no world. Images move as bytes
    and are normalised there; so are numbers. Words stay integers.
    """
    made = _MADE.setdefault(data, {})
    if device in made:
        return made[device]
    x, columns = data.x_train, data.shape[0]
    words = x.ndim == 2 and x.dtype.kind in "iu"
    for name, v in (("mean", data.mean), ("std", data.std)):
        fits = words or len(v) == columns or (x.ndim == 2 and len(v) == 1)
        require(fits, f"{data.name}: {name} has {len(v)} numbers for {columns}")
    least = min(data.std, default=1)
    require(least > 0, f"{data.name}: std is {least:g} somewhere, but must be above 0")
    mean, std = (torch.tensor(v, device=device) for v in (data.mean, data.std))

    def seen(x: np.ndarray) -> Tensor:
        values = torch.from_numpy(np.ascontiguousarray(x)).to(device)
        if x.ndim == 2:
            numbers = values.is_floating_point()
            words = values.to(torch.int64, copy=True)
            return (values - mean) / std if numbers else words
        pixels = values.unsqueeze(1) if x.ndim == 3 else values.permute(0, 3, 1, 2)
        centre, spread = mean.view(-1, 1, 1), std.view(-1, 1, 1)
        # in place, on a copy: images as floats are the largest thing there is
        floats = pixels.to(torch.float32, copy=True)
        return floats.div_(255).sub_(centre).div_(spread).contiguous()

    labels = data.y_train, data.y_test
    y, y_test = (torch.from_numpy(v.copy()).to(device) for v in labels)
    made[device] = seen(data.x_train), y, seen(data.x_test), y_test
    return made[device]
