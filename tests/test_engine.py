"""The engine: every trap of training many clients at once, each with its own test.

Three ways of training must agree: stacked, looped, and `ordinary`, a plain loop around
`torch.optim.SGD` and PyTorch's own layers. Most comparisons are in double precision,
where a difference is a mistake and not a rounding.
"""

import copy
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from fedlab_core import Local, build, models, tree
from fedlab_core.engine import (
    Batch,
    Client,
    Trained,
    batch_order,
    choose_engine,
    cross_entropy,
    derive_seed,
    train,
)
from fedlab_core.errors import InputError
from fedlab_core.models import BatchNorm, Dropout, Split, initial_state

CLASSES, SAMPLES = 4, 120
ENGINES = ("stacked", "looped")


def small_cnn(shape, classes):
    features = nn.Sequential(
        nn.Conv2d(shape[0], 3, 3),
        BatchNorm(3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
    )
    width = 3 * ((shape[1] - 2) // 2) * ((shape[2] - 2) // 2)
    return Split(features, nn.Linear(width, classes))


NETS = {
    "mlp": ((1, 4, 4), {"hidden": (7,)}),
    "mlp, batch norm, dropout": (
        (1, 4, 4),
        {"hidden": (7, 6), "batch_norm": True, "dropout": 0.3},
    ),
    "small cnn": ((2, 6, 6), {}),
    "disco cnn": ((1, 16, 16), {}),
}


def network(name: str):
    shape, options = NETS[name]
    if name == "small cnn":
        return lambda: small_cnn(shape, CLASSES)
    return build(name.split(",")[0].replace(" ", "_"), shape, CLASSES, **options)


def problem(name: str, sizes, dtype=torch.float64, seed: int = 0, t: int = 0):
    """A network, data, clients of those sizes, and a different start for each."""
    make = network(name)
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(SAMPLES, *NETS[name][0], generator=g).to(dtype)
    y = torch.randint(CLASSES, (SAMPLES,), generator=g)
    cohort = [
        Client(torch.randperm(SAMPLES, generator=g)[:n], (seed, t, k))
        for k, n in enumerate(sizes)
    ]
    starts = [initial_state(make, 10 + k) for k in range(len(sizes))]
    start = tree.tree_map(lambda v: v.to(dtype), tree.stack(starts))
    return make().to(dtype), x, y, cohort, start


def assert_same(a: Trained, b: Trained, tolerance: float):
    assert a.states.keys() == b.states.keys()
    assert a.steps.tolist() == b.steps.tolist()
    torch.testing.assert_close(a.loss, b.loss.to(a.loss), rtol=1e-5, atol=1e-6)
    for name, v in a.states.items():
        w = b.states[name]
        gap = float((v - w).abs().max()) / max(float(w.abs().max()), 1e-3)
        assert gap < tolerance, f"{name} differs by {gap}"


def assert_same_bits(a: Trained, b: Trained):
    assert a.steps.tolist() == b.steps.tolist() and torch.equal(a.loss, b.loss)
    assert all(torch.equal(v, b.states[n]) for n, v in a.states.items())


def pick(trained: Trained, rows) -> Trained:
    states = tree.take(trained.states, rows)
    return Trained(states, trained.loss[rows], trained.steps[rows])


# -- the plain loop ----------------------------------------------------------------


def with_pytorchs_norms(module: nn.Module, x: torch.Tensor) -> nn.Module:
    """A copy in which our BatchNorm is PyTorch's own."""
    own = copy.deepcopy(module)
    for parent in list(own.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, BatchNorm):
                kind = (
                    nn.BatchNorm2d if x.ndim == 4 and _after_conv(own, child) else None
                )
                fresh = (kind or nn.BatchNorm1d)(len(child.weight))
                setattr(parent, name, fresh.to(x.dtype))
    return own


def _after_conv(net: nn.Module, norm: nn.Module) -> bool:
    return any(isinstance(m, nn.Conv2d) for m in net.modules())


def ordinary(model, x, y, cohort, start, local: Local, penalty=None) -> Trained:
    """One client after another with torch.optim.SGD, batches in the engine's order."""
    states, losses, steps = [], [], []
    for k, client in enumerate(cohort):
        net, first = with_pytorchs_norms(model, x), tree.take(start, k)
        net.load_state_dict(first, strict=False)
        net.train()
        sgd = torch.optim.SGD(
            net.parameters(),
            lr=local.lr,
            momentum=local.momentum,
            weight_decay=local.weight_decay,
        )
        mark, seen = derive_seed(*client.key, 1), []
        for step, (at, weight) in enumerate(
            zip(*batch_order(client, local), strict=True)
        ):
            i = client.indices[at[weight > 0]]
            for m in net.modules():
                if isinstance(m, Dropout):
                    m.key = torch.tensor(mark ^ step)
            loss = F.cross_entropy(net(x[i]), y[i])
            if penalty:
                loss = loss + penalty(dict(net.named_parameters()), first)
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            seen.append(loss.detach())
        states.append({n: net.state_dict()[n] for n in first})
        losses.append(torch.stack(seen).mean() if seen else torch.zeros(()).to(x))
        steps.append(len(seen))
    return Trained(tree.stack(states), torch.stack(losses), torch.tensor(steps))


CHOICES = {
    "sizes": st.lists(st.integers(0, 23), min_size=1, max_size=5),
    "batch_size": st.integers(1, 9),
    "epochs": st.integers(0, 3),
    "momentum": st.sampled_from([0.0, 0.9]),
    "weight_decay": st.sampled_from([0.0, 0.1]),
    "drop_last": st.booleans(),
}


@pytest.mark.parametrize("name", NETS)
@settings(max_examples=25)
@given(**CHOICES)
def test_stacked_looped_and_an_ordinary_loop_agree(name, sizes, **choices):
    local = Local(lr=0.05, **choices)
    if name == "disco cnn":  # the slow one: fewer steps do
        sizes, local = sizes[:3], replace(local, batch_size=max(local.batch_size, 4))
    given_ = problem(name, sizes)
    stacked = train(*given_, local, engine="stacked")
    looped = train(*given_, local, engine="looped")
    assert_same(stacked, looped, 1e-9)
    assert stacked.steps.tolist() == [local.steps(n) for n in sizes]
    # PyTorch's BatchNorm1d refuses a mini-batch of one sample
    ones = any(n % local.batch_size == 1 for n in sizes) and not local.drop_last
    normed = any(isinstance(m, BatchNorm) for m in given_[0].modules())
    if not (normed and (ones or local.batch_size == 1)):
        assert_same(looped, ordinary(*given_, local), 1e-5)


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_round_in_single_precision_is_within_a_hundred_thousandth(name, engine):
    local = Local(lr=0.02, epochs=2, batch_size=8, momentum=0.9, weight_decay=1e-3)
    given_ = problem(name, [30, 19, 8, 3], torch.float32)
    got = train(*given_, local, engine=engine)
    assert_same(got, ordinary(*given_, local), 1e-5)
    assert all(v.dtype == torch.float32 for v in got.states.values())


# -- unequal clients ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["mlp", "mlp, batch norm, dropout"])
def test_a_finished_client_rests_while_others_go_on(name):
    """One short client beside a long one: no step, no momentum, no decay after."""
    local = Local(lr=0.1, epochs=3, batch_size=4, momentum=0.9, weight_decay=0.2)
    model, x, y, cohort, start = problem(name, [4, 60])
    together = train(model, x, y, cohort, start, local, engine="stacked")
    assert together.steps.tolist() == [3, 45]
    for k in (0, 1):
        alone = train(
            model, x, y, [cohort[k]], tree.take(start, [k]), local, engine="stacked"
        )
        assert_same(pick(together, [k]), alone, 1e-10)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_client_without_a_whole_batch_returns_its_start(engine):
    local = Local(lr=0.1, epochs=2, batch_size=8, momentum=0.9, drop_last=True)
    model, x, y, cohort, start = problem("mlp, batch norm, dropout", [7, 0, 16])
    got = train(model, x, y, cohort, start, local, engine=engine)
    assert got.steps.tolist() == [0, 0, 4] and got.loss[:2].tolist() == [0, 0]
    for name, v in got.states.items():
        assert torch.equal(v[:2], start[name][:2])
    assert not torch.equal(got.states["head.weight"][2], start["head.weight"][2])


@pytest.mark.parametrize("engine", ENGINES)
def test_nobody_has_a_step(engine):
    model, x, y, cohort, start = problem("mlp", [5, 3])
    got = train(model, x, y, cohort, start, Local(epochs=0), engine=engine)
    assert got.steps.tolist() == [0, 0]
    assert all(torch.equal(v, start[n]) for n, v in got.states.items())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_short_last_batch_counts_by_its_own_size(engine):
    """5 samples in batches of 4, one layer, one epoch: two steps written out."""
    x = torch.randn(5, 1, 1, 2, dtype=torch.float64)
    y = torch.tensor([0, 1, 1, 0, 1])
    model = build("mlp", (1, 1, 2), 2, hidden=())().double()
    client, local = Client(torch.arange(5), (0, 0, 0)), Local(lr=0.5, batch_size=4)
    start = {n: v.detach()[None] for n, v in model.state_dict().items()}
    w, b = (start[f"head.{n}"][0].clone() for n in ("weight", "bias"))
    order = batch_order(client, local)[0]
    for i in (order[0], order[1, :1]):
        flat = x[i].flatten(1)
        slope = (flat @ w.T + b).softmax(1) - F.one_hot(y[i], 2)
        w, b = w - 0.5 * slope.T @ flat / len(i), b - 0.5 * slope.mean(0)
    got = train(model, x, y, [client], start, local, engine=engine)
    torch.testing.assert_close(got.states["head.weight"][0], w)
    torch.testing.assert_close(got.states["head.bias"][0], b)


# -- nothing else matters ----------------------------------------------------------

ROUND = Local(lr=0.05, epochs=2, batch_size=8, momentum=0.9, weight_decay=0.01)
UNEQUAL = [30, 8, 19, 30, 5, 16]


@pytest.fixture(params=[1, 2], ids=["1 thread", "2 threads"])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("largest", [256, 2])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", NETS)
def test_same_bits_again_and_whatever_the_cohorts_order(threads, name, engine, largest):
    how = {"engine": engine, "largest": largest}
    model, x, y, cohort, start = problem(name, UNEQUAL, torch.float32)
    first = train(model, x, y, cohort, start, ROUND, **how)
    assert_same_bits(first, train(model, x, y, cohort, start, ROUND, **how))
    for order in ([5, 4, 3, 2, 1, 0], [2, 0, 5, 1, 4, 3]):
        shuffled = [cohort[k] for k in order]
        got = train(model, x, y, shuffled, tree.take(start, order), ROUND, **how)
        assert_same_bits(got, pick(first, order))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("largest", [1, 2, 4])
def test_a_cohort_that_does_not_fit_is_split(engine, largest):
    given_ = problem("mlp, batch norm, dropout", UNEQUAL, torch.float32)
    whole = train(*given_, ROUND, engine=engine)
    assert_same(train(*given_, ROUND, engine=engine, largest=largest), whole, 1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_client_does_not_depend_on_who_else_is_there(engine):
    model, x, y, cohort, start = problem("mlp, batch norm, dropout", UNEQUAL)
    whole = train(model, x, y, cohort, start, ROUND, engine=engine)
    some = [4, 1, 3]
    part = train(
        model, x, y, [cohort[k] for k in some], tree.take(start, some), ROUND,
        engine=engine,
    )  # fmt: skip
    assert_same(part, pick(whole, some), 1e-10)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["mlp", "mlp, batch norm, dropout"])
def test_inputs_and_global_generators_are_left_alone(name, engine):
    model, x, y, cohort, start = problem(name, UNEQUAL)
    model.eval()
    kept = copy.deepcopy((model.state_dict(), x, y, [c.indices for c in cohort], start))
    generator = torch.get_rng_state()
    train(model, x, y, cohort, start, ROUND, engine=engine)
    now = (model.state_dict(), x, y, [c.indices for c in cohort], start)
    assert all(torch.equal(kept[0][n], now[0][n]) for n in kept[0])
    assert torch.equal(kept[1], x) and torch.equal(kept[2], y)
    assert all(torch.equal(a, b) for a, b in zip(kept[3], now[3], strict=True))
    assert all(torch.equal(kept[4][n], start[n]) for n in start)
    assert not any(m.training for m in model.modules())
    assert torch.equal(torch.get_rng_state(), generator)


# -- randomness comes from (seed, round, client) -----------------------------------


def test_a_batch_order_visits_everyone_once_an_epoch():
    local = Local(epochs=3, batch_size=4)
    client = Client(torch.arange(100, 110), (0, 0, 0))
    order, weight = batch_order(client, local)
    assert order.shape == weight.shape == (9, 4) and local.steps(10) == 9
    epochs = order.reshape(3, 12)[:, :10]
    assert (epochs.sort(1).values == torch.arange(10)).all()
    assert len({tuple(e.tolist()) for e in epochs}) == 3
    want = torch.tensor([[0.25] * 4, [0.25] * 4, [0.5, 0.5, 0, 0]] * 3)
    assert torch.equal(weight, want)


@given(
    n=st.integers(0, 40), size=st.integers(1, 12), epochs=st.integers(0, 3),
    drop_last=st.booleans(),
)  # fmt: skip
def test_steps_are_as_announced_and_weights_sum_to_one(n, size, epochs, drop_last):
    local = Local(epochs=epochs, batch_size=size, drop_last=drop_last)
    order, weight = batch_order(Client(torch.arange(n), (1, 2, 3)), local)
    assert len(order) == len(weight) == local.steps(n)
    torch.testing.assert_close(weight.sum(1), torch.ones(len(weight)))
    if drop_last:
        assert (weight > 0).all()
    else:
        assert int((weight > 0).sum()) == epochs * n


def test_seed_round_and_client_each_change_the_order_and_the_dropout():
    keys = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (0, 1, 1)]
    orders = {
        tuple(batch_order(Client(torch.arange(50), k), Local())[0].flatten().tolist())
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
    seen: list[torch.Tensor] = []

    def spy(net, params, batch, start):
        out = net(params, batch.x)
        if engine == "looped":
            seen.append(out.detach())
        return batch.mean(out.square().sum(1))

    local = Local(lr=1e-9, epochs=2, batch_size=8, loss=spy)
    clients = [Client(torch.arange(8), (0, 0, k)) for k in (0, 1, 0)]
    got = train(make(), x, y, clients, begin, local, engine=engine)
    assert got.loss[0] == got.loss[2] != got.loss[1]
    # clients are trained in the order of their keys, two steps each
    for a, b in ((0, 1), (0, 4), (4, 5)) if seen else ():
        assert not torch.equal(seen[a], seen[b])


# -- rules other than FedAvg's -----------------------------------------------------


def proximal(net, params, batch: Batch, start):
    """FedProx with mu = 0.3: it needs what the client started from."""
    far = sum(((w - start[n]) ** 2).sum() for n, w in params.items())
    return cross_entropy(net, params, batch, start) + 0.15 * far


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["mlp", "mlp, batch norm, dropout"])
def test_a_rule_may_look_back_at_its_start(name, engine):
    local = replace(ROUND, loss=proximal)
    given_ = problem(name, UNEQUAL)
    want = ordinary(
        *given_,
        ROUND,
        penalty=lambda now, begun: (
            0.15 * sum(((w - begun[n]) ** 2).sum() for n, w in now.items())
        ),
    )
    got = train(*given_, local, engine=engine)
    assert_same(got, want, 1e-5)
    plain = train(*given_, ROUND, engine=engine)
    gap = (got.states["head.weight"] - plain.states["head.weight"]).abs().max()
    assert gap > 1e-3  # the term is not idle


@pytest.mark.parametrize("engine", ENGINES)
def test_a_rule_may_run_the_network_on_its_start(engine):
    """Distillation from the start: a second pass with other parameters."""

    def distil(net, params, batch, start):
        gap = (net(params, batch.x) - net(start, batch.x)).square().sum(1)
        return cross_entropy(net, params, batch, start) + batch.mean(gap)

    model, x, y, cohort, start = problem("mlp", [9, 12])
    got = train(model, x, y, cohort, start, replace(ROUND, loss=distil), engine=engine)
    for k, client in enumerate(cohort):
        net, old = copy.deepcopy(model), copy.deepcopy(model)
        net.load_state_dict(tree.take(start, k))
        old.load_state_dict(tree.take(start, k))
        sgd = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9, weight_decay=0.01)
        for at, weight in zip(*batch_order(client, ROUND), strict=True):
            i = client.indices[at[weight > 0]]
            gap = (net(x[i]) - old(x[i]).detach()).square().sum(1).mean()
            sgd.zero_grad()
            (F.cross_entropy(net(x[i]), y[i]) + gap).backward()
            sgd.step()
        for n, w in net.named_parameters():
            torch.testing.assert_close(
                got.states[n][k], w.detach(), rtol=1e-5, atol=1e-7
            )


