"""Sizes of the networks: against the papers, torchvision and plain arithmetic."""

import numpy as np
import pytest
import torch
import torchvision
from torch import nn
from torchvision.models.vgg import make_layers

import fedlab_core as fl
from fedlab_core import build
from fedlab_core.errors import InputError
from fedlab_core.models import MODELS, Description, describe

GREY, COLOUR, TEXT = (1, 28, 28), (3, 32, 32), (40,)


def numbers(module: nn.Module) -> int:
    return sum(w.numel() for w in module.parameters())


def theirs(make, *arguments, **options) -> int:
    """Number of parameters of torchvision's network, without drawing them."""
    with torch.device("meta"):
        return numbers(make(*arguments, **options))


def linear(inside: int, outside: int) -> int:
    return inside * outside + outside


@pytest.mark.parametrize(
    "name, shape, options, parameters",
    [
        # said by the papers, or by the codes of their authors
        ("mlp_200", GREY, {}, 199_210),
        ("simple_cnn", COLOUR, {}, 122_570),
        ("collab_cnn", COLOUR, {}, 122_570),
        ("mcmahan_cnn", GREY, {}, 1_663_370),
        ("resnet18", COLOUR, {}, 11_173_962),
        ("resnet18", COLOUR, {"stem": "imagenet"}, 11_181_642),  # FedCollab Table 5
        ("resnet", COLOUR, {"depth": 20}, 269_722),
        ("resnet", COLOUR, {"depth": 20, "stem_bias": True}, 269_738),
        # 0.85 and 1.7 million in Table 6 of the ResNet paper
        ("resnet", COLOUR, {"depth": 56}, 853_018),
        ("resnet", COLOUR, {"depth": 110}, 1_727_962),
    ],
)
def test_networks_have_the_papers_size(name, shape, options, parameters):
    assert describe(name, shape, 10, **options).parameters == parameters


def test_networks_have_the_size_of_their_layers():
    conv5 = (25 + 1) * 16 + (16 * 25 + 1) * 32
    assert describe("lenet", GREY, 10).parameters == conv5 + linear(7 * 7 * 32, 10)
    # Two projections, 16 to 32 and 32 to 64, each with two numbers a channel
    more = 16 * 32 + 2 * 32 + 32 * 64 + 2 * 64
    assert describe("law_resnet", COLOUR, 10).parameters == 269_722 + more
    assert describe("law_resnet", COLOUR, 10, depth=56).parameters == 853_018 + more


def test_the_wide_resnet_has_the_size_of_its_layers():
    """Nine blocks a stage; all but the stem is 3 x 3 convolutions and norms."""
    a, b, c = 64, 128, 256
    stem = 3 * a * 9 + 2 * a
    inner = sum(17 * (9 * w * w + 2 * w) for w in (a, b, c))
    first = 9 * (a * a + a * b + b * c) + 2 * (a + b + c)
    short = a * b + 2 * b + b * c + 2 * c
    want = stem + inner + first + short + linear(c, 10)
    assert describe("wrn56_4", COLOUR, 10).parameters == want


@pytest.mark.slow
def test_networks_have_the_size_of_torchvisions():
    tv = torchvision.models
    stem = 3 * 64 * (49 - 9)  # theirs is 7 x 7
    for name, make in (("resnet18", tv.resnet18), ("resnet50", tv.resnet50)):
        want = theirs(make, num_classes=100)
        got = describe(name, COLOUR, 100, stem="imagenet").parameters
        assert got == want and describe(name, COLOUR, 100).parameters == want - stem
    want = theirs(tv.densenet121, num_classes=10) - stem
    got = describe("densenet121", COLOUR, 10, stem_norm=True).parameters
    assert got == want
    assert describe("densenet121", COLOUR, 10).parameters == want - 2 * 64
    with torch.device("meta"):
        convolutions = numbers(tv.alexnet().features)
    for hidden, above in (((), linear(256, 10)), ((9,), 257 * 9 + 10 * 10)):
        got = describe("alexnet", COLOUR, 10, hidden=hidden).parameters
        assert got == convolutions + above
    blocks: list[str | int] = [32, 64, "M", 128, 128, "M", 256, 256, "M"]
    fully = linear(4096, 512) + linear(512, 512) + linear(512, 10)
    want = theirs(make_layers, blocks) + fully
    assert describe("vgg9", COLOUR, 10).parameters == want


def test_text_networks_have_the_size_of_their_layers():
    filters = sum(linear(32 * k, 32) for k in (3, 4, 5))
    want = 3000 * 32 + filters + linear(96, 4)
    assert describe("textcnn", TEXT, 4).parameters == want
    cells = theirs(nn.LSTM, 300, 256, num_layers=2)
    got = describe("lstm", TEXT, 2)
    assert got.parameters == 3000 * 300 + cells + linear(256, 2)
    frozen = describe("lstm", TEXT, 2, frozen=True)
    assert frozen.parameters == cells + linear(256, 2)


# -- where networks may be cut -----------------------------------------------------


