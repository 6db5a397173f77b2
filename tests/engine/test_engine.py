"""The engine: every trap of training many clients at once, each with its own test.

Three ways of training agree: stacked, looped, and the plain loop of `engine_cases`.
"""

import copy
import threading
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from fedlab_core import ClientInput, Rule, Training, build, iid, tree, world
from fedlab_core.engine import Client, batch_order, count_steps, train
from fedlab_core.engine.plan import make_plan
from fedlab_core.keys import derive_seed
from fedlab_core.models import initial_state
from fedlab_core.models.layers import BatchNorm
from tests.engine_cases import (
    CLASSES,
    ENGINES,
    NETS,
    ROUND,
    UNEQUAL,
    assert_same,
    assert_same_bits,
    ordinary,
    pick,
    problem,
)
from tests.once import examples

CHOICES = {
    "sizes": st.lists(st.integers(0, 23), min_size=1, max_size=5),
    "batch_size": st.integers(1, 9),
    "epochs": st.integers(0, 3),
    "momentum": st.sampled_from([0.0, 0.9]),
    "weight_decay": st.sampled_from([0.0, 0.1]),
    "drop_last": st.booleans(),
}


@pytest.mark.parametrize("name", NETS)
@settings(max_examples=examples(25))
@given(**CHOICES)
def test_stacked_looped_and_an_ordinary_loop_agree(name, sizes, **choices):
    training = Training(lr=0.05, **choices)
    if name in ("disco cnn", "resnet"):  # the slow ones: fewer steps do
        sizes, least = sizes[:3], max(training.batch_size, 4)
        training = replace(training, batch_size=least)
    given_ = problem(name, sizes)
    stacked = train(*given_, training, engine="stacked")
    looped = train(*given_, training, engine="looped")
    assert_same(stacked, looped, 1e-9)
    assert stacked.steps.tolist() == count_steps(given_[3], training).tolist()
    # PyTorch's BatchNorm1d refuses a mini-batch of one sample
    ones = any(n % training.batch_size == 1 for n in sizes) and not training.drop_last
    normed = any(isinstance(m, BatchNorm) for m in given_[0].modules())
    if not (normed and (ones or training.batch_size == 1)):
        assert_same(looped, ordinary(*given_, training), 1e-5)


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_round_in_single_precision_is_within_a_hundred_thousandth(
    threads, name, engine
):
    training = Training(
        lr=0.02, epochs=2, batch_size=8, momentum=0.9, weight_decay=1e-3
    )
    given_ = problem(name, [30, 19, 8, 3], torch.float32)
    got = train(*given_, training, engine=engine)
    assert_same(got, ordinary(*given_, training), 1e-5)
    assert all(v.dtype == torch.float32 for v in got.states.values())


# -- unequal clients ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["mlp", "mlp, batch norm, dropout"])
def test_a_finished_client_rests_while_others_go_on(name):
    """One short client beside a long one: no step, no momentum, no decay after."""
    training = Training(lr=0.1, epochs=3, batch_size=4, momentum=0.9, weight_decay=0.2)
    model, x, y, cohort, given_ = problem(name, [4, 60])
    together = train(model, x, y, cohort, given_, training, engine="stacked")
    assert together.steps.tolist() == [3, 45]
    for k in (0, 1):
        alone = train(
            model, x, y, [cohort[k]], given_.of([k]), training, engine="stacked"
        )
        assert_same(pick(together, [k]), alone, 1e-10)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_client_without_a_whole_batch_returns_its_start(engine):
    training = Training(lr=0.1, epochs=2, batch_size=8, momentum=0.9, drop_last=True)
    given_ = problem("mlp, batch norm, dropout", [7, 0, 16])
    got, start = train(*given_, training, engine=engine), given_[-1].start
    assert got.steps.tolist() == [0, 0, 4] and got.loss[:2].tolist() == [0, 0]
    for name, v in got.states.items():
        assert torch.equal(v[:2], start[name][:2])
    assert not torch.equal(got.states["head.weight"][2], start["head.weight"][2])


