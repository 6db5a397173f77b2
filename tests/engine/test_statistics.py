"""BatchNorm: whose running statistics, and how they are estimated again."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from fedlab_core import ClientInput, Rule, tree
from fedlab_core.client.rule import cross_entropy
from fedlab_core.engine import reestimate, train
from tests.engine_cases import (
    ENGINES,
    PLAIN,
    ROUND,
    TRICKY,
    UNEQUAL,
    assert_same,
    problem,
    with_pytorchs_norms,
)


@pytest.mark.parametrize("engine", ENGINES)
def test_local_statistics_stay_with_the_client(engine):
    """Round two begins from the client's own statistics, not from those it is sent."""
    training = replace(ROUND, statistics="local")
    model, x, y, cohort, given_ = problem(TRICKY, UNEQUAL)
    now, start = (model, x, y, cohort), given_.start
    first = train(*now, given_, training, engine=engine)
    stats = {n for n in start if "running" in n}
    assert set(first.kept) == {f"statistics/{n}" for n in stats}
    assert_same(replace(first, kept={}), train(*now, given_, ROUND), 1e-9)
    got = train(*now, ClientInput(start, first.kept), training, engine=engine)
    own = start | {n: first.states[n] for n in stats}
    want = train(*now, ClientInput(own), ROUND, engine=engine)
    assert_same(replace(got, kept={}), want, 1e-9)
    assert torch.equal(got.kept["statistics/features.2.running_mean"],
                       got.states["features.2.running_mean"])  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_another_models_pass_leaves_the_statistics_alone(engine):
    def twice(net, params, batch, given):
        net(given.start, batch.x)
        net.features(given.start, batch.x)
        return cross_entropy(net, params, batch, given)

    given_ = problem(TRICKY, UNEQUAL)
    want = train(*given_, ROUND, engine=engine)
    got = train(*given_, ROUND, Rule(twice), engine=engine)
    assert_same(got, want, 1e-12)


def test_statistics_are_estimated_again_as_pytorch_does():
    """BatchNorm with momentum=None over the same mini-batches; parameters stay."""
    model, x, _, _, given_ = problem("small cnn", [1, 1, 1])
    start = given_.start
    got = reestimate(model, start, x[:96], batch_size=32)
    for k in range(3):
        net = with_pytorchs_norms(model, x).train()
        net.load_state_dict(tree.take(start, k), strict=False)
        norm = next(m for m in net.modules() if isinstance(m, nn.BatchNorm2d))
        norm.reset_running_stats()
        norm.momentum = None
        for part in x[:96].split(32):
            net(part)
        for n, v in got.items():
            torch.testing.assert_close(v[k], net.state_dict()[n])
    changed = {n for n, v in got.items() if not torch.equal(v, start[n])}
    assert changed == {n for n in start if "running" in n}


def test_a_short_last_batch_counts_by_its_size_and_dropout_is_off():
    model, x, _, _, given_ = problem(TRICKY, [1])
    start = given_.start
    got = reestimate(model, start, x[:50], batch_size=40)
    first, second = (reestimate(model, start, part) for part in x[:50].split(40))
    name = "features.2.running_mean"
    torch.testing.assert_close(got[name], 0.8 * first[name] + 0.2 * second[name])
    assert torch.equal(reestimate(model, start, x[:50], 40)[name], got[name])


def test_without_batch_norm_there_is_nothing_to_estimate():
    model, x, _, _, given_ = problem(PLAIN, [1])
    assert reestimate(model, given_.start, x) is given_.start
