"""The engine: every option of `Local`, and every function of a rule, in both engines.

The plain loop of `engine_cases` knows the options of torch.optim and clip_grad_norm_;
what a rule adds is written out here, client by client.
"""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from fedlab_core import Local, tree
from fedlab_core.client.local import Cosine, CropFlip, Decay, cross_entropy
from fedlab_core.engine import Client, batch_order, count_steps, reestimate, train
from fedlab_core.engine.plan import make_plan
from fedlab_core.keys import normal
from tests.engine_cases import (
    ENGINES,
    NETS,
    PLAIN,
    ROUND,
    TRICKY,
    UNEQUAL,
    assert_same,
    ordinary,
    pick,
    problem,
    with_pytorchs_norms,
)

COUNTS = st.one_of(
    st.none(),
    st.integers(0, 4),
    st.tuples(st.integers(0, 2), st.integers(2, 5)),
)
OPTIONS = {
    "sizes": st.lists(st.integers(0, 17), min_size=1, max_size=4),
    "batch_size": st.integers(2, 7),
    "epochs": st.integers(0, 2),
    "momentum": st.sampled_from([0.0, 0.9]),
    "weight_decay": st.sampled_from([0.0, 0.1]),
    "drop_last": st.booleans(),
    "iterations": COUNTS,
    "cap": COUNTS,
    "clip": st.sampled_from([None, 0.1, 3.0]),
    "schedule": st.sampled_from([None, Decay(0.5), Cosine(3)]),
    "augment": st.sampled_from([None, CropFlip(1), CropFlip(2, flip=False)]),
    "keep_velocity": st.booleans(),
}


@pytest.mark.parametrize("name", NETS)
@settings(max_examples=15)
@given(**OPTIONS)
def test_every_option_is_that_of_an_ordinary_loop(name, sizes, **choices):
    choices["keep_velocity"] &= choices["momentum"] > 0
    local = Local(lr=0.05, **choices)
    if name in ("disco cnn", "resnet"):  # the slow ones: fewer steps do
        sizes, local = sizes[:2], replace(local, cap=1)
    given_ = problem(name, sizes, t=2)
    stacked = train(*given_, local, engine="stacked")
    looped = train(*given_, local, engine="looped")
    assert_same(stacked, looped, 1e-9)
    assert stacked.steps.tolist() == count_steps(given_[3], local).tolist()
    # PyTorch's BatchNorm1d refuses a mini-batch of one sample
    alone = any(len(i) == 1 for c in given_[3] for i in batch_order(c, local))
    if "batch norm" not in name and name != "resnet" or not alone:
        assert_same(looped, ordinary(*given_, local), 1e-6)


@pytest.mark.parametrize("name", [PLAIN, TRICKY])
@pytest.mark.parametrize("engine", ENGINES)
def test_kept_velocity_goes_on_where_the_last_round_left_it(name, engine):
    local = replace(ROUND, keep_velocity=True)
    model, x, y, cohort, start = problem(name, UNEQUAL)
    first = train(model, x, y, cohort, start, local, engine=engine)
    later = [Client(c.indices, (0, 1, c.key[2])) for c in cohort]
    again = (model, x, y, later, first.states)
    got = train(*again, local, memory=first.memory, engine=engine)
    assert_same(got, ordinary(*again, local, memory=first.memory), 1e-6)
    afresh = train(*again, local, engine=engine)
    gap = got.states["head.weight"] - afresh.states["head.weight"]
    assert gap.abs().max() > 1e-3


# -- how many steps ----------------------------------------------------------------


def plans(local: Local, n: int = 20, clients: int = 200, t: int = 0) -> list[int]:
    cohort = [Client(torch.arange(n), (5, t, k)) for k in range(clients)]
    return count_steps(cohort, local).tolist()


def test_iterations_replace_epochs():
    local = Local(epochs=7, batch_size=6, iterations=9)
    assert plans(local) == [9] * 200
    order = batch_order(Client(torch.arange(20), (0, 0, 0)), local)
    assert [len(i) for i in order] == [6, 6, 6, 2, 6, 6, 6, 2, 6]
    assert (torch.cat(order[:4]).sort().values == torch.arange(20)).all()
    assert plans(Local(iterations=9), n=0, clients=2) == [0, 0]
    assert plans(Local(iterations=9, batch_size=32, drop_last=True), clients=1) == [0]


def test_a_range_of_iterations_draws_stragglers_anew_every_round():
    local = Local(iterations=(5, 50))
    drawn = plans(local)
    assert min(drawn) == 5 and max(drawn) == 50
    assert sum(drawn) / 200 == pytest.approx(27.5, abs=3)
    assert drawn == plans(local) != plans(local, t=1)


