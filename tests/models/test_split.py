"""A network is the same wherever it is cut, and the one that torchvision defines."""

from functools import partial

import pytest
import torch
import torchvision
from torch import nn
from torch.nn import functional as F
from torchvision.models.densenet import DenseNet
from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet
from torchvision.models.vgg import make_layers

from fedlab_core import build
from fedlab_core.keys import derive_seed
from fedlab_core.models import deep, initial_state
from fedlab_core.models.layers import Dropout
from tests.models_cases import TINY, samples

POINTS = [
    (case, point)
    for case, (name, shape, options) in TINY.items()
    if case not in ("resnet18, cut", "resnet18, large stem", "collab_cnn", "wrn56_4")
    for point in build(name, shape, 3, **options)().points
]


@pytest.mark.parametrize("case, point", POINTS)
def test_a_network_does_not_depend_on_where_it_is_cut(case, point):
    name, shape, options = TINY[case]
    whole, other = (
        build(name, shape, 3, **options),
        build(name, shape, 3, **options, split=point),
    )
    a, b = initial_state(whole, 7), initial_state(other, 7)
    assert len(a) == len(b)
    assert all(torch.equal(v, w) for v, w in zip(a.values(), b.values(), strict=True))
    number = list(whole().points).index(point)
    numbered = build(name, shape, 3, **options, split=number)()
    assert list(b) == list(numbered.state_dict())
    x = samples(shape, 4)
    nets = [make() for make in (whole, other)]
    for net, state in zip(nets, (a, b), strict=True):
        assert all(m.training for m in net.modules())
        net.load_state_dict(state)
        net.eval()
    features = nets[1].features(x)
    assert features.ndim == 2 and not features.isnan().any()
    assert torch.equal(nets[1].head(features), nets[1](x))
    torch.testing.assert_close(nets[1](x), nets[0](x))
    before = [n for n in b if n.startswith("features.")]
    assert bool(before) == (point != "input") and len(before) < len(b)


def test_flattened_maps_get_their_shape_back():
    net = build("resnet18", (1, 16, 16), 3, base=2, split="stage2")().eval()
    x = samples((1, 16, 16), 2)
    maps = net.features[:-1](x)  # pyright: ignore
    assert maps.shape == (2, 4, 8, 8)
    assert torch.equal(net.features(x), maps.reshape(2, -1))
    assert torch.equal(net.head[0](net.features(x)), maps)  # pyright: ignore


# -- torchvision's networks, with the same weights ---------------------------------


def assert_equals(ours: nn.Module, theirs: nn.Module, size: int):
    """Random weights and statistics, taken over in the order of the layers."""
    g = torch.Generator().manual_seed(0)
    state = {
        n: torch.rand(w.shape, generator=g) * 0.5 + 0.1 * (w.ndim == 1)
        if "running" in n or w.ndim == 1
        else torch.randn(w.shape, generator=g) * (2 / w[0].numel()) ** 0.5
        for n, w in theirs.state_dict().items()
        if "num_batches" not in n
    }
    theirs.load_state_dict(state, strict=False)
    mine = ours.state_dict()
    assert [v.shape for v in mine.values()] == [v.shape for v in state.values()]
    ours.load_state_dict(dict(zip(mine, state.values(), strict=True)))
    x = torch.randn(2, 3, size, size, generator=g)
    want = theirs.eval()(x)
    assert want.std() > 0.01
    torch.testing.assert_close(ours.eval()(x), want, rtol=1e-4, atol=1e-4)


GROUPS = partial(nn.GroupNorm, 2)


@pytest.mark.slow
@pytest.mark.parametrize("norm, theirs", [("batch", None), ("group", GROUPS)])
@pytest.mark.parametrize("stem", ["imagenet", "cifar"])
@pytest.mark.parametrize(
    "name, block, blocks",
    [("resnet18", BasicBlock, [2, 2, 1, 1]), ("resnet50", Bottleneck, [1, 2, 1, 1])],
)
def test_resnets_are_torchvisions(name, block, blocks, stem, norm, theirs):
    want = ResNet(block, blocks, num_classes=7, norm_layer=theirs)
    if stem == "cifar":
        want.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
        want.maxpool = nn.Identity()  # pyright: ignore
    size = 16 if stem == "cifar" else 40
    ours = build(name, (3, size, size), 7, norm=norm, stem=stem, blocks=blocks)()
    assert_equals(ours, want, size)


