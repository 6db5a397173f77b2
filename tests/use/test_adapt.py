"""Networks that nobody here wrote: trained as a plain loop does, or refused."""

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
import torchvision.models as tv
from torch import nn
from torch.nn import functional as F

import fedlab_core as fl

pytestmark = pytest.mark.filterwarnings("ignore:There is a performance drop")
SHAPE, ROUNDS, LR = (3, 32, 32), 2, 0.01
DRAW = np.random.default_rng(0)
IMAGES = DRAW.integers(0, 255, (28, 32, 32, 3)).astype(np.uint8)
LABELS = np.arange(28) % 4


class UNet(nn.Module):
    """Down and up again, with a skip."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4))
        self.deep = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, padding=1))
        self.up = nn.ConvTranspose2d(4, 4, 2, 2)
        self.last = nn.Linear(8, 4)

    def forward(self, x):
        here = F.relu(self.down(x))
        back = self.up(F.relu(self.deep(here)))
        return self.last(torch.cat([here, back], 1).mean((2, 3)))


class Encoder(nn.Module):
    """A transformer over the rows of an image."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(
            96, 2, 32, dropout=dropout, batch_first=True
        )
        self.last = nn.Linear(96, 4)

    def forward(self, x):
        return self.last(self.layer(x.transpose(1, 2).flatten(2)).mean(1))


class Recurrent(nn.Module):
    def __init__(self, kind: type) -> None:
        super().__init__()
        self.cells, self.last = kind(96, 8, batch_first=True), nn.Linear(8, 4)

    def forward(self, x):
        return self.last(self.cells(x.transpose(1, 2).flatten(2))[0][:, -1])


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.last = (
            nn.Linear(32, 32),
            nn.Linear(32, 32),
            nn.Linear(32, 4),
        )
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.last(self.b(self.a(x.mean((1, 2)))))


def frozen() -> nn.Module:
    first = nn.Conv2d(3, 4, 3).requires_grad_(False)
    flat = [nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(2), nn.Flatten()]
    return nn.Sequential(first, *flat, nn.Linear(16, 4))


def lazy() -> nn.Module:
    parts = [nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.ReLU(inplace=True)]
    return nn.Sequential(*parts, nn.Flatten(), nn.LazyLinear(4))


def vit() -> nn.Module:
    return tv.VisionTransformer(32, 8, 1, 2, 16, 32, num_classes=4)


TAKEN: dict[str, Callable[[], nn.Module]] = {
    "resnet18": lambda: tv.resnet18(num_classes=4),
    "vit": vit,
    "transformer encoder": Encoder,
    "u-net with skips": UNet,
    "a frozen part": frozen,
    "lazy layers": lazy,
}
REFUSED: dict[str, tuple[Callable[[], nn.Module], str]] = {
    "LSTM": (lambda: Recurrent(nn.LSTM), "at once: .*; call nn.GRUCell in"),
    "GRU": (lambda: Recurrent(nn.GRU), "at once: .*; call nn.GRUCell in"),
    "tied weights": (Tied, "one parameter, and would be trained as two"),
    "attention with dropout": (lambda: Encoder(0.1), "make it with dropout=0.0"),
    "efficientnet": (lambda: tv.efficientnet_b0(num_classes=4), "generator"),
    "Dropout2d": (lambda: nn.Sequential(nn.Dropout2d(), frozen()), "no match here"),
}


class Double(nn.Module):
    """The same in double precision, so that rounding does not hide a difference."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net.double()

    def forward(self, x):
        return self.net(x.double())


def place(make) -> fl.World:
    data = fl.dataset(IMAGES[:20], LABELS[:20], IMAGES[20:], LABELS[20:])
    who = fl.Partition("given", {}, (np.arange(8), np.arange(8, 20)))
    return fl.world(data, who, make)


def by_hand(make, start, w: fl.World) -> dict:
    """Rounds of FedAvg in plain PyTorch: one step a client, on all of its samples."""
    model = start
    for _ in range(ROUNDS):
        mean = {n: torch.zeros_like(v) for n, v in model.items()}
        for k in range(2):
            net, mine = make(), w.client(k)
            net.load_state_dict({**net.state_dict(), **model})
            net.train()
            free = [p for p in net.parameters() if p.requires_grad]
            sgd = torch.optim.SGD(free, lr=LR)
            F.cross_entropy(net(w.x[mine]), w.y[mine]).backward()
            sgd.step()
            state = net.state_dict()
            mean = {n: v + len(mine) / 20 * state[n] for n, v in mean.items()}
        model = mean
    return model


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["looped", "stacked"])
@pytest.mark.parametrize("name", TAKEN)
def test_two_rounds_are_those_of_a_plain_loop(name, engine):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        theirs = TAKEN[name]()
        if name == "lazy layers":
            theirs(torch.zeros(2, *SHAPE))
    whole = Double(theirs)
    first = copy.deepcopy(whole)
    make = fl.adapted(lambda: copy.deepcopy(whole), SHAPE)
    w = place(make)
    start = {n: v.clone() for n, v in make().state_dict().items()}
    training = fl.Training(lr=LR, iterations=1, batch_size=64)
    method = fl.fedavg(training)
    h = fl.federate(w, method, ROUNDS, start=start, engine=engine, progress=False)
    want = by_hand(lambda: copy.deepcopy(first), start, w)
    for n, v in h.model().items():
        assert torch.allclose(v, want[n], rtol=1e-4, atol=1e-5), n


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_trained_as_it_is_written_is_one_line(name):
    make, words = REFUSED[name]
    with pytest.raises(fl.InputError, match=words) as refused:
        place(fl.adapted(make, SHAPE))
    assert "\n" not in str(refused.value)


def test_lazy_layers_are_sized_by_the_shape():
    net = fl.adapted(lazy, SHAPE)()
    assert net(torch.zeros(2, *SHAPE)).shape == (2, 4)


def test_a_head_is_cut_off_where_it_is_named():
    """The parts, one after the other, are the whole; features can be compared then."""
    net = fl.adapted(UNet, SHAPE, head="last")()
    x = torch.rand(2, *SHAPE)
    net.eval()
    assert torch.equal(net.head(net.features(x)), net(x))
    w = place(fl.adapted(UNet, SHAPE, head="last"))
    small = fl.Training(lr=LR, iterations=1)
    assert fl.federate(w, fl.rfedavg_plus(small), 1, progress=False).rows
    for head, words in (("nothing", "is no layer of"), ("up", "takes no sample")):
        with pytest.raises(fl.InputError, match=words):
            fl.adapted(UNet, SHAPE, head=head)
    with pytest.raises(fl.InputError, match="takes no sample of"):
        fl.adapted(UNet, (1, 8, 8), head="last")


@pytest.mark.parametrize("head", ["", "last"])
def test_a_network_that_was_adapted_gets_its_numbers_back(head, tmp_path):
    """A BatchNorm of ours counts no batches, and a head has lost its name."""
    make = fl.adapted(UNet, SHAPE, head=head)
    path = fl.save_model(make().state_dict(), tmp_path / "u.safetensors")
    ours, theirs = fl.load_model(path, make), fl.load_model(path, UNet)
    assert type(theirs) is UNet
    x = torch.rand(2, *SHAPE)
    assert torch.equal(ours(x), theirs(x))
    with pytest.raises(fl.InputError, match="must have"):
        fl.load_model(path, frozen)
