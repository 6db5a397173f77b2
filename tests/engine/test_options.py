"""The engine: every option of `Training`, every hook of a `Rule`, in both engines.

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

from fedlab_core import ClientInput, Rule, Training, tree
from fedlab_core.client.augment import CropFlip
from fedlab_core.client.training import Cosine, Decay
from fedlab_core.engine import Client, batch_order, begin_states, count_steps, train
from fedlab_core.engine.plan import make_plan
from fedlab_core.engine.stacked import StackedCohort
from fedlab_core.engine.step import Task
from fedlab_core.keys import normal
from fedlab_core.models.network import Network
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
)
from tests.once import examples

COUNTS = st.one_of(
    st.none(), st.integers(0, 4), st.tuples(st.integers(0, 2), st.integers(2, 5))
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
    "adam": st.sampled_from([None, None, (0.9, 0.99), (0.0, 0.5), (0.5, 0.0)]),
    "decoupled": st.booleans(),
}


@pytest.mark.parametrize("name", NETS)
@settings(max_examples=examples(15))
@given(**OPTIONS)
def test_every_option_is_that_of_an_ordinary_loop(name, sizes, **choices):
    # What stands before a norm has no gradient but rounding: Adam makes steps of it.
    if "norm" in name or name == "resnet":
        choices["adam"] = None
    adam = choices["adam"] is not None
    choices["momentum"] *= not adam
    choices["decoupled"] &= adam
    choices["keep_velocity"] &= choices["momentum"] > 0 or adam
    training = Training(lr=0.05, **choices)
    if name in ("disco cnn", "resnet"):  # the slow ones: fewer steps do
        sizes, training = sizes[:2], replace(training, cap=1)
    given_ = problem(name, sizes, t=2)
    stacked = train(*given_, training, engine="stacked")
    looped = train(*given_, training, engine="looped")
    # Adam divides by a gradient plus 1e-8: rounding in a tiny one grows as much.
    assert_same(stacked, looped, 1e-9 if training.adam is None else 1e-7)
    assert stacked.steps.tolist() == count_steps(given_[3], training).tolist()
    # PyTorch's BatchNorm1d refuses a mini-batch of one sample
    alone = any(len(i) == 1 for c in given_[3] for i in batch_order(c, training))
    if "batch norm" not in name and name != "resnet" or not alone:
        assert_same(looped, ordinary(*given_, training), 1e-6)


ADAM = replace(ROUND, momentum=0.0, adam=(0.9, 0.99))
STEPS = {
    "momentum": ROUND,
    "adam": ADAM,
    "adamw": replace(ADAM, decoupled=True, clip=0.5, schedule=Decay(0.5)),
}


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("name", [PLAIN, TRICKY])
@pytest.mark.parametrize("engine", ENGINES)
def test_kept_velocity_goes_on_where_the_last_round_left_it(name, engine, steps):
    training = replace(STEPS[steps], keep_velocity=True)
    model, x, y, cohort, given_ = problem(name, UNEQUAL)
    first = train(model, x, y, cohort, given_, training, engine=engine)
    later = [Client(c.indices, (0, 1, c.key[2])) for c in cohort]
    again = (model, x, y, later, ClientInput(first.states, first.kept))
    got = train(*again, training, engine=engine)
    assert_same(got, ordinary(*again, training), 1e-6)
    again = (model, x, y, later, ClientInput(first.states))
    afresh = train(*again, training, engine=engine)
    gap = got.states["head.weight"] - afresh.states["head.weight"]
    assert gap.abs().max() > 1e-3


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_adam_is_pytorchs_in_float32(engine, decoupled):
    """Clients of unlike size, several epochs, and weights that decay visibly."""
    training = Training(
        0.01, 4, 8, weight_decay=0.1, adam=(0.9, 0.999), decoupled=decoupled
    )
    given_ = problem(PLAIN, UNEQUAL, torch.float32)
    got = train(*given_, training, engine=engine)
    assert_same(got, ordinary(*given_, training), 1e-6)
    other = train(*given_, replace(training, decoupled=not decoupled), engine=engine)
    gap = (got.states["head.weight"] - other.states["head.weight"]).abs().max()
    assert gap > 1e-3


def test_a_client_that_has_finished_keeps_its_moments_and_its_count():
    """As on a CUDA device, where all of a cohort compute every step to the end."""
    training = replace(ADAM, keep_velocity=True)
    model, x, y, cohort, given_ = problem(PLAIN, [30, 0, 19])
    given_ = ClientInput(given_.start, begin_states(model, training, Rule(), given_))
    task = Task(Network(model, training=True), x, y, training, Rule())
    order = [0, 2, 1]  # most steps first
    plan = make_plan([cohort[k] for k in order], training)
    for flat in (False, True):
        stage = StackedCohort(task, flat)
        stage.load(plan, given_.of(order))
        for _ in plan.active:
            stage.step(len(cohort), gated=True)
        models, kept, _, _ = stage.unload(plan)
        looped = train(model, x, y, cohort, given_, training, engine="looped")
        want = pick(looped, order)
        for got, wanted in ((models, want.states), (kept, want.kept)):
            assert got.keys() == wanted.keys()
            for n, v in wanted.items():
                torch.testing.assert_close(got[n], v, rtol=1e-9, atol=1e-9)
        assert kept["count/steps"].tolist() == plan.steps.tolist() == [8, 6, 0]


# -- how many steps ----------------------------------------------------------------


def plans(training: Training, n: int = 20, clients: int = 200, t: int = 0) -> list[int]:
    cohort = [Client(torch.arange(n), (5, t, k)) for k in range(clients)]
    return count_steps(cohort, training).tolist()


def test_iterations_replace_epochs():
    training = Training(epochs=7, batch_size=6, iterations=9)
    assert plans(training) == [9] * 200
    order = batch_order(Client(torch.arange(20), (0, 0, 0)), training)
    assert [len(i) for i in order] == [6, 6, 6, 2, 6, 6, 6, 2, 6]
    assert (torch.cat(order[:4]).sort().values == torch.arange(20)).all()
    assert plans(Training(iterations=9), n=0, clients=2) == [0, 0]
    assert plans(Training(iterations=9, batch_size=32, drop_last=True), clients=1) == [
        0
    ]


def test_a_range_of_iterations_draws_stragglers_anew_every_round():
    training = Training(iterations=(5, 50))
    drawn = plans(training)
    assert min(drawn) == 5 and max(drawn) == 50
    assert sum(drawn) / 200 == pytest.approx(27.5, abs=3)
    assert drawn == plans(training) != plans(training, t=1)


def test_a_cap_stops_a_client_early():
    training = Training(epochs=3, batch_size=5)
    assert plans(training)[0] == 12
    assert set(plans(replace(training, cap=7))) == {7}
    drawn = plans(replace(training, cap=(1, 20)))
    assert set(drawn) == set(range(1, 13)) and max(drawn) == 12
    whole = batch_order(Client(torch.arange(20), (0, 0, 0)), training)
    short = batch_order(Client(torch.arange(20), (0, 0, 0)), replace(training, cap=7))
    assert all(torch.equal(a, b) for a, b in zip(whole, short, strict=False))


# -- what a rule may do ------------------------------------------------------------


def zeros(start, broadcast):
    return {
        f"c.{n}": torch.zeros_like(w) for n, w in start.items() if "running" not in n
    }


def control(grads, params, given):
    """SCAFFOLD: g - c_k + c."""
    own, c = tree.subtree(given.state, "c"), given.broadcast
    return {n: g - own[n] + c[n] for n, g in grads.items()}


def renew(params, given, steps, lr_sum):
    """SCAFFOLD, option II: c_k - c + (w0 - w) / (K eta), and what changed is sent."""
    own, c = tree.subtree(given.state, "c"), given.broadcast
    new = {n: own[n] - c[n] + (given.start[n] - w) / lr_sum for n, w in params.items()}
    change = {n: torch.where(steps > 0, v - own[n], 0.0) for n, v in new.items()}
    return tree.nest("c", new), tree.nest("change", change)


SCAFFOLD = Rule(gradient=control, begin=zeros, finish=renew, sends=("change",))


@pytest.mark.parametrize("name", [PLAIN, TRICKY])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_rule_may_correct_gradients_and_remember(name, engine):
    """Two rounds of SCAFFOLD's client, against the same written for one module."""
    training = replace(ROUND, momentum=0.0, clip=2.0)
    model, x, y, cohort, given_ = problem(name, [30, 8, 0, 19])
    start = given_.start
    g = torch.Generator().manual_seed(3)
    names = [n for n, _ in model.named_parameters()]
    c = {n: torch.randn(start[n].shape, generator=g).to(x) * 0.1 for n in names}
    state, begun = {}, start
    kept = {n: torch.zeros_like(start[n]) for n in names}
    for t in range(2):
        clients = [Client(i.indices, (0, t, i.key[2])) for i in cohort]
        now = ClientInput(begun, state, c)
        got = train(model, x, y, clients, now, training, SCAFFOLD, engine=engine)
        for k in range(len(cohort)):
            row = (model, x, y, clients[k : k + 1], ClientInput(begun).of([k]))

            def correct(net, first, k=k, kept=kept):
                for n, w in net.named_parameters():
                    w.grad += c[n][k] - kept[n][k]

            want = ordinary(*row, training, correct=correct)
            for n in want.states:
                torch.testing.assert_close(
                    got.states[n][k], want.states[n][0], rtol=1e-6, atol=1e-8
                )
        lr_sum = (training.lr * got.steps).to(x)
        moved = {}
        for n in names:
            shape = (-1,) + (1,) * (start[n].ndim - 1)
            step = (begun[n] - got.states[n]) / lr_sum.reshape(shape)
            moved[n] = torch.where(
                lr_sum.reshape(shape) > 0, kept[n] - c[n] + step, kept[n]
            )
            torch.testing.assert_close(got.kept[f"c.{n}"], moved[n])
            torch.testing.assert_close(got.uploads[f"change.{n}"], moved[n] - kept[n])
        kept, state, begun = moved, got.kept, got.states


