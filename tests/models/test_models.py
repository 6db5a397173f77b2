"""The networks, and the two layers of our own against PyTorch's."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from fedlab_core import build, models, tree
from fedlab_core.errors import InputError
from fedlab_core.keys import random_bits
from fedlab_core.models import Split, describe, initial_state
from fedlab_core.models.layers import BatchNorm, Dropout

SHAPES = {"grey": (1, 28, 28), "colour": (3, 32, 32)}


@pytest.mark.parametrize("shape, numbers", [("grey", 44_426), ("colour", 62_006)])
def test_disco_cnn_has_the_papers_size(shape, numbers):
    net = build("disco_cnn", SHAPES[shape], 10)()
    assert sum(p.numel() for p in net.parameters()) == numbers
    assert (
        tree.count(initial_state(build("disco_cnn", SHAPES[shape], 10), 0)) == numbers
    )


def test_mlp_has_the_size_of_its_layers():
    net = build("mlp", (3, 4, 5), 7, hidden=(11, 13))()
    assert sum(p.numel() for p in net.parameters()) == 60 * 11 + 11 + 143 + 13 + 91 + 7
    linear = build("mlp", (3, 4, 5), 7, hidden=())()
    assert sum(p.numel() for p in linear.parameters()) == 60 * 7 + 7


def test_a_table_is_numbers_to_a_network_that_looks_no_word_up():
    """One axis was taken for a text, so a network of a table could not be cut."""
    cut = build("mlp", (5,), 2, hidden=(4, 3), split="hidden1")()
    assert isinstance(cut, Split) and cut.features(torch.zeros(2, 5)).shape == (2, 4)
    assert describe("mlp", (5,), 2, hidden=(4, 3)).features == 3


CASES = [
    ("mlp", (1, 14, 14), {}),
    ("mlp", (3, 5, 6), {"hidden": (9,), "dropout": 0.2, "batch_norm": True}),
    ("mlp", (1, 2, 2), {"hidden": ()}),
    ("mlp", (30,), {}),
    ("disco_cnn", (1, 28, 28), {}),
    ("disco_cnn", (3, 32, 32), {}),
    ("disco_cnn", (1, 16, 19), {}),
]


@pytest.mark.parametrize("name, shape, options", CASES)
def test_a_network_is_its_head_on_its_features(name, shape, options):
    net = build(name, shape, 4, **options)().eval()
    assert isinstance(net, Split) and isinstance(net.head, nn.Linear)
    x = torch.randn(3, *shape)
    features = net.features(x)
    assert features.shape == (3, net.head.in_features)
    assert net(x).shape == (3, 4)
    assert torch.equal(net(x), features @ net.head.weight.T + net.head.bias)


def test_disco_cnn_is_the_network_described():
    """conv 5x5 (6), relu, pool, conv 5x5 (16), relu, pool, 120, 84, classes."""
    net = build("disco_cnn", (1, 28, 28), 10)()
    p = list(net.parameters())
    x = torch.randn(2, 1, 28, 28)
    h = F.max_pool2d(F.relu(F.conv2d(x, p[0], p[1])), 2)
    h = F.max_pool2d(F.relu(F.conv2d(h, p[2], p[3])), 2).flatten(1)
    assert h.shape == (2, 256)
    h = F.relu(F.linear(F.relu(F.linear(h, p[4], p[5])), p[6], p[7]))
    torch.testing.assert_close(net(x), F.linear(h, p[8], p[9]))


def test_what_cannot_be_built_is_refused():
    with pytest.raises(InputError, match="unknown model 'rnn': choose from mlp, disc"):
        build("rnn", (1, 28, 28), 10)
    with pytest.raises(InputError, match=r"disco_cnn needs images of 16 x 16, not"):
        build("disco_cnn", (1, 14, 28), 10)()
    with pytest.raises(InputError, match=r"6 n \+ 2 layers .*, not 18"):
        build("resnet", (3, 32, 32), 10, depth=18)()


@pytest.mark.parametrize("depth, parameters", [(20, 269_722), (8, 75_290)])
def test_resnets_have_the_papers_size(depth, parameters):
    """0.27 million for 20 layers, shortcuts without parameters (ResNet Table 6)."""
    net = build("resnet", (3, 32, 32), 10, depth=depth)()
    assert sum(p.numel() for p in net.parameters()) == parameters
    assert sum(isinstance(m, nn.Conv2d) for m in net.modules()) == depth - 1


def test_a_resnets_shortcut_skips_pixels_and_pads_channels():
    block = models.Residual(2, 4)
    nn.init.zeros_(block.body.get_parameter("4.weight"))  # leaves the shortcut alone
    x = torch.rand(3, 2, 6, 6)
    got = block(x)
    assert torch.equal(got[:, :2], x[:, :, ::2, ::2])
    assert not got[:, 2:].any()


# -- initial states ----------------------------------------------------------------


@pytest.mark.parametrize("name, shape, options", CASES[1::2])
def test_initial_state_is_seeded(name, shape, options):
    make = build(name, shape, 4, **options)
    a, b, other = (initial_state(make, s) for s in (1, 1, 2))
    assert set(a) == set(make().state_dict())
    assert all(torch.equal(a[n], b[n]) for n in a)
    drawn = [n for n, _ in make().named_parameters() if a[n].std() > 0]
    assert drawn and all(not torch.equal(a[n], other[n]) for n in drawn)


def test_initial_state_is_what_pytorch_draws_from_that_seed():
    make = build("mlp", (1, 3, 3), 4)
    with torch.random.fork_rng():
        torch.manual_seed(5)
        want = make().state_dict()
    got = initial_state(make, 5)
    assert all(torch.equal(got[n], want[n]) for n in want)


def test_the_global_generator_is_left_alone():
    before = torch.get_rng_state()
    initial_state(build("mlp", (1, 3, 3), 4), 5)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_devices_generator_is_left_alone():
    before = torch.cuda.get_rng_state()
    initial_state(build("mlp", (1, 3, 3), 4), 5)
    assert torch.equal(torch.cuda.get_rng_state(), before)


# -- random bits and dropout -------------------------------------------------------


def splitmix64(seed: int, n: int) -> list[int]:
    """The published generator, in Python's whole numbers."""
    mask, out = 2**64 - 1, []
    for _ in range(n):
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        out.append(z ^ (z >> 31))
    return out