def test_a_cap_stops_a_client_early():
    local = Local(epochs=3, batch_size=5)
    assert plans(local)[0] == 12
    assert set(plans(replace(local, cap=7))) == {7}
    drawn = plans(replace(local, cap=(1, 20)))
    assert set(drawn) == set(range(1, 13)) and max(drawn) == 12
    whole = batch_order(Client(torch.arange(20), (0, 0, 0)), local)
    short = batch_order(Client(torch.arange(20), (0, 0, 0)), replace(local, cap=7))
    assert all(torch.equal(a, b) for a, b in zip(whole, short, strict=False))


# -- what a rule may do ------------------------------------------------------------


def zeros(start, sent):
    return {
        f"c.{n}": torch.zeros_like(w) for n, w in start.items() if "running" not in n
    }


def control(grads, params, given):
    """SCAFFOLD: g - c_k + c."""
    return {n: g - given.memory[f"c.{n}"] + given.sent[n] for n, g in grads.items()}


def renew(params, given, steps, lr_sum):
    """SCAFFOLD, option II: c_k - c + (w0 - w) / (K eta)."""
    return {
        f"c.{n}": given.memory[f"c.{n}"] - given.sent[n] + (given.start[n] - w) / lr_sum
        for n, w in params.items()
    }


@pytest.mark.parametrize("name", [PLAIN, TRICKY])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_rule_may_correct_gradients_and_remember(name, engine):
    """Two rounds of SCAFFOLD's client, against the same written for one module."""
    local = replace(
        ROUND, momentum=0.0, clip=2.0, memory=zeros, gradient=control, finish=renew,
    )  # fmt: skip
    model, x, y, cohort, start = problem(name, [30, 8, 0, 19])
    g = torch.Generator().manual_seed(3)
    names = [n for n, _ in model.named_parameters()]
    c = {n: torch.randn(start[n].shape, generator=g).to(x) * 0.1 for n in names}
    plain = replace(local, memory=None, gradient=None, finish=None)
    memory, begun = None, start
    kept = {n: torch.zeros_like(start[n]) for n in names}
    for t in range(2):
        clients = [Client(i.indices, (0, t, i.key[2])) for i in cohort]
        now = (model, x, y, clients, begun)
        got = train(*now, local, memory=memory, sent=c, engine=engine)
        for k in range(len(cohort)):
            row = (model, x, y, clients[k : k + 1], tree.take(begun, [k]))

            def correct(net, first, k=k, kept=kept):
                for n, w in net.named_parameters():
                    w.grad += c[n][k] - kept[n][k]

            want = ordinary(*row, plain, correct=correct)
            for n in want.states:
                torch.testing.assert_close(
                    got.states[n][k], want.states[n][0], rtol=1e-6, atol=1e-8
                )
        lr_sum = (local.lr * got.steps).to(x)
        moved = {}
        for n in names:
            shape = (-1,) + (1,) * (start[n].ndim - 1)
            step = (begun[n] - got.states[n]) / lr_sum.reshape(shape)
            moved[n] = torch.where(
                lr_sum.reshape(shape) > 0, kept[n] - c[n] + step, kept[n]
            )
            torch.testing.assert_close(got.memory[f"c.{n}"], moved[n])
        kept, memory, begun = moved, got.memory, got.states