def test_the_mean_of_a_batch_leaves_padding_out():
    batch = Batch(torch.zeros(3, 1), torch.zeros(3), torch.tensor([0.5, 0.5, 0.0]))
    assert batch.mean(torch.tensor([1.0, 3.0, 100.0])) == 2


# -- misuse, and which engine ------------------------------------------------------

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "choices, message",
    [
        *(({"lr": v}, "lr must be a finite number above 0") for v in (0, -1, NAN, INF)),
        *(({"momentum": v}, r"momentum must be in \[0, 1\)") for v in (-0.1, 1, NAN)),
        *(({"weight_decay": v}, "weight_decay must be 0 or") for v in (-1, NAN, INF)),
        ({"epochs": -1}, "epochs must be 0 or more"),
        ({"batch_size": 0}, "batch_size must be 1 or more"),
    ],
)
def test_local_refuses_what_cannot_train(choices, message):
    with pytest.raises(InputError, match=message):
        Local(**choices)


def test_train_refuses_misuse():
    model, x, y, cohort, start = problem("mlp", [5])
    with pytest.raises(InputError, match="unknown engine 'fast': choose from auto"):
        train(model, x, y, cohort, start, Local(), engine="fast")
    with pytest.raises(InputError, match="at least one client"):
        train(model, x, y, [], start, Local())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("layer", [nn.Dropout(0.5), nn.BatchNorm1d(16)])