@pytest.mark.parametrize("engine", ENGINES)
def test_nobody_has_a_step(engine):
    given_ = problem("mlp", [5, 3])
    got = train(*given_, Training(epochs=0), engine=engine)
    assert got.steps.tolist() == [0, 0]
    assert all(torch.equal(v, given_[-1].start[n]) for n, v in got.states.items())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_short_last_batch_counts_by_its_own_size(engine):
    """5 samples in batches of 4, one layer, one epoch: two steps written out."""
    x = torch.randn(5, 1, 1, 2, dtype=torch.float64)
    y = torch.tensor([0, 1, 1, 0, 1])
    model = build("mlp", (1, 1, 2), 2, hidden=())().double()
    client = Client(torch.arange(5), (0, 0, 0))
    training = Training(lr=0.5, batch_size=4)
    start = {n: v.detach()[None] for n, v in model.state_dict().items()}
    w, b = (start[f"head.{n}"][0].clone() for n in ("weight", "bias"))
    for i in batch_order(client, training):
        flat = x[i].flatten(1)
        slope = (flat @ w.T + b).softmax(1) - F.one_hot(y[i], 2)
        w, b = w - 0.5 * slope.T @ flat / len(i), b - 0.5 * slope.mean(0)
    got = train(model, x, y, [client], ClientInput(start), training, engine=engine)
    torch.testing.assert_close(got.states["head.weight"][0], w)
    torch.testing.assert_close(got.states["head.bias"][0], b)


# -- nothing else matters ----------------------------------------------------------


def test_the_looped_engine_uses_the_cores_and_gives_them_back():
    """A rule sees which thread it runs in, and with how many of PyTorch's own."""
    torch.set_num_threads(2)
    seen = set()
    both = threading.Barrier(2, timeout=300)

    def spy(net, params, batch, given):
        if threading.current_thread() not in {thread for thread, _ in seen}:
            seen.add((threading.current_thread(), torch.get_num_threads()))
            both.wait()  # two clients at once, or a timeout
        return net(params, batch.x).square().mean()

    try:
        train(*problem("mlp", [8, 8]), Training(), Rule(spy), engine="looped")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
    assert [count for _, count in seen] == [1, 1]
    assert threading.current_thread() not in {thread for thread, _ in seen}


@pytest.mark.slow
@pytest.mark.parametrize("largest", [256, 2])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", [n for n in NETS if n != "resnet"])
def test_same_bits_again_and_whatever_the_cohorts_order(threads, name, engine, largest):
    how = {"engine": engine, "largest": largest}
    model, x, y, cohort, given_ = problem(name, UNEQUAL, torch.float32)
    first = train(model, x, y, cohort, given_, ROUND, **how)
    assert_same_bits(first, train(model, x, y, cohort, given_, ROUND, **how))
    for order in ([5, 4, 3, 2, 1, 0], [2, 0, 5, 1, 4, 3]):
        shuffled = [cohort[k] for k in order]
        got = train(model, x, y, shuffled, given_.of(order), ROUND, **how)
        assert_same_bits(got, pick(first, order))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("largest", [1, 2, 4])
def test_a_cohort_that_does_not_fit_is_split(engine, largest):
    given_ = problem("mlp, batch norm, dropout", UNEQUAL, torch.float32)
    whole = train(*given_, ROUND, engine=engine)
    assert_same(train(*given_, ROUND, engine=engine, largest=largest), whole, 1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_client_does_not_depend_on_who_else_is_there(engine):
    model, x, y, cohort, given_ = problem("mlp, batch norm, dropout", UNEQUAL)
    whole = train(model, x, y, cohort, given_, ROUND, engine=engine)
    some = [4, 1, 3]
    cohort = [cohort[k] for k in some]
    part = train(model, x, y, cohort, given_.of(some), ROUND, engine=engine)
    assert_same(part, pick(whole, some), 1e-10)


def test_padding_follows_the_largest_client_not_the_mini_batch():
    """Five clients of 60 samples, asked for mini-batches of 60,000."""
    _, _, _, cohort, _ = problem("mlp", [60] * 5)
    plan = make_plan(cohort, Training(batch_size=60_000))
    assert plan.at.shape == (1, 5, 64) and plan.real.tolist() == [[60] * 5]
    assert make_plan(cohort, Training(batch_size=50)).at.shape == (2, 5, 50)


@pytest.mark.parametrize(
    "training",
    [
        Training(batch_size=4, epochs=3),
        Training(batch_size=7, iterations=(2, 9), drop_last=True),
        Training(batch_size=4, epochs=2, cap=3),
    ],
    ids=["whole", "drawn", "cut short"],
)
def test_a_plan_is_made_on_the_device_without_asking_it_anything(training):
    """A meta tensor has no numbers: whoever asks for one, fails."""
    *_, cohort, _ = problem("mlp", [30, 19, 8, 1])
    there, here = make_plan(cohort, training, "meta"), make_plan(cohort, training)
    assert there.at.device.type == "meta" and there.at.shape == here.at.shape
    for name in ("real", "keys", "steps", "lr_sum"):
        assert torch.equal(getattr(there, name), getattr(here, name))


def test_the_width_of_the_padding_does_not_change_a_bit(small_data):
    """A client beside smaller and larger ones; the mini-batch holds all of each."""
    make = build("mlp", small_data.shape, 10, hidden=(16,))
    w = world(small_data, iid(small_data.y_train, 1), make)
    given_ = ClientInput(tree.stack([initial_state(make, 10)] * 2))
    how = Training(lr=0.1, epochs=5, batch_size=500)
    ends = []
    for other in (30, 50, 75, 200):
        cohort = [Client(torch.arange(n), (0, 0, n)) for n in (39, other)]
        done = train(w.model, w.x, w.y, cohort, given_, how, engine="stacked")
        ends.append(tree.take(done.states, 0))
    for end in ends[1:]:
        assert all(torch.equal(v, ends[0][n]) for n, v in end.items())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["mlp", "mlp, batch norm, dropout"])
