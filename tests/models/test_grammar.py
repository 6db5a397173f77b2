"""Networks, data and splits from a grammar: what is taken equals a plain loop."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import fedlab_core as fl
from fedlab_core.errors import InputError
from fedlab_core.partition import Partition
from tests.models_cases import plainly
from tests.once import examples

SHAPES = [(5,), (6, 6), (6, 6, 3)]
ACTS = [nn.ReLU, nn.Tanh, nn.GELU, nn.SiLU, nn.LeakyReLU, nn.PReLU, nn.Softplus,
        partial(nn.ReLU, inplace=True)]  # fmt: skip
# Sound ones, and such as no engine can train as they are written.
MIDDLE = ["act"] * 6 + ["linear", "linear", "norm", "skip", "bias"]
ODD = ["dropout", "batchnorm", "frozen", "tied", "again", "half", "scalar", "counts"]


class Skip(nn.Module):
    """A layer with a way around it, or with something that it keeps."""

    def __init__(self, width: int, how: str):
        super().__init__()
        self.layer, self.how, self.calls = nn.Linear(width, width), how, 0
        if how == "scalar":
            self.scale = nn.Parameter(torch.tensor(0.5))
        if how == "bias":
            self.register_buffer("shift", torch.linspace(-1, 1, width))

    def forward(self, x):
        h = self.layer(x)
        if self.how == "counts":
            self.calls += 1
        if self.how == "scalar":
            h = h * self.scale
        return h + (self.shift if self.how == "bias" else x)


def network(shape: tuple[int, ...], plan: list, classes: int) -> nn.Module:
    """A module by a plan: kinds of layers, with a width or an activation each."""
    layers: list[nn.Module] = []
    if len(shape) > 1:
        channels = shape[2] if len(shape) == 3 else 1
        layers += [nn.Conv2d(channels, 3, 3), nn.ReLU(), nn.Flatten()]
        width = 3 * 4 * 4
    else:
        width = int(np.prod(shape))
    for kind, number in plan:
        if kind == "act":
            layers.append(ACTS[number % len(ACTS)]())
        elif kind in ("linear", "frozen", "half"):
            layers.append(nn.Linear(width, 2 + number))
            width = 2 + number
            if kind == "frozen":
                layers[-1].get_parameter("weight").requires_grad_(False)
            if kind == "half":
                layers[-1].half()
        elif kind in ("tied", "again"):
            one = nn.Linear(width, width)
            two = one if kind == "again" else nn.Linear(width, width)
            two.weight = one.weight
            layers += [one, nn.ReLU(), two]
        elif kind in ("dropout", "batchnorm", "norm"):
            made = {"dropout": nn.Dropout, "norm": nn.LayerNorm}.get(
                kind, nn.BatchNorm1d
            )
            layers.append(made(0.5 if kind == "dropout" else width))
        else:
            layers.append(Skip(width, kind))
    return nn.Sequential(*layers, nn.Linear(width, classes))


@st.composite
def cases(draw):
    shape, odd = draw(st.sampled_from(SHAPES)), draw(st.sampled_from([None] * 6 + ODD))
    kinds = draw(st.lists(st.sampled_from(MIDDLE), max_size=5))
    if odd:
        kinds.insert(draw(st.integers(0, len(kinds))), odd)
    plan = [(kind, draw(st.integers(0, 7))) for kind in kinds]
    spoilt = draw(st.sampled_from(["", "", "", "", "float64", "ints", "nan", "late"]))
    held = draw(st.sampled_from(["even", "even", "few", "empty", "twice", "beyond"]))
    return shape, plan, spoilt, held, draw(st.booleans()), draw(st.integers(0, 99))


def data(shape: tuple, spoilt: str, seed: int) -> fl.Dataset:
    g = np.random.default_rng(seed)
    n, images = 30, len(shape) > 1
    x = g.integers(0, 256, (n, *shape)).astype(np.uint8)
    y = g.integers(0, 3, n).astype(np.uint8)
    x = x if images else (x / 64 - 2).astype(np.float32)
    if spoilt == "float64":
        x = x.astype(np.float64)
    if spoilt == "ints":
        x = x.astype(np.int64)
    if spoilt == "nan":
        x = x.astype(np.float32)
        x[-1, -1] = np.nan
    y = y + 1 if spoilt == "late" else y
    columns = 3 if len(shape) == 3 else 1
    mean, std = ((0.5,) * columns, (0.25,) * columns) if images else ((0.0,), (1.0,))
    return fl.Dataset("drawn", x[:24], y[:24], x[24:], y[24:], tuple("abc"), mean, std)


def split(held: str) -> Partition:
    parts = [np.arange(k, 24, 3) for k in range(3)]
    if held == "few":
        parts = [np.arange(22), np.array([22]), np.array([23])]
    if held == "empty":
        parts.append(np.zeros(0, int))
    if held == "twice":
        parts[0] = np.append(parts[0], parts[1][0])
    if held == "beyond":
        parts[0] = np.append(parts[0], 24)
    return Partition("drawn", {}, tuple(parts))


REFUSED = {"float64", "ints", "nan", "late"}


@pytest.mark.filterwarnings("ignore:An output with one or more")  # PyTorch's PReLU
@settings(deadline=None, max_examples=examples(40))
@given(cases())
def test_what_is_taken_is_trained_as_it_is_written(case):
    shape, plan, spoilt, held, looped, seed = case
    make = partial(network, shape, plan, 3)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        first = {n: v.clone() for n, v in make().state_dict().items()}
    training = fl.Training(lr=0.05, epochs=2, batch_size=10**6)
    try:
        w = fl.world(data(shape, spoilt, seed), split(held), make)
        how = {"start": first, "engine": "looped" if looped else "stacked"}
        got = fl.federate(w, fl.fedavg(training), 1, **how).states
    except InputError as error:
        odd = {kind for kind, _ in plan} & set(ODD)
        why = spoilt in REFUSED or held in ("twice", "beyond") or odd
        own = any(kind == "act" and n % len(ACTS) == 7 for kind, n in plan)  # in place
        assert why or own, f"refused without need: {error}"
        assert "\n" not in str(error)
        return
    assert held not in ("twice", "beyond") and spoilt != "nan"
    want = plainly(make, first, w, 2, training.lr)
    for n, v in want.items():
        torch.testing.assert_close(got[n][0], v, rtol=1e-4, atol=1e-5)