@pytest.mark.slow
def test_a_resnet18_may_be_cut_where_fedimpro_cuts_it():
    """After each stage of 32 x 32 pixels: 64, 128, 256 maps, and 512 means."""
    got = describe("resnet18", COLOUR, 10).points
    maps = {"stage1": 64 * 32 * 32, "stage2": 128 * 16 * 16, "stage3": 256 * 8 * 8}
    assert got == {"stem": 64 * 32 * 32} | maps | {"stage4": 512}
    assert describe("resnet18", COLOUR, 10, split=2).features == 32_768
    assert describe("resnet18", COLOUR, 10, split="stage1").features == 65_536
    wide = describe("resnet50", COLOUR, 100).points
    assert wide["stage2"] == 512 * 16 * 16 and wide["stage4"] == 2048


@pytest.mark.parametrize(
    "name, shape, sizes",
    [
        ("mlp", GREY, [784, 128, 128]),
        ("disco_cnn", COLOUR, [3072, 6 * 14 * 14, 400, 120, 84]),
        ("simple_cnn", COLOUR, [3072, 32 * 15 * 15, 64 * 6 * 6, 1024, 64]),
        ("mcmahan_cnn", GREY, [784, 32 * 14 * 14, 3136, 512]),
        ("lenet", GREY, [784, 16 * 14 * 14, 1568]),
        ("alexnet", COLOUR, [3072, 1024, 768, 1536, 1024, 256]),
        ("vgg9", COLOUR, [3072, 16_384, 8192, 4096, 512, 512]),
        ("resnet", COLOUR, [16_384, 16_384, 8192, 64]),
        ("densenet121", COLOUR, [65_536, 32_768, 16_384, 8192, 1024]),
        ("textcnn", TEXT, [40 * 32, 96]),
        ("lstm", TEXT, [256]),
    ],
)
def test_networks_may_be_cut_after_every_layer_or_block(name, shape, sizes):
    assert list(describe(name, shape, 10).points.values()) == sizes


def test_a_description_is_that_of_what_is_built():
    before = torch.get_rng_state()
    got = describe("mlp", (1, 2, 3), 4, hidden=(5,), split="input")
    assert got == Description("mlp", 6 * 5 + 5 + 24, 6, {"input": 6, "hidden1": 5})
    assert torch.equal(torch.get_rng_state(), before)
    net = build("vgg9", (1, 8, 9), 3, base=1)()
    assert describe("vgg9", (1, 8, 9), 3, base=1).parameters == numbers(net)


# -- what is refused ---------------------------------------------------------------


@pytest.mark.parametrize("split", ["conv9", 5, -1])
def test_a_split_point_that_is_none_is_refused(split):
    text = rf"no split point {split!r}: choose from input \(0\), .*hidden2 \(4\)"
    with pytest.raises(InputError, match=text):
        build("disco_cnn", GREY, 10, split=split)()
    with pytest.raises(InputError, match=text):
        describe("disco_cnn", GREY, 10, split=split)


ROWS = ("mlp", "mlp_200")
IMAGES = [n for n in MODELS if n not in ("textcnn", "lstm", *ROWS)]


@pytest.mark.parametrize("name", IMAGES)
def test_networks_for_images_refuse_rows(name):
    with pytest.raises(InputError, match=r"needs \(channels, height, width\), not"):
        build(name, (40,), 10)()


@pytest.mark.parametrize("name", ROWS)
def test_an_mlp_takes_rows_and_refuses_texts(name):
    assert build(name, (40,), 10)()(torch.zeros(2, 40)).shape == (2, 10)
    words = np.ones((9, 40), np.int32)
    texts = fl.dataset(words, [0, 1, 2] * 3, words, [0, 1, 2] * 3)
    with pytest.raises(InputError, match=r"the network takes no x of shape \(40,\)"):
        fl.world(texts, fl.iid(texts.y_train, 3), build(name, texts.shape, 3))


@pytest.mark.parametrize(
    "name, least",
    [("simple_cnn", 18), ("mcmahan_cnn", 4), ("lenet", 4), ("alexnet", 29), ("vgg9", 8),
     ("densenet121", 8), ("disco_cnn", 16)],
)  # fmt: skip
def test_the_smallest_image_is_the_smallest_that_works(name, least):
    few = {"vgg9": {"base": 1, "hidden": (2, 2)}, "alexnet": {"base": 1}}
    few["densenet121"] = {"growth": 1, "blocks": (1, 1, 1, 1)}
    small = few.get(name, {})
    net = build(name, (1, least, least), 3, **small)().eval()
    assert net(torch.ones(2, 1, least, least)).shape == (2, 3)
    with pytest.raises(InputError, match=f"{name} needs images of {least} x {least}"):
        build(name, (1, least, least - 1), 3, **small)()


def test_options_that_do_not_exist_are_refused():
    with pytest.raises(InputError, match="norm must be batch or group, not 'layer'"):
        build("resnet18", COLOUR, 10, norm="layer")()
    with pytest.raises(InputError, match="stem must be cifar or imagenet, not 'big'"):
        build("resnet50", COLOUR, 10, stem="big")()