def test_inputs_and_global_generators_are_left_alone(name, engine):
    model, x, y, cohort, given_ = problem(name, UNEQUAL)
    start = given_.start
    model.eval()
    kept = copy.deepcopy((model.state_dict(), x, y, [c.indices for c in cohort], start))
    generator = torch.get_rng_state()
    train(model, x, y, cohort, given_, ROUND, engine=engine)
    now = (model.state_dict(), x, y, [c.indices for c in cohort], start)
    assert all(torch.equal(kept[0][n], now[0][n]) for n in kept[0])
    assert torch.equal(kept[1], x) and torch.equal(kept[2], y)
    assert all(torch.equal(a, b) for a, b in zip(kept[3], now[3], strict=True))
    assert all(torch.equal(kept[4][n], start[n]) for n in start)
    assert not any(m.training for m in model.modules())
    assert torch.equal(torch.get_rng_state(), generator)


# -- randomness comes from (seed, round, client) -----------------------------------


def test_a_batch_order_visits_everyone_once_an_epoch():
    training = Training(epochs=3, batch_size=4)
    client = Client(torch.arange(100, 110), (0, 0, 0))
    order = batch_order(client, training)
    assert [len(i) for i in order] == [4, 4, 2] * 3
    epochs = torch.cat(order).reshape(3, 10)
    assert (epochs.sort(1).values == client.indices).all()
    assert len({tuple(e.tolist()) for e in epochs}) == 3


@given(
    n=st.integers(0, 40), size=st.integers(1, 12), epochs=st.integers(0, 3),
    drop_last=st.booleans(),
)  # fmt: skip
def test_mini_batches_are_whole_or_what_is_left(n, size, epochs, drop_last):
    training = Training(epochs=epochs, batch_size=size, drop_last=drop_last)
    order = batch_order(Client(torch.arange(n), (1, 2, 3)), training)
    whole, rest = divmod(n, size)
    epoch = [size] * whole + [rest] * (rest > 0 and not drop_last)
    assert [len(i) for i in order] == epoch * epochs


def test_seed_round_and_client_each_change_the_order_and_the_dropout():
    keys = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (0, 1, 1)]
    orders = {
        tuple(torch.cat(batch_order(Client(torch.arange(50), k), Training())).tolist())
        for k in keys
    }
    assert len(orders) == len(keys)
    marks = {derive_seed(*k, word) for k in keys for word in (0, 1)}
    assert len(marks) == 2 * len(keys)
    assert all(0 <= m < 2**63 for m in marks)


@pytest.mark.parametrize("engine", ENGINES)
def test_clients_drop_out_apart_and_every_step_anew(engine):
    """Same data, same start, and lr so small that only the masks differ."""
    make = build("mlp", (1, 4, 4), CLASSES, hidden=(200,), dropout=0.5)
    x, y = torch.ones(8, 1, 4, 4), torch.zeros(8, dtype=torch.int64)
    begin = tree.repeat(initial_state(make, 0), 3)
    seen: list[tuple[int, torch.Tensor]] = []

    def spy(net, params, batch, given):
        out = net(params, batch.x)
        if engine == "looped":
            seen.append((given.state["who"].item(), out.detach()))
        return batch.mean(out.square().sum(1))

    training = Training(lr=1e-9, epochs=2, batch_size=8)
    clients = [Client(torch.arange(8), (0, 0, k)) for k in (0, 1, 0)]
    given_ = ClientInput(begin, {"who": torch.arange(3)})
    got = train(make(), x, y, clients, given_, training, Rule(spy), engine=engine)
    assert got.loss[0] == got.loss[2] != got.loss[1]
    if engine == "looped":
        mine = {k: [out for of, out in seen if of == k] for k in range(3)}
        assert torch.equal(mine[0][0], mine[2][0])
        assert not torch.equal(mine[0][0], mine[0][1])
        assert not torch.equal(mine[0][0], mine[1][0])