def by_length(grads, params, given):
    """A tenth of the model, by how far it is from its start: a number of a client."""
    far = sum(((params[n] - given.start[n]) ** 2).sum() for n in grads)
    return {n: 0.1 * far * params[n] for n in grads}


def shrunk(grads, params, given):
    return tree.add(grads, by_length(grads, params, given))


RULES = {
    "push": Rule(push=lambda params, given: by_length(params, params, given)),
    "gradient": Rule(gradient=shrunk),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_what_a_rule_makes_of_a_whole_model_is_each_clients_own(rule):
    """A norm is over one client's model, not over all that train side by side."""
    model, x, y, cohort, given_ = problem(PLAIN, [30, 8, 19])
    training = replace(ROUND, lr=0.3)
    both = [
        train(model, x, y, cohort, given_, training, rule, engine=e) for e in ENGINES
    ]
    assert_same(both[0], both[1], 1e-9)
    plain = train(model, x, y, cohort, given_, training, engine=ENGINES[0])
    assert not all(
        torch.equal(plain.states[n], both[0].states[n]) for n in plain.states
    )


def listening(net, params, batch, given):
    """A running mean of features, kept in the state, and noise drawn from the key."""
    h = net.features(params, batch.x)
    noise = normal(batch.key, h.shape[1]).to(h)
    mean = 0.9 * given.state["mean"] + 0.1 * (batch.weight[:, None] * h).sum(0)
    logits = net.head(params, h + 0.01 * noise)
    loss = batch.mean(F.cross_entropy(logits, batch.y, reduction="none"))
    return loss, {"mean": mean, "steps": given.state["steps"] + 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_rule_may_write_its_state_in_every_step(engine):
    training = replace(ROUND, momentum=0.0, weight_decay=0.0)
    model, x, y, cohort, given_ = problem(PLAIN, [30, 8, 0, 5])
    start = given_.start
    first = {"mean": x.new_zeros(4, 7), "steps": torch.zeros(4, dtype=torch.int64)}
    now = (model, x, y, cohort, ClientInput(start, first))
    got = train(*now, training, Rule(listening), engine=engine)
    assert torch.equal(got.kept["steps"], got.steps)
    for k, client in enumerate(cohort):
        model.load_state_dict(tree.take(start, k))
        mean, marks = x.new_zeros(7), make_plan([client], training).marks(0)
        for mark, i in zip(marks, batch_order(client, training), strict=True):
            h = model.features(x[i])
            mean = 0.9 * mean + 0.1 * h.mean(0).detach()
            logits = model.head(h + 0.01 * normal(mark, 7).to(x))
            loss = F.cross_entropy(logits, y[i])
            slopes = torch.autograd.grad(loss, list(model.parameters()))
            with torch.no_grad():
                for w, slope in zip(model.parameters(), slopes, strict=True):
                    w -= training.lr * slope
        torch.testing.assert_close(got.kept["mean"][k], mean)
        for n, w in model.named_parameters():
            torch.testing.assert_close(got.states[n][k], w.detach())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_parameter_outside_the_loss_rests(engine):
    def head_only(net, params, batch, given):
        h = net.features(given.start, batch.x)
        logits = net.head(params, h)
        return batch.mean(F.cross_entropy(logits, batch.y, reduction="none"))

    given_ = problem(PLAIN, [9, 12])
    got = train(*given_, Training(lr=0.1), Rule(head_only), engine=engine)
    for n, w in got.states.items():
        assert torch.equal(w, given_[-1].start[n]) == n.startswith("features"), n


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
    training = replace(
        ROUND, clip=1.0, cap=(1, 9), schedule=Cosine(2), augment=CropFlip(1),
        keep_velocity=True, statistics="local",
    )  # fmt: skip
    model, x, y, cohort, given_ = problem(TRICKY, UNEQUAL)
    c = {n: torch.zeros_like(v) for n, v in given_.start.items()}
    given_ = ClientInput(given_.start, {}, c)
    whole = train(model, x, y, cohort, given_, training, SCAFFOLD, engine=engine)
    some = [4, 1, 3]
    part = train(
        model, x, y, [cohort[k] for k in some], given_.of(some), training, SCAFFOLD,
        engine=engine, largest=2,
    )  # fmt: skip
    assert_same(part, pick(whole, some), 1e-9)


LAST = torch.channels_last


class Laid(nn.Module):
    """A convolution that writes down how its images and weights lie in memory."""

    seen: list[bool] = []  # of all copies

    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 4, 3), nn.Linear(4 * 36, 5)

    def forward(self, x):
        laid = (v.is_contiguous(memory_format=LAST) for v in (x, self.conv.weight))
        self.seen.append(all(laid))
        return self.head(self.conv(x).relu().flatten(1))


def test_one_by_one_all_lies_as_convolutions_on_a_cpu_like_it():
    x, y = torch.randn(12, 3, 8, 8), torch.arange(12) % 5
    model = Laid()
    given = ClientInput({n: w[None] for n, w in model.state_dict().items()})
    cohort = [Client(torch.arange(12), (0, 0, 0))]
    train(model, x, y, cohort, given, Training(0.1, batch_size=4), engine="looped")
    assert Laid.seen and all(Laid.seen)