@given(seed=st.integers(-(2**63), 2**63 - 1))
def test_random_bits_are_those_of_splitmix64(seed):
    got = random_bits(torch.tensor(seed), 20)
    assert [int(v) & (2**64 - 1) for v in got] == splitmix64(seed & (2**64 - 1), 20)


def test_splitmix64_gives_its_published_first_numbers():
    assert splitmix64(1234567, 2) == [6457827717110365317, 3203168211198807973]


def dropped(key: int, shape=(8, 50), p=0.3, salt=0) -> torch.Tensor:
    layer = Dropout(p, salt)
    layer.key = torch.tensor(key)
    return layer(torch.ones(shape))


def test_dropout_keeps_the_mean_and_the_asked_share():
    for p in (0.1, 0.5, 0.9):
        out = dropped(7, (400, 500), p)
        assert out.unique().tolist() == [0.0, pytest.approx(1 / (1 - p))]
        # 200,000 draws: four standard errors
        assert float((out == 0).float().mean()) == pytest.approx(
            p, abs=4 * (p * (1 - p) / 200_000) ** 0.5
        )
        assert float(out.mean()) == pytest.approx(1, abs=0.03)


def test_dropout_depends_on_its_key_and_layer_and_on_nothing_else():
    torch.manual_seed(0)
    a = dropped(1)
    torch.manual_seed(1)
    assert torch.equal(a, dropped(1))
    for other in (dropped(2), dropped(1, salt=1), dropped(1 ^ 1)):
        agree = float(((a == 0) == (other == 0)).float().mean())
        assert agree == pytest.approx(0.3**2 + 0.7**2, abs=0.1)  # as if independent


def test_dropout_does_not_see_padding():
    """The first rows' masks are the same whatever rows come after them."""
    assert torch.equal(dropped(3, (8, 50))[:5], dropped(3, (5, 50)))


def test_dropout_draws_units_and_rows_apart():
    zero = (dropped(11, (300, 200), 0.5) == 0).double()
    assert abs(float(torch.corrcoef(zero.T).triu(1).mean())) < 0.01
    assert float(torch.corrcoef(zero).triu(1).abs().max()) < 0.5


def test_dropout_is_the_identity_when_it_should_be():
    x = torch.randn(4, 3)
    layer = Dropout(0.5)
    layer.key = torch.tensor(1)
    assert torch.equal(layer.eval()(x), x)
    assert torch.equal(Dropout(0.0)(x), x)


def test_dropout_keeps_the_kind_of_number():
    layer = Dropout(0.5)
    assert layer(torch.ones(3, dtype=torch.float64)).dtype == torch.float64


def test_layers_say_how_they_differ():
    """Worlds are told apart by the text of their networks."""
    assert repr(Dropout(0.1, 1)) != repr(Dropout(0.2, 1)) != repr(Dropout(0.2, 2))
    assert repr(BatchNorm(3)) != repr(BatchNorm(4))
    assert repr(BatchNorm(3)) != repr(BatchNorm(3, momentum=0.2))
    assert repr(BatchNorm(3)) != repr(BatchNorm(3, eps=1e-3))


# -- batch normalisation -----------------------------------------------------------

NORMS = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d}


def pair_of_norms(ndim: int):
    ours, theirs = BatchNorm(5, 0.3, 1e-3), NORMS[ndim](5, momentum=0.3, eps=1e-3)
    with torch.no_grad():
        for layer in (ours, theirs):
            layer.weight.copy_(torch.linspace(0.5, 2, 5))
            layer.bias.copy_(torch.linspace(-1, 1, 5))
    return ours, theirs