def test_a_resnet_starts_as_torchvisions_does():
    """Convolutions of variance 2 / (outputs x kernel), norms at one and zero."""
    state = initial_state(build("resnet18", (3, 32, 32), 10), 0)
    for name, w in state.items():
        if w.ndim == 4:
            want = (2 / (w.shape[0] * w.shape[2] * w.shape[3])) ** 0.5
            assert float(w.std()) == pytest.approx(want, rel=0.05), name


def test_a_densenet_is_torchvisions():
    want = DenseNet(4, (2, 1, 3, 1), num_init_features=8, num_classes=7)
    want.features[0] = nn.Conv2d(3, 8, 3, padding=1, bias=False)
    want.features[3] = nn.Identity()
    options = {"growth": 4, "blocks": (2, 1, 3, 1), "stem_norm": True}
    assert_equals(build("densenet121", (3, 16, 16), 7, **options)(), want, 16)


@pytest.mark.slow
def test_alexnets_convolutions_are_torchvisions_pooled_by_two():
    want = torchvision.models.alexnet().features
    want[0].padding = (5, 5)  # pyright: ignore
    for layer in (2, 5, 12):
        want[layer] = nn.MaxPool2d(2)
    ours = build("alexnet", (3, 40, 40), 10)()
    assert_equals(ours.features, nn.Sequential(want, nn.Flatten()), 40)


def test_vgg9s_convolutions_are_torchvisions():
    want = make_layers([32, 64, "M", 128, 128, "M", 256, 256, "M"])
    ours = build("vgg9", (3, 32, 32), 10, split="block3")()
    assert_equals(ours.features, nn.Sequential(want, nn.Flatten()), 32)


# -- the small networks, written out -----------------------------------------------


def test_simple_cnn_is_the_network_described():
    net = build("simple_cnn", (3, 32, 32), 10)()
    p, x = list(net.parameters()), torch.randn(2, 3, 32, 32)
    h = F.max_pool2d(F.relu(F.conv2d(x, p[0], p[1])), 2)
    h = F.max_pool2d(F.relu(F.conv2d(h, p[2], p[3])), 2)
    h = F.relu(F.conv2d(h, p[4], p[5])).flatten(1)
    h = F.relu(F.linear(h, p[6], p[7]))
    torch.testing.assert_close(net.features(x), h)
    torch.testing.assert_close(net(x), F.linear(h, p[8], p[9]))


@pytest.mark.parametrize("name", ["mcmahan_cnn", "lenet"])
def test_padded_cnns_are_the_networks_described(name):
    net = build(name, (1, 28, 28), 10)()
    p, h = list(net.parameters()), torch.randn(2, 1, 28, 28)
    x = h
    for k in (0, 2):
        h = F.max_pool2d(F.relu(F.conv2d(h, p[k], p[k + 1], padding=2)), 2)
    h = h.flatten(1)
    if name == "mcmahan_cnn":
        h = F.relu(F.linear(h, p[4], p[5]))
    torch.testing.assert_close(net.features(x), h)
    torch.testing.assert_close(net(x), F.linear(h, p[-2], p[-1]))


def test_a_resnet_that_projects_halves_the_map_by_a_convolution():
    net = build("law_resnet", (3, 8, 8), 10, depth=8)()
    block = net.features[4]  # pyright: ignore
    nn.init.zeros_(block.body[4].weight)
    x = torch.rand(2, 16, 8, 8)
    state = block.short.state_dict()
    want = F.conv2d(x[..., ::2, ::2], state["0.weight"])
    centre = want.mean((0, 2, 3), keepdim=True)
    spread = want.var((0, 2, 3), correction=0, keepdim=True)
    want = F.relu((want - centre) / (spread + 1e-5).sqrt())
    torch.testing.assert_close(block(x), want)


def test_channels_are_dropped_whole():
    layer = deep.DropChannels(0.5, salt=1)
    layer.drop.key = torch.tensor(derive_seed(1, 2, 3, 0))
    out = layer(torch.ones(40, 50, 2, 3))
    kept = out[:, :, 0, 0]
    assert torch.equal(out, kept[..., None, None].expand_as(out))
    assert kept.unique().tolist() == [0.0, 2.0]
    assert float(kept.mean()) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("name", ["vgg9", "alexnet", "textcnn", "mlp"])
def test_every_dropout_layer_draws_apart(name):
    case = next(c for c in TINY.values() if c[0] == name and _drops(c))
    net = build(case[0], case[1], 3, **case[2])()
    salts = [m.salt for m in net.modules() if isinstance(m, Dropout)]
    assert len(salts) == len(set(salts)) > 0


def _drops(case) -> bool:
    net = build(case[0], case[1], 3, **case[2])()
    return any(isinstance(m, Dropout) for m in net.modules())