def test_layers_that_cannot_keep_the_promise_are_refused(layer, engine):
    """PyTorch's own draw from the global generator, or write in place."""
    make = lambda: Split(nn.Sequential(nn.Flatten(), layer), nn.Linear(16, 2))  # noqa: E731
    start = tree.stack([initial_state(make, 0)])
    with pytest.raises(InputError, match=f"{type(layer).__name__}.*fedlab_core.models"):
        train(
            make(), torch.randn(4, 1, 4, 4), torch.zeros(4, dtype=torch.int64),
            [Client(torch.arange(4), (0, 0, 0))], start, Local(), engine=engine,
        )  # fmt: skip


@pytest.mark.parametrize(
    "name, shape, clients, chosen",
    [
        ("mlp", (1, 28, 28), 2, "stacked"),
        ("mlp", (1, 28, 28), 1, "looped"),
        ("disco_cnn", (3, 32, 32), 10, "looped"),
        ("disco_cnn", (1, 16, 16), 10, "stacked"),
    ],
)
def test_the_engine_is_chosen_by_the_measured_rule(name, shape, clients, chosen):
    model = build(name, shape, 10)()
    assert choose_engine(model, clients, torch.zeros(1, *shape)) == chosen


def test_auto_uses_the_chosen_engine(monkeypatch):
    from fedlab_core import engine

    used = []
    for name, of in dict(engine._ENGINES).items():
        monkeypatch.setitem(
            engine._ENGINES, name, lambda *a, n=name, f=of: (used.append(n), f(*a))[1]
        )
    given_ = problem("mlp", [5, 6])
    train(*given_, Local())
    model, x, y, cohort, start = problem("mlp", [5])
    train(model, x, y, cohort, start, Local())
    assert used == ["stacked", "looped"]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", NETS)
def test_a_gpu_gives_the_cpus_numbers_and_the_same_bits_again(name, engine):
    model, x, y, cohort, start = problem(name, UNEQUAL)
    want = train(model, x, y, cohort, start, ROUND, engine=engine)
    start = tree.tree_map(torch.Tensor.cuda, start)
    given_ = (model.cuda(), x.cuda(), y.cuda(), cohort, start)
    got = train(*given_, ROUND, engine=engine)
    assert_same_bits(got, train(*given_, ROUND, engine=engine))
    back = Trained(
        tree.tree_map(torch.Tensor.cpu, got.states), got.loss.cpu(), got.steps
    )
    assert_same(back, want, 1e-8)


def test_every_net_of_the_book_is_compared_here():
    assert {n.split(",")[0].replace(" ", "_") for n in NETS} >= set(models.MODELS)
