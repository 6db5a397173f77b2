"""A client's round as programs, under everything that its training may be told."""

from dataclasses import replace

import pytest
import torch
from torch import nn

import fedlab_core as fl
from fedlab_browser.tracing import trace
from fedlab_core import Rule, Training, build
from fedlab_core.client import Decay, cross_entropy
from fedlab_core.engine import cohort, train
from fedlab_core.errors import InputError
from fedlab_core.keys import fold, normal, uniform
from tests.engine_cases import UNEQUAL, assert_same, problem
from tests.tracing.test_methods import NEAR
from tests.tracing.trained import train_traced

FEW = [9, 12, 5]


def both(given, training, rule, monkeypatch):
    """The results of training, by programs and by loops."""
    model, x, y, clients, begun = given
    given = model, x, y, clients, begun, training, rule
    looped = train(*given, engine="looped")
    ran = []
    with monkeypatch.context() as patch:
        patch.setattr(
            cohort, "train_looped", lambda *g: ran.append(1) or train_traced(*g)
        )
        traced = train(*given, engine="looped")
    assert ran
    return traced, looped


TRAININGS = {
    "plain": Training(lr=0.1, epochs=2, batch_size=4),
    "momentum": Training(lr=0.1, epochs=2, batch_size=4, momentum=0.9),
    "velocity kept": Training(lr=0.1, batch_size=4, momentum=0.9, keep_velocity=True),
    "decay": Training(lr=0.1, epochs=2, batch_size=4, weight_decay=0.01),
    "clipped": Training(lr=0.1, epochs=2, batch_size=4, clip=0.5),
    "clipped, momentum": Training(lr=0.1, batch_size=4, clip=0.5, momentum=0.5),
    "rmsprop": Training(lr=0.01, epochs=2, batch_size=4, rmsprop=0.9),
    "scheduled": Training(lr=0.1, epochs=3, batch_size=4, schedule=Decay(0.5)),
    "no short batch": Training(lr=0.1, epochs=2, batch_size=4, drop_last=True),
    "capped": Training(lr=0.1, epochs=5, batch_size=4, cap=3),
    "iterations": Training(lr=0.1, iterations=(2, 6), batch_size=4),
    "all at once": Training(lr=0.1, epochs=3, batch_size=64),
    "no step": Training(lr=0.1, epochs=0, batch_size=4),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAININGS)
def test_training_is_what_it_is_told_to_be(name, monkeypatch):
    given = problem("mlp", FEW, torch.float32)
    traced, looped = both(given, TRAININGS[name], Rule(cross_entropy), monkeypatch)
    assert_same(traced, looped, NEAR)
    torch.testing.assert_close(traced.loss, looped.loss, rtol=1e-5, atol=1e-6)
    assert traced.kept.keys() == looped.kept.keys()
    for n, v in looped.kept.items():
        torch.testing.assert_close(traced.kept[n], v, rtol=1e-5, atol=1e-6)
    assert torch.equal(traced.steps, looped.steps)


@pytest.mark.slow
@pytest.mark.parametrize("statistics", ["average", "local"])
def test_batch_norm_and_dropout_are_traced(statistics, monkeypatch):
    given = problem("mlp, batch norm, dropout", UNEQUAL[:3], torch.float32)
    training = Training(lr=0.05, epochs=2, batch_size=4, statistics=statistics)
    traced, looped = both(given, training, Rule(cross_entropy), monkeypatch)
    assert_same(traced, looped, 1e-5)


@pytest.mark.slow
def test_what_a_loss_draws_is_handed_in(monkeypatch):
    """Noise by the batch's key: the same noise, and the key is of each step."""

    def noisy(net, params, batch, given):
        noise = normal(fold(batch.key, 7), batch.x[0].numel())
        keep = uniform(fold(fold(batch.key, 8), 3), len(batch.x)) > 0.2
        x = batch.x + 0.1 * noise.view(batch.x[0].shape).to(batch.x)
        each = -net(params, x).log_softmax(1).gather(1, batch.y[:, None])[:, 0]
        return batch.mean(each * keep)

    given = problem("mlp", FEW, torch.float32)
    traced, looped = both(given, TRAININGS["plain"], Rule(noisy), monkeypatch)
    assert_same(traced, looped, NEAR)
    plain = train(*given, TRAININGS["plain"], engine="looped")
    gap = (plain.states["head.weight"] - traced.states["head.weight"]).abs().max()
    assert gap > 1e-3


def by_a_number(net, params, batch, given):
    loss = cross_entropy(net, params, batch, given)
    return loss if loss > 1 else 2 * loss


def by_item(net, params, batch, given):
    return cross_entropy(net, params, batch, given) * params["head.bias"].sum().item()


def from_nowhere(net, params, batch, given):
    elsewhere = torch.zeros_like(batch.key)
    fold(batch.key, 1)
    noise = normal(elsewhere, len(batch.x))
    return cross_entropy(net, params, batch, given) * noise.mean()


def by_its_own_step(net, params, batch, given):
    key = fold(batch.key, batch.y[0])
    return cross_entropy(net, params, batch, given) * uniform(key, 1).mean()


def inverse(net, params, batch, given):
    w = params["head.weight"]
    square = w @ w.T + torch.eye(len(w))
    return cross_entropy(net, params, batch, given) + torch.linalg.det(square)


@pytest.mark.parametrize(
    "loss, says",
    [
        (by_a_number, "the rule by_a_number cannot be traced: it looks at a number"),
        (by_item, "the rule by_item cannot be traced: it looks at a number"),
        (from_nowhere, "what is drawn has a key that is not folded from the batch"),
        (by_its_own_step, "what is drawn has a key that is not known beforehand"),
        (inverse, r"the rule inverse cannot be traced: it needs aten\.\S+, which prog"),
    ],
)
def test_what_cannot_be_a_program_is_refused(loss, says, small_world):
    method = replace(fl.fedavg(Training(batch_size=4)), rule=Rule(loss))
    found = trace(method, small_world, [2])
    assert "client" not in found.clients
    with pytest.raises(InputError, match=says):
        raise InputError(found.refused["client"])


class Odd(nn.Module):
    """A network with an operation of its own."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        return self.head(torch.sort(x.flatten(1), dim=1).values[:, :8])


@pytest.mark.slow
def test_a_network_that_programs_cannot_run_is_named(small_data):
    who = fl.iid(small_data.y_train, 3)
    for make, what in [
        (Odd, "sort"),
        (build("lenet", small_data.shape, 10), "convolution"),
    ]:
        found = trace(fl.fedavg(), fl.world(small_data, who, make), [2])
        assert what in found.refused["client"] and what in found.refused["judge"]
        assert found.members["weigh"], "the rest is traced all the same"
