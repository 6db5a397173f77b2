"""Networks are trained as they are written, or refused when the world is made."""

import random
from functools import partial
from itertools import combinations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import weight_norm as older_norm
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

import fedlab_core as fl
from fedlab_core.errors import InputError
from fedlab_core.keys import derive_seed
from fedlab_core.models import initial_state
from fedlab_core.models.examine import alike, examined
from fedlab_core.models.layers import BatchNorm, Dropout
from fedlab_core.models.network import Network
from tests.models_cases import DATA, LOCAL, SPLIT, TINY, plainly, samples


class Acts(nn.Module):
    """A small network with a function in an attribute."""

    def __init__(self, act):
        super().__init__()
        self.one, self.two, self.act = nn.Linear(8, 8), nn.Linear(8, 3), act

    def forward(self, x):
        return self.two(self.act(self.one(x)))


class Counts(nn.Module):
    """A network that does something besides in forward."""

    n: torch.Tensor

    def __init__(self, how: str):
        super().__init__()
        self.a, self.how, self.calls = nn.Linear(8, 3), how, 0
        self.register_buffer("n", torch.zeros(1))

    def forward(self, x):
        if self.how == "buffer":
            self.n += 1
        if self.how == "same numbers":
            self.n.copy_(self.n.clone())
        if self.how == "new buffer":
            self.n = self.n + 1
        if self.how == "attribute":
            self.calls += 1
        if self.how == "noise":
            x = x + torch.randn_like(x)
        if self.how == "batch":
            x = x - x.mean(0)
        if self.how == "dropout":
            x = nn.functional.dropout(x, 0.5, self.training)
        return self.a(x.mul_(2) if self.how == "input" else x)


def tied():
    net = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 3))
    net[1].weight = net[0].weight
    return net


def shared():
    one = nn.Linear(8, 8)
    return nn.Sequential(one, nn.ReLU(), one, nn.Linear(8, 3))


def hooked():
    net = nn.Sequential(nn.Linear(8, 3))
    net.get_parameter("0.weight").register_hook(lambda gradient: 2 * gradient)
    return net


def frozen():
    net = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 3))
    net[0].weight.requires_grad_(False)
    return net


def hooked_late():
    net = nn.Sequential(nn.Linear(8, 3))
    weight = net.get_parameter("0.weight")
    weight.register_post_accumulate_grad_hook(lambda w: None)
    return net


def hooked_layer(how: str):
    net = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 3))
    getattr(net[1], f"register_full_backward_{how}hook")(lambda *_: None)
    return net


class Remembers(nn.Module):
    """A network that gives another output for what it has seen before, or beside it."""

    def __init__(self, how: str):
        super().__init__()
        self.a, self.how = nn.Linear(8, 3), how
        self.first, self.calls, self.mean = {}, [], torch.zeros(8)

    def forward(self, x):
        match self.how:
            case "dict":
                x = x - self.first.setdefault("mean", x.mean(0).detach())
            case "list":
                self.calls.append(1)
                x = x / len(self.calls)
            case "tensor":
                self.mean = 0.9 * self.mean + 0.1 * x.mean(0).detach()
                x = x - self.mean
            case "Python's draws" if self.training:
                x = x * random.random()
            case "NumPy's draws" if self.training:
                x = x * float(np.random.rand())
            case "batch":
                x = x - x.mean(0)
            case "rows":
                return torch.cat([self.a(x)] * (len(x) + 1))
            case "sum":
                return self.a(x).sum()
        return self.a(x)


class Judged(Counts):
    """A network that does something besides where it is judged, and only there."""

    def forward(self, x):
        return self.a(x) if self.training else super().forward(x)


class Scalar(nn.Module):
    """A network with a parameter that has no axis."""

    def __init__(self):
        super().__init__()
        self.a, self.scale = nn.Linear(8, 3), nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        return self.a(x) * self.scale


class Gives(nn.Module):
    """A network whose output, or whose way to it, is not every network's."""

    truth: torch.Tensor

    def __init__(self, how: str):
        super().__init__()
        self.a, self.how = nn.Linear(8, 3), how
        self.gru = nn.GRU(8, 8, batch_first=True)
        if how == "bool":
            self.register_buffer("truth", torch.ones(3, dtype=torch.bool))

    def forward(self, x):
        if self.how == "gru":
            x = self.gru(x[:, None])[0][:, -1]
        asked = self.how == "if" or (self.how == "if judged" and not self.training)
        if asked and x.sum() > 1e6:
            x = x * 2
        out = self.a(x)
        return {"tuple": (out, x), "dict": {"out": out}}.get(self.how, out)