def batch(ndim: int, n: int = 6) -> torch.Tensor:
    g = torch.Generator().manual_seed(ndim)
    return 3 + 2 * torch.randn(n, 5, *(4, 3)[: ndim - 2], generator=g)


@pytest.mark.parametrize("ndim", NORMS)
def test_batch_norm_equals_pytorchs(ndim):
    ours, theirs = pair_of_norms(ndim)
    for step in range(3):
        x = batch(ndim) + step
        mine, other = x.clone().requires_grad_(), x.clone().requires_grad_()
        a, b = ours(mine), theirs(other)
        torch.testing.assert_close(a, b)
        (a**3).sum().backward()
        (b**3).sum().backward()
        torch.testing.assert_close(mine.grad, other.grad, rtol=1e-4, atol=1e-4)
        for name, value in ours.take_fresh().items():
            getattr(ours, name).copy_(value)
            torch.testing.assert_close(value, getattr(theirs, name))
    torch.testing.assert_close(ours.weight.grad, theirs.weight.grad)
    torch.testing.assert_close(ours.eval()(batch(ndim)), theirs.eval()(batch(ndim)))


@pytest.mark.parametrize("ndim", NORMS)
def test_batch_norm_does_not_see_padding(ndim):
    """With weights 1/n and zeros, n rows and padding give what n rows alone give."""
    (alone, padded), x = (pair_of_norms(ndim)[0] for _ in range(2)), batch(ndim)
    want = alone(x[:4])
    padded.sample_weight = torch.tensor([0.25] * 4 + [0.0] * 2)
    torch.testing.assert_close(padded(x)[:4], want)
    fresh = alone.take_fresh()
    for name, value in padded.take_fresh().items():
        torch.testing.assert_close(value, fresh[name])


def test_batch_norm_weighs_samples():
    """A sample of weight 2/3 counts like two of weight 1/3 (up to n / (n - 1))."""
    ours, x = BatchNorm(5), batch(2, 2)
    ours.sample_weight = torch.tensor([2 / 3, 1 / 3])
    got = ours(x)
    want = BatchNorm(5)(x[[0, 0, 1]])[[0, 2]]
    torch.testing.assert_close(got, want)


def test_batch_norm_writes_nothing_in_place():
    ours = BatchNorm(5)
    ours(batch(2))
    assert torch.equal(ours.running_mean, torch.zeros(5))
    assert set(ours.take_fresh()) == {"running_mean", "running_var"}
    assert ours.take_fresh() == {}
    ours.eval()(batch(2))
    assert ours.take_fresh() == {}


def test_batch_norm_of_one_sample_is_finite():
    ours = BatchNorm(5)
    assert torch.isfinite(ours(batch(2, 1))).all()
    assert all(torch.isfinite(v).all() for v in ours.take_fresh().values())


def test_running_statistics_are_part_of_the_state_and_keys_are_not():
    make = build("mlp", (1, 3, 3), 4, batch_norm=True, dropout=0.5)
    kept = {n.split(".")[-1] for n in initial_state(make, 0)}
    assert kept == {"weight", "bias", "running_mean", "running_var"}


def test_every_model_is_in_the_table():
    assert set(models.MODELS) == {
        "mlp", "mlp_200", "disco_cnn", "simple_cnn", "collab_cnn", "mcmahan_cnn",
        "lenet", "alexnet", "vgg9", "resnet", "law_resnet", "wrn56_4", "resnet18",
        "resnet50", "densenet121", "textcnn", "lstm",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["disco_cnn", "simple_cnn", "mcmahan_cnn", "lenet"])
@pytest.mark.parametrize("flat", [False, True], ids=["noise", "with flat regions"])
def test_pooling_before_relu_changes_no_bit(name, flat):
    """Also where all four numbers are the same, as in the margin of a letter."""
    net = build(name, (1, 28, 28), 10)()
    g = torch.Generator().manual_seed(0)
    x, y = torch.randn(8, 1, 28, 28, generator=g), torch.arange(8)
    if flat:
        x[:, :, :14] = 0.5
    found = {}
    for order in ("pooled first", "as the papers say"):
        loss = F.cross_entropy(net(x), y)
        grads = torch.autograd.grad(loss, list(net.parameters()))
        found[order] = [loss.detach(), *grads]
        layers, swapped = list(net.features.children()), 0
        for i, (one, two) in enumerate(pairwise(layers)):
            if isinstance(one, nn.MaxPool2d) and isinstance(two, nn.ReLU):
                layers[i : i + 2], swapped = [two, one], swapped + 1
        net.features = nn.Sequential(*layers)
        assert swapped == (2 if order == "pooled first" else 0)
    ours, theirs = found.values()
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
