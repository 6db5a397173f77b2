"""The engine: rules other than FedAvg's, misuse, and which engine is chosen."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from fedlab_core import ClientInput, Rule, Training, build, tree
from fedlab_core.client.rule import Batch, cross_entropy
from fedlab_core.engine import Client, batch_order, choose_engine, train
from fedlab_core.errors import InputError
from fedlab_core.models import Split, initial_state
from tests.engine_cases import ENGINES, ROUND, UNEQUAL, assert_same, ordinary, problem

# -- rules other than FedAvg's -----------------------------------------------------


def proximal(net, params, batch: Batch, given):
    """FedProx with mu = 0.3: it needs what the client started from."""
    far = sum(((w - given.start[n]) ** 2).sum() for n, w in params.items())
    return cross_entropy(net, params, batch, given) + 0.15 * far


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["mlp", "mlp, batch norm, dropout"])
def test_a_rule_may_look_back_at_its_start(name, engine):
    given_ = problem(name, UNEQUAL)
    want = ordinary(
        *given_,
        ROUND,
        penalty=lambda now, begun: (
            0.15 * sum(((w - begun[n]) ** 2).sum() for n, w in now.items())
        ),
    )
    got = train(*given_, ROUND, Rule(proximal), engine=engine)
    assert_same(got, want, 1e-5)
    plain = train(*given_, ROUND, engine=engine)
    gap = (got.states["head.weight"] - plain.states["head.weight"]).abs().max()
    assert gap > 1e-3  # the term is not idle


@pytest.mark.parametrize("engine", ENGINES)
def test_a_rule_may_run_the_network_on_its_start(engine):
    """Distillation from the start: a second pass with other parameters."""

    def distil(net, params, batch, given):
        gap = (net(params, batch.x) - net(given.start, batch.x)).square().sum(1)
        return cross_entropy(net, params, batch, given) + batch.mean(gap)

    model, x, y, cohort, given_ = problem("mlp", [9, 12])
    start = given_.start
    got = train(model, x, y, cohort, given_, ROUND, Rule(distil), engine=engine)
    for k, client in enumerate(cohort):
        net, old = copy.deepcopy(model), copy.deepcopy(model)
        net.load_state_dict(tree.take(start, k))
        old.load_state_dict(tree.take(start, k))
        sgd = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9, weight_decay=0.01)
        for i in batch_order(client, ROUND):
            gap = (net(x[i]) - old(x[i]).detach()).square().sum(1).mean()
            sgd.zero_grad()
            (F.cross_entropy(net(x[i]), y[i]) + gap).backward()
            sgd.step()
        for n, w in net.named_parameters():
            torch.testing.assert_close(
                got.states[n][k], w.detach(), rtol=1e-5, atol=1e-7
            )


def test_the_mean_of_a_batch_leaves_padding_out():
    weight = torch.tensor([0.5, 0.5, 0.0])
    batch = Batch(torch.zeros(3, 1), torch.zeros(3), weight, torch.tensor(0))
    assert batch.mean(torch.tensor([1.0, 3.0, 100.0])) == 2


# -- misuse, and which engine ------------------------------------------------------

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "choices, message",
    [
        *(({"lr": v}, "lr must be a number above 0") for v in (0, -1, NAN, INF)),
        *(
            ({"momentum": v}, r"momentum must be a number of 0 or more and below 1")
            for v in (-0.1, 1, NAN)
        ),
        *(
            ({"weight_decay": v}, "weight_decay must be a number of 0 or more")
            for v in (-1, NAN, INF)
        ),
        ({"epochs": -1}, "epochs must be a whole number of 0 or more"),
        ({"batch_size": 0}, "batch_size must be a whole number of 1 or more"),
    ],
)
def test_training_refuses_what_cannot_train(choices, message):
    with pytest.raises(InputError, match=message):
        Training(**choices)


def test_train_refuses_misuse():
    model, x, y, cohort, given_ = problem("mlp", [5])
    with pytest.raises(InputError, match="engine must be auto, looped or stacked"):
        train(model, x, y, cohort, given_, Training(), engine="fast")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least one client"):
        train(model, x, y, [], given_, Training())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("layer", [nn.Dropout(0.5), nn.BatchNorm1d(16)])
def test_layers_that_cannot_keep_the_promise_are_refused(layer, engine):
    """PyTorch's own draw from the global generator, or write in place."""
    make = lambda: Split(nn.Sequential(nn.Flatten(), layer), nn.Linear(16, 2))  # noqa: E731
    start = tree.stack([initial_state(make, 0)])
    with pytest.raises(InputError, match=f"{type(layer).__name__}.*models.layers"):
        train(
            make(), torch.randn(4, 1, 4, 4), torch.zeros(4, dtype=torch.int64),
            [Client(torch.arange(4), (0, 0, 0))], ClientInput(start), Training(),
            engine=engine,
        )  # fmt: skip


@pytest.mark.parametrize(
    "name, shape, options, clients, chosen",
    [
        ("mlp", (1, 28, 28), {}, 2, "stacked"),
        ("mlp", (1, 28, 28), {}, 1, "looped"),
        ("mlp", (1, 28, 28), {"hidden": (200, 200)}, 2, "stacked"),
        ("mlp", (1, 28, 28), {"hidden": (300, 300)}, 2, "looped"),
        ("disco_cnn", (3, 32, 32), {}, 10, "looped"),
        ("disco_cnn", (1, 16, 16), {}, 10, "stacked"),
    ],
)
def test_the_engine_is_chosen_by_the_measured_rule(
    name, shape, options, clients, chosen
):
    model = build(name, shape, 10, **options)()
    assert choose_engine(model, clients, torch.zeros(1, *shape)) == chosen


def test_auto_uses_the_chosen_engine(monkeypatch):
    from fedlab_core.engine import cohort as at

    used = []
    stage, loop = at.StackedCohort, at.train_looped
    monkeypatch.setattr(
        at, "StackedCohort", lambda *a: (used.append("stacked"), stage(*a))[1]
    )
    monkeypatch.setattr(
        at, "train_looped", lambda *a: (used.append("looped"), loop(*a))[1]
    )
    train(*problem("mlp", [5, 6]), Training())
    train(*problem("mlp", [5]), Training())
    assert used == ["stacked", "looped"]