REFUSED = {
    "gru": (lambda: Gives("gru"), "cannot run as many at once: .*aten::gru"),
    "if": (lambda: Gives("if"), "cannot run as many at once: forward asks a tensor"),
    "if judged": (lambda: Gives("if judged"), "at once: forward asks a tensor"),
    "tuple": (lambda: Gives("tuple"), "must give a tensor of logits, not tuple"),
    "dict": (lambda: Gives("dict"), "must give a tensor of logits, not dict"),
    "bool buffer": (lambda: Gives("bool"), "has truth in its state, which no mean"),
    "tied": (tied, "0.weight and 1.weight are one parameter"),
    "shared": (shared, "0.weight and 2.weight are one parameter"),
    "hook": (hooked, "0.weight has a hook, which training would leave"),
    "late hook": (hooked_late, "0.weight has a hook, which training would leave"),
    "backward hook": (lambda: hooked_layer(""), "the backward hook of 1 would be left"),
    "before backward": (lambda: hooked_layer("pre_"), "the backward hook of 1 would"),
    "older weight norm": (lambda: older_norm(nn.Linear(8, 3)), "keeps a tensor of an"),
    **{how: (partial(Remembers, how), "gives other numbers when it is called again")
       for how in ("dict", "list", "tensor", "Python's draws", "NumPy's draws")},
    **{how: (partial(Remembers, how), "mixes samples: what it gives for one depends")
       for how in ("batch", "rows", "sum")},
    "frozen": (frozen, "0.weight has requires_grad=False"),
    "in place": (lambda: nn.Sequential(nn.ReLU(inplace=True), nn.Linear(8, 3)),
                 "changes its input"),
    "input": (lambda: Counts("input"), "changes its input"),
    "buffer": (lambda: Counts("buffer"), "writes its buffer n"),
    "same numbers": (lambda: Counts("same numbers"), "writes its buffer n"),
    "new buffer": (lambda: Counts("new buffer"), "writes its buffer n"),
    "attribute": (lambda: Counts("attribute"), "keeps calls from one forward"),
    "noise": (lambda: Counts("noise"), "draws from PyTorch's generator"),
    "dropout": (lambda: Counts("dropout"), "draws from PyTorch's generator"),
    "judged, buffer": (lambda: Judged("buffer"), "writes its buffer n"),
    "judged, attribute": (lambda: Judged("attribute"), "keeps calls from one forward"),
    "judged, noise": (lambda: Judged("noise"), "draws from PyTorch's generator"),
    "judged, input": (lambda: Judged("input"), "changes its input"),
    "judged, batch, normed": (lambda: nn.Sequential(BatchNorm(8), Judged("batch")),
                              "mixes samples: what it gives for one"),
    "judged, batch": (lambda: Judged("batch"), "mixes samples: what it gives for one"),
    "spectral": (lambda: spectral_norm(nn.Linear(8, 3)), "writes its buffer"),
    "half": (lambda: nn.Linear(8, 3).half(), "weight is float16"),
    "complex": (lambda: nn.Linear(8, 3).to(torch.complex64), "weight is complex64"),
    "lazy": (lambda: nn.LazyLinear(3), "weight has no numbers yet"),
    "meta": (lambda: nn.Linear(8, 3, device="meta"), "weight has no numbers yet"),
    "nothing": (nn.ReLU, "a ReLU, has no parameters"),
    "scalar": (Scalar, "scale has no axis"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore:Lazy modules", "ignore:Complex modules")
@pytest.mark.filterwarnings("ignore:.*weight_norm")
def test_a_network_that_would_be_another_is_refused_in_one_line(name):
    make, said = REFUSED[name]
    before = torch.from_numpy(DATA.x_train).clone()
    with pytest.raises(InputError, match=said) as refused:
        fl.world(DATA, SPLIT, make)
    assert "\n" not in str(refused.value)
    x = fl.world(DATA, SPLIT, lambda: nn.Linear(8, 3)).x
    assert torch.equal(x, before), "the data stay as they were"


TRAINED = {
    "weight norm": lambda: weight_norm(nn.Linear(8, 3)),
    "a constant buffer": lambda: Counts("nothing"),
    "sine": lambda: Acts(torch.sin),
    "layer norm": lambda: nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 3)),
    "prelu": lambda: nn.Sequential(nn.Linear(8, 8), nn.PReLU(), nn.Linear(8, 3)),
    "no bias": lambda: nn.Sequential(nn.Linear(8, 4, bias=False), nn.Linear(4, 3)),
}


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("engine", ["stacked", "looped"])
@pytest.mark.parametrize("name", TRAINED)
def test_a_network_that_is_taken_is_trained_as_it_is_written(name, engine):
    w = fl.world(DATA, SPLIT, TRAINED[name])
    method = fl.fedavg(fl.Training(lr=0.1, epochs=2, batch_size=len(DATA.y_train)))
    got = fl.federate(w, method, rounds=1, engine=engine, progress=False).states
    first = initial_state(TRAINED[name], derive_seed(0, 0xF1257))
    want = plainly(TRAINED[name], first, w, steps=2, lr=0.1)
    for n, v in want.items():
        torch.testing.assert_close(got[n][0], v, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "one, other",
    [
        (lambda: Acts(torch.relu), lambda: Acts(torch.sin)),
        (lambda: Acts(torch.relu), lambda: Acts(lambda x: x.relu())),
    ],
)
def test_runs_side_by_side_train_their_own_networks(one, other):
    """Both networks are printed alike."""
    assert repr(one()) == repr(other())
    runs = [fl.Run(fl.world(DATA, SPLIT, make), fl.fedavg(LOCAL), rounds=3)
            for make in (one, other)]  # fmt: skip
    together = fl.run_all(runs, progress=False)
    for run, got in zip(runs, together, strict=True):
        (alone,) = fl.run_all([run], progress=False)
        for n, v in alone.states.items():
            torch.testing.assert_close(got.states[n], v, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_networks_are_alike_when_they_are_one_function_of_their_tensors():
    made = {n: fl.build(name, shape, 3, **options)
            for n, (name, shape, options) in TINY.items()}  # fmt: skip
    pairs = {n: (make(), make()) for n, make in made.items()}
    for n, (one, same) in pairs.items():
        assert alike(one, same), n
        examined(one, samples(TINY[n][1], 2))
    for a, b in combinations(pairs, 2):
        assert not alike(pairs[a][1], pairs[b][1]), (a, b)
    assert not alike(nn.MultiheadAttention(16, 1), nn.MultiheadAttention(16, 4))
    assert not alike(nn.Sequential(nn.Linear(2, 2)), nn.Sequential())
    assert not alike(Acts(lambda x: x), Acts(lambda x: x))
    here, there = Counts("nothing"), Counts("nothing")
    here.register_buffer("table", torch.zeros(2), persistent=False)
    there.register_buffer("table", torch.ones(2), persistent=False)
    assert not alike(here, there)


class Parts(nn.Module):
    """Features and a head, with something else between them, or not."""

    def __init__(self, between: bool):
        super().__init__()
        self.features, self.head = nn.Linear(8, 8), nn.Linear(8, 3)
        self.between = between

    def forward(self, x):
        h = self.features(x)
        return self.head(h.relu() if self.between else h)


@pytest.mark.parametrize("name", ["rfedavg-plus", "moon", "fedimpro"])
def test_a_network_that_is_more_than_its_parts_is_refused_by_who_needs_them(name):
    method, plain = fl.METHODS[name](LOCAL), fl.fedavg(LOCAL)
    apart, whole = (fl.world(DATA, SPLIT, lambda b=b: Parts(b)) for b in (True, False))
    with pytest.raises(InputError, match="a Parts, is more than its head of its feat"):
        fl.federate(apart, method, 1)
    fl.federate(apart, plain, 1)
    fl.federate(whole, method, 1)


def test_dropouts_without_a_salt_drop_other_units():
    class Both(nn.Module):
        def __init__(self, salt=None):
            super().__init__()
            self.a = nn.Linear(8, 64)
            self.one, self.two = Dropout(0.5), Dropout(0.5, salt)

        def forward(self, x):
            h = torch.ones(len(x), 1000) + 0 * self.a(x).sum()
            return torch.stack([self.one(h), self.two(h)])

    def zeros(net):
        network = Network(net, training=True)
        x, key = torch.zeros(1, 8), torch.tensor(5)
        state = dict(net.named_parameters())
        with network.training_on(state, {}, torch.ones(1), key):
            one, two = network(state, x)[:, 0] == 0
        return float((one & two).float().mean())

    assert abs(zeros(Both()) - 0.25) < 0.05
    assert abs(zeros(Both(salt=0)) - 0.25) < 0.05, "the given one is left"
    assert Both().one.salt is None, "the network is left as it was"


@pytest.mark.parametrize("p", [-0.1, 1.0, 2.0, "a"])
def test_a_dropout_that_drops_everything_is_refused(p):
    with pytest.raises(InputError, match="p must be a number"):
        Dropout(p)
