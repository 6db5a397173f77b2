"""Every network trains alike under both engines and in a plain loop."""

import re
from functools import partial

import pytest
import torch
from torch.func import functional_call
from torch.nn import functional as F

from fedlab_core import ClientInput, Rule, Training, build, tree
from fedlab_core.engine import Client, train
from fedlab_core.models import MODELS, initial_state
from fedlab_core.models.network import Network
from tests.engine_cases import assert_same, ordinary
from tests.models_cases import TINY, samples

CLASSES = 3
LOCAL = Training(lr=0.05, epochs=1, batch_size=3, momentum=0.9, weight_decay=0.01)
# No mini-batch of one sample, of which PyTorch's BatchNorm would be afraid; in the
# second cohort all are full, and a sample's weight is made where the loss is.
UNEQUAL, FULL = [5, 2, 6], [6, 3]
COHORTS = [(case, UNEQUAL) for case in TINY]
LARGE = "resnet18|resnet50|vgg|alexnet|densenet|wrn"
COHORTS += [(case, FULL) for case in ("mlp", "resnet", "textcnn", "lstm, frozen")]


def problem(case: str, sizes, dtype=torch.float64):
    name, shape, options = TINY[case]
    make = build(name, shape, CLASSES, **options)
    g = torch.Generator().manual_seed(1)
    x, y = samples(shape, 20), torch.randint(CLASSES, (20,), generator=g)
    cohort = [
        Client(torch.randperm(20, generator=g)[:n], (0, 0, k))
        for k, n in enumerate(sizes)
    ]
    states = [initial_state(make, 10 + k) for k in range(len(sizes))]
    start = tree.tree_map(lambda v: v.to(dtype), tree.stack(states))
    x = x.to(dtype) if len(shape) == 3 else x
    return make().to(dtype), x, y, cohort, ClientInput(start)


@pytest.mark.parametrize(
    "case, sizes",
    [
        pytest.param(*c, marks=[pytest.mark.slow] * bool(re.match(LARGE, c[0])))
        for c in COHORTS
    ],
)
def test_stacked_looped_and_an_ordinary_loop_agree(case, sizes):
    given = problem(case, sizes)
    stacked = train(*given, LOCAL, engine="stacked")
    looped = train(*given, LOCAL, engine="looped")
    assert_same(stacked, looped, 1e-7)
    assert_same(looped, ordinary(*given, LOCAL), 1e-5)
    assert all(v.dtype == torch.float64 for v in stacked.states.values())
    start = given[-1].start
    moved = [n for n, v in stacked.states.items() if not torch.equal(v, start[n])]
    assert set(moved) >= {n for n in start if n.startswith("head.")}


@pytest.mark.parametrize("fails", [False, True])
def test_a_call_leaves_nothing_behind_in_the_module(fails):
    network = Network(build("law_resnet", (3, 8, 8), CLASSES)(), training=True)
    x = torch.randn(2, 3, 8, 8)
    held = {name: table[key] for name, (table, key) in network.slots.items()}
    others = {name: torch.rand_like(v) for name, v in held.items() if v.numel()}
    alone = functional_call(network.model, others, (x,))
    if fails:
        with pytest.raises(RuntimeError):
            network.call("", others, x[:, :2])
    else:
        assert torch.equal(network.call("", others, x), alone)
    assert all(table[key] is held[n] for n, (table, key) in network.slots.items())


def in_two_halves(net, params, batch, given):
    """Loss of a rule on features: the head learns from shifted features as well.

    Padding has to stay behind everything else, for the head may drop rows' units out.
    """
    h = net.features(params, batch.x)
    twice = torch.stack([h, h.detach() + 0.1], 1).flatten(0, 1)
    weight, y = ((v[:, None].expand(-1, 2)).flatten() for v in (batch.weight, batch.y))
    weight = weight / 2
    each = F.cross_entropy(net.head(params, twice, weight), y, reduction="none")
    return (weight * each).sum() + batch.mean(h.square().mean(1))


CUT = {
    "resnet18, cut": "stage2", "resnet18": "stem", "simple_cnn": "conv1",
    "mcmahan_cnn": "conv2", "vgg9": "block3", "densenet121": "block2",
    "mlp": "hidden1", "textcnn": "words", "lstm": None,
}  # fmt: skip


@pytest.mark.parametrize("case, point", CUT.items())
def test_both_engines_train_the_halves_of_a_cut_network_alike(case, point, monkeypatch):
    name, shape, options = TINY[case]
    monkeypatch.setitem(TINY, case, (name, shape, options | {"split": point}))
    given, training = problem(case, UNEQUAL), Training(lr=0.05, batch_size=3)
    run = partial(train, *given, training, Rule(in_two_halves))
    assert_same(run(engine="stacked"), run(engine="looped"), 1e-7)
    plain = train(*given, training, engine="looped")
    assert not torch.allclose(run(engine="looped").loss, plain.loss)


def test_every_model_is_trained_here():
    assert {name for name, _, _ in TINY.values()} == set(MODELS)