def listening(net, params, batch, given):
    """A running mean of features, kept in memory, and noise drawn from the key."""
    h = net.features(params, batch.x)
    noise = normal(batch.key, h.shape[1]).to(h)
    mean = 0.9 * given.memory["mean"] + 0.1 * (batch.weight[:, None] * h).sum(0)
    logits = net.head(params, h + 0.01 * noise)
    loss = batch.mean(F.cross_entropy(logits, batch.y, reduction="none"))
    return loss, {"mean": mean, "steps": given.memory["steps"] + 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_rule_may_write_its_memory_in_every_step(engine):
    local = replace(ROUND, loss=listening, momentum=0.0, weight_decay=0.0)
    model, x, y, cohort, start = problem(PLAIN, [30, 8, 0, 5])
    first = {"mean": x.new_zeros(4, 7), "steps": torch.zeros(4, dtype=torch.int64)}
    got = train(model, x, y, cohort, start, local, memory=first, engine=engine)
    assert torch.equal(got.memory["steps"], got.steps)
    for k, client in enumerate(cohort):
        model.load_state_dict(tree.take(start, k))
        mean, marks = x.new_zeros(7), make_plan([client], local).marks(0)
        for mark, i in zip(marks, batch_order(client, local), strict=True):
            h = model.features(x[i])
            mean = 0.9 * mean + 0.1 * h.mean(0).detach()
            logits = model.head(h + 0.01 * normal(mark, 7).to(x))
            loss = F.cross_entropy(logits, y[i])
            slopes = torch.autograd.grad(loss, list(model.parameters()))
            with torch.no_grad():
                for w, slope in zip(model.parameters(), slopes, strict=True):
                    w -= local.lr * slope
        torch.testing.assert_close(got.memory["mean"][k], mean)
        for n, w in model.named_parameters():
            torch.testing.assert_close(got.states[n][k], w.detach())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_parameter_outside_the_loss_rests(engine):
    def head_only(net, params, batch, given):
        h = net.features(given.start, batch.x)
        logits = net.head(params, h)
        return batch.mean(F.cross_entropy(logits, batch.y, reduction="none"))

    model, x, y, cohort, start = problem(PLAIN, [9, 12])
    local = Local(lr=0.1, loss=head_only)
    got = train(model, x, y, cohort, start, local, engine=engine)
    for n, w in got.states.items():
        assert torch.equal(w, start[n]) == n.startswith("features"), n


# -- BatchNorm: whose running statistics -------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_local_statistics_stay_with_the_client(engine):
    """Round two begins from the client's own statistics, not from those it is sent."""
    local = replace(ROUND, statistics="local")
    model, x, y, cohort, start = problem(TRICKY, UNEQUAL)
    first = train(model, x, y, cohort, start, local, engine=engine)
    stats = {n for n in start if "running" in n}
    assert set(first.memory) == {f"statistics/{n}" for n in stats}
    assert_same(replace_memory(first), train(model, x, y, cohort, start, ROUND), 1e-9)
    got = train(model, x, y, cohort, start, local, memory=first.memory, engine=engine)
    own = start | {n: first.states[n] for n in stats}
    want = train(model, x, y, cohort, own, ROUND, engine=engine)
    assert_same(replace_memory(got), want, 1e-9)
    assert torch.equal(got.memory["statistics/features.2.running_mean"],
                       got.states["features.2.running_mean"])  # fmt: skip


def replace_memory(trained):
    return replace(trained, memory={})


@pytest.mark.parametrize("engine", ENGINES)
def test_another_models_pass_leaves_the_statistics_alone(engine):
    def twice(net, params, batch, given):
        net(given.start, batch.x)
        net.features(given.start, batch.x)
        return cross_entropy(net, params, batch, given)

    given_ = problem(TRICKY, UNEQUAL)
    want = train(*given_, ROUND, engine=engine)
    got = train(*given_, replace(ROUND, loss=twice), engine=engine)
    assert_same(got, want, 1e-12)


def test_statistics_are_estimated_again_as_pytorch_does():
    """BatchNorm with momentum=None over the same mini-batches; parameters stay."""
    model, x, _, _, start = problem("small cnn", [1, 1, 1])
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
    model, x, _, _, start = problem(TRICKY, [1])
    got = reestimate(model, start, x[:50], batch_size=40)
    first, second = (reestimate(model, start, part) for part in x[:50].split(40))
    name = "features.2.running_mean"
    torch.testing.assert_close(got[name], 0.8 * first[name] + 0.2 * second[name])
    assert torch.equal(reestimate(model, start, x[:50], 40)[name], got[name])


def test_without_batch_norm_there_is_nothing_to_estimate():
    model, x, _, _, start = problem(PLAIN, [1])
    assert reestimate(model, start, x) is start


# -- what stays the same -----------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_bf16_is_close_and_must_be_asked_for(engine):
    given_ = problem(PLAIN, UNEQUAL, torch.float32)
    exact = train(*given_, ROUND, engine=engine)
    rough = train(*given_, ROUND, engine=engine, precision="bf16")
    assert all(v.dtype == torch.float32 for v in rough.states.values())
    gap = (rough.states["head.weight"] - exact.states["head.weight"]).abs().max()
    assert 1e-6 < gap < 0.05


@pytest.mark.parametrize("engine", ENGINES)
def test_everything_at_once_does_not_depend_on_who_else_is_there(engine):
    local = replace(
        ROUND, clip=1.0, cap=(1, 9), schedule=Cosine(2), augment=CropFlip(1),
        keep_velocity=True, statistics="local", memory=zeros, gradient=control,
        finish=renew,
    )  # fmt: skip
    model, x, y, cohort, start = problem(TRICKY, UNEQUAL)
    c = {n: torch.zeros_like(v) for n, v in start.items()}
    whole = train(model, x, y, cohort, start, local, sent=c, engine=engine)
    some = [4, 1, 3]
    part = train(
        model, x, y, [cohort[k] for k in some], tree.take(start, some), local,
        sent=tree.take(c, some), engine=engine, largest=2,
    )  # fmt: skip
    assert_same(part, pick(whole, some), 1e-9)
