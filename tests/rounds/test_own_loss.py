"""Worlds with a loss and a metric of their own: numbers, several labels, one logit."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import r2_score, roc_auc_score
from torch import nn
from torch.nn import functional as F

import fedlab_core as fl
from fedlab_core.engine import batch_order
from fedlab_core.engine.plan import Client
from fedlab_core.keys import derive_seed
from fedlab_core.models import Split, initial_state
from fedlab_core.rounds.checkpoint import fingerprint

ENGINES = ["looped", "stacked"]
LOCAL = fl.Training(lr=0.05, epochs=2, batch_size=8)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 6)).astype(np.float32)
SLOPES = RNG.normal(size=(6, 3))
NUMBERS = (X @ SLOPES + 0.3 * RNG.normal(size=(240, 3))).astype(np.float32)
TRUTHS = {
    "a number": NUMBERS[:, 0],
    "numbers": NUMBERS,
    "a logit": (NUMBERS[:, 0] > 0).astype(np.float32),
    "several labels": (NUMBERS > 0).astype(np.float32),
}
LOSSES = {"a number": fl.squared, "numbers": fl.squared}
METRICS = {"a number": fl.r2, "numbers": fl.r2}
PLAIN = {"a number": F.mse_loss, "numbers": F.mse_loss}
KINDS = list(TRUTHS)


def net(outputs: int = 1) -> Split:
    return Split(nn.Sequential(nn.Linear(6, 5), nn.Tanh()), nn.Linear(5, outputs))


def data_of(kind: str) -> fl.Dataset:
    y = TRUTHS[kind]
    return fl.dataset(X[:160], y[:160], X[160:], y[160:], numbers=True)


def world_of(kind: str = "a number", **more) -> fl.World:
    data = data_of(kind)
    outputs = 3 if TRUTHS[kind].ndim == 2 else 1
    more = {
        "loss": LOSSES.get(kind, fl.logistic),
        "metric": METRICS.get(kind, fl.auc),
    } | more
    split = fl.dirichlet(data.y_train, 4, 1.0, seed=1)
    return fl.world(data, split, lambda: net(outputs), **more)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_round_is_that_of_an_ordinary_loop(kind, engine):
    """FedAvg by size over clients that each minimise PyTorch's own loss."""
    w = world_of(kind)
    history = fl.federate(w, fl.fedavg(LOCAL), 1, 3, engine=engine, progress=False)
    plain = PLAIN.get(kind, F.binary_cross_entropy_with_logits)
    start, models, sizes = w.make(), [], w.partition.sizes
    start.load_state_dict(initial_state(w.make, derive_seed(3, 0xF1257)))
    for k in range(len(w)):
        model = w.make()
        model.load_state_dict(start.state_dict())
        sgd = torch.optim.SGD(model.parameters(), lr=LOCAL.lr)
        for at in batch_order(Client(w.client(k), (3, 0, k)), LOCAL):
            sgd.zero_grad()
            plain(model(w.x[at]).view_as(w.y[at]), w.y[at]).backward()
            sgd.step()
        models.append(model.state_dict())
    for n, got in history.model().items():
        want = sum(
            float(size) / float(sizes.sum()) * m[n]
            for size, m in zip(sizes, models, strict=True)
        )
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)
    judge = w.make()
    judge.load_state_dict(history.model())
    with torch.no_grad():
        out = judge(w.x_test)
    (row,) = history.rows
    wanted = plain(out.view_as(w.y_test), w.y_test)
    assert row["loss"] == pytest.approx(float(wanted), rel=1e-5)
    score = r2_score if kind in LOSSES else roc_auc_score
    assert history.score() == pytest.approx(score(w.y_test, out), rel=1e-5)


NEED = {
    "feddisco": "it weighs clients by how skewed their classes are",
    "feddf": "it teaches what the models say of each class",
    "fedbe": "it teaches what the models say of each class",
    "fedimpro": "it draws features of each class",
    "fedcollab": "it compares clients' labels",
}


QUICK = {*NEED, "fedprox", "scaffold", "q-fedavg"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n not in QUICK)) for n in fl.METHODS],
)
@pytest.mark.filterwarnings("ignore:.*judges clients' own models")
def test_every_method_takes_it_or_says_why_it_needs_classes(name):
    w = world_of(proxy=fl.Proxy(2))
    method = fl.METHODS[name].make(LOCAL)

    def played(engine: str, w: fl.World = w) -> fl.History:
        return fl.federate(w, method, 2, engine=engine, progress=False)

    if name in NEED:
        with pytest.raises(fl.InputError, match="needs classes: ") as refused:
            played("stacked")
        said = str(refused.value)
        assert NEED[name] in said and said.endswith("this world has a loss of its own")
        return
    stacked, looped = map(played, ENGINES)
    for a, b in zip(stacked.rows, looped.rows, strict=True):
        assert a["r2"] == pytest.approx(b["r2"], abs=1e-4)
        assert a["loss"] == pytest.approx(b["loss"], rel=1e-4)
    other = played("stacked", world_of(loss=absolute, proxy=fl.Proxy(2)))
    assert other.rows[-1]["loss"] != pytest.approx(stacked.rows[-1]["loss"], rel=1e-3)


def absolute(outputs, labels):
    return (outputs[:, 0] - labels).abs()


def largest(outputs, labels):
    return -(outputs.view_as(labels) - labels).abs().max()


def test_a_loss_and_a_metric_of_ones_own_have_their_names():
    w = world_of(loss=absolute, metric=largest)
    h = fl.federate(w, fl.fedavg(LOCAL), 2, progress=False)
    assert h.metric == "largest" and "accuracy" not in h.rows[-1]
    assert h.score("best") == max(row["largest"] for row in h.rows) < 0
    assert "test largest: last -" in repr(h) and "accuracy" not in repr(h)
    with pytest.raises(fl.InputError, match="judged by largest: ask for score"):
        h.accuracy()
    assert world_of(metric=lambda outputs, labels: 1.0).judged_by == "metric"


def test_without_a_metric_the_loss_is_it_and_less_is_better():
    w = world_of(metric=None)
    h = fl.federate(w, fl.fedavg(LOCAL), 3, progress=False)
    assert h.metric == "loss" and "test loss: last " in repr(h)
    assert h.score("best") == min(row["loss"] for row in h.rows)
    assert h.score("best") < h.rows[0]["loss"]


def test_the_history_of_classes_is_as_it_was(small_world):
    h = fl.federate(small_world, fl.fedavg(LOCAL), 1, progress=False)
    assert h.metric == "accuracy" and h.score() == h.accuracy()
    assert list(h.rows[0])[-2:] == ["accuracy", "loss"]


def test_classes_may_be_judged_by_a_metric_too():
    """Their loss stays the cross-entropy; the labels stay whole numbers."""

    def recall(outputs, labels):
        return (outputs.argmax(1) == labels)[labels == 1].double().mean()

    y = (NUMBERS[:, 0] > 0).astype(int)
    data = fl.dataset(X[:160], y[:160], X[160:], y[160:])
    split = fl.iid(data.y_train, 4)
    both = (fl.world(data, split, lambda: net(2), metric=m) for m in (None, recall))
    usual, own = (fl.federate(w, fl.fedavg(LOCAL), 1, progress=False) for w in both)
    assert own.rows[0]["loss"] == pytest.approx(usual.rows[0]["loss"])
    assert 0 < own.rows[0]["recall"] <= 1 and "accuracy" not in own.rows[0]


def test_labels_that_are_classes_are_learnt_as_numbers():
    """A logit of two classes, without targets."""
    y = (NUMBERS[:, 0] > 0).astype(int)
    data = fl.dataset(X[:160], y[:160], X[160:], y[160:])
    more = {"loss": fl.logistic, "metric": fl.auc}
    w = fl.world(data, fl.iid(data.y_train, 4), net, **more)
    h = fl.federate(w, fl.fedavg(LOCAL), 10, progress=False)
    assert w.y.dtype == torch.float32 and h.score() > 0.9


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loss_of_classes_is_given_whole_numbers_and_judged_by_accuracy(engine):
    """Without smoothing it is the cross-entropy, and trains the same."""
    y = (NUMBERS[:, 0] > 0).astype(int)
    data = fl.dataset(X[:160], y[:160], X[160:], y[160:])
    split = fl.iid(data.y_train, 4)

    def played(smooth: float | None) -> fl.History:
        each = nn.CrossEntropyLoss(reduction="none", label_smoothing=smooth or 0.0)
        w = fl.world(data, split, lambda: net(2), loss=None if smooth is None else each)
        return fl.federate(w, fl.fedavg(LOCAL), 2, engine=engine, progress=False)

    usual, none, some = map(played, (None, 0.0, 0.1))
    for a, b in zip(usual.rows, none.rows, strict=True):
        assert a == pytest.approx(b, rel=1e-5)
    assert some.metric == "accuracy" and some.accuracy() > 0.6
    assert some.rows[-1]["loss"] > none.rows[-1]["loss"]


def test_a_module_may_be_the_loss():
    """It does not become a part of the network."""
    huber = nn.HuberLoss(reduction="none", delta=0.5)
    flat = world_of(loss=lambda outputs, y: huber(outputs[:, 0], y))
    assert fl.federate(flat, fl.fedavg(LOCAL), 1, progress=False).score() < 1
    three = world_of("numbers", loss=Rows(huber), metric=fl.r2)
    assert {n for n, _ in three.model.named_modules()} == {
        n for n, _ in net(3).named_modules()
    }
    assert fl.federate(three, fl.fedavg(LOCAL), 1, progress=False).score() < 1


class Rows(nn.Module):
    def __init__(self, each: nn.Module):
        super().__init__()
        self.each = each

    def forward(self, outputs, y):
        return self.each(outputs, y).sum(1)


def test_clients_with_tests_of_their_own_are_judged_by_the_metric_there():
    """One with a single label has no AUC, and is left out of the mean."""
    y = TRUTHS["a logit"][160:]
    places = [np.flatnonzero(y == 1)[:5], np.arange(20), np.arange(20, 50)]
    places.append(np.arange(50, 80))
    w = world_of("a logit", tests=places)
    h = fl.federate(w, fl.fedavg(LOCAL), 2, progress=False)
    assert h.clients is not None and np.isnan(h.clients[0])
    model = w.make()
    model.load_state_dict(h.model())
    with torch.no_grad():
        z = model(w.x_test)[:, 0]
    want = [roc_auc_score(w.y_test[i], z[i]) for i in places[1:]]
    assert h.clients[1:].tolist() == pytest.approx(want)
    row = h.rows[-1]
    assert row["auc"] == pytest.approx(np.mean(want))
    assert row["worst"] == pytest.approx(min(want))
    assert row["spread"] == pytest.approx(np.std(want, ddof=1))
    assert f"worst {min(want):.4f}" in repr(h)
    table = fl.by_client(h, w)
    assert list(table)[-1] == "auc" and table["auc"][1:].tolist() == pytest.approx(want)


def test_runs_of_other_losses_share_no_cohort_and_no_fingerprint():
    worlds = [world_of(), world_of(loss=absolute), world_of(metric=largest)]
    runs = [fl.Run(w, fl.fedavg(LOCAL), 2) for w in worlds]
    together = fl.run_all(runs, progress=False)
    for run, h in zip(runs, together, strict=True):
        (alone,) = fl.run_all([run], progress=False)
        for a, b in zip(h.rows, alone.rows, strict=True):
            assert a == pytest.approx(b, rel=1e-5)
    assert len(set(map(fingerprint, runs))) == 3
    assert fingerprint(fl.Run(world_of(), fl.fedavg(LOCAL), 2)) == fingerprint(runs[0])


def test_the_best_of_a_run_is_by_its_metric():
    w, best = world_of(metric=None), fl.Best()
    method = fl.fedavg(replace(LOCAL, lr=0.3))
    h = fl.federate(w, method, 4, observe=best, progress=False)
    assert best.score == h.score("best") == h.rows[best.round - 1]["loss"]
    with pytest.raises(fl.InputError, match="judged by loss, not by accuracy"):
        _ = best.accuracy


WRONG = {
    "one for all": (
        {"loss": lambda outputs, y: (outputs[:, 0] - y).square().mean()},
        "must give one number a sample, not \\(\\)",
    ),
    "shapes": (
        {"loss": lambda o, y: (o - y).square(), "kind": "numbers", "outputs": 3},
        "must give one number a sample, not \\(2, 3\\)",
    ),
    "not a tensor": ({"loss": lambda outputs, y: None}, "a sample, not None"),
    "too many outputs": (
        {"loss": fl.squared, "kind": "numbers", "outputs": 2},
        r"loss squared takes no outputs of shape \(2, 2\), labels of \(2, 3\): ",
    ),
    "another rule's": (
        {"loss": fl.Rule().loss},
        r"loss must be a function.* \(net, params, batch, given\): .* 2 arguments",
    ),
    "no function": ({"loss": "squared"}, "loss must be a function or None"),
    "no metric": ({"metric": 3}, "metric must be a function or None"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_loss_that_does_not_fit_is_refused_when_the_world_is_made(name):
    more, words = WRONG[name]
    more = dict(more)
    data = data_of(more.pop("kind", "a number"))
    outputs = more.pop("outputs", 1)
    with pytest.raises(fl.InputError, match=words) as refused:
        split = fl.iid(data.y_train, 4)
        fl.world(data, split, lambda: net(outputs), **more)
    assert "\n" not in str(refused.value)


def test_a_metric_that_gives_no_number_is_refused():
    w = world_of(metric=lambda outputs, labels: outputs)
    with pytest.raises(fl.InputError, match="metric .* must give one number, not"):
        fl.federate(w, fl.fedavg(LOCAL), 1, progress=False)


def test_numbers_as_labels_need_a_loss():
    w = world_of()
    with pytest.raises(fl.InputError, match="y must be whole numbers .* has a loss"):
        replace(w, loss=None)
    with pytest.raises(fl.InputError, match="loss .* give it to fl.world"):
        replace(w, loss=absolute)


def close(outputs, labels):
    return -(outputs - labels).abs().mean()


def far(outputs, labels):
    return (outputs - labels).abs()


SHAPED = {  # each as PyTorch's users write it: all mean the mean distance
    "plain": close,
    "a column": lambda o, y: -(o[:, 0] - y).abs().mean(),
    "the last axis": lambda o, y: -(o[..., 0] - y).abs().mean(),
    "squeezed": lambda o, y: -(o.squeeze(-1) - y).abs().mean(),
    "labels as a column": lambda o, y: -(o - y[:, None]).abs().mean(),
    "as a column": lambda o, y: -(o - y.view(-1, 1)).abs().mean(),
    "PyTorch's": lambda o, y: -F.l1_loss(o.flatten(), y),
}


@pytest.mark.parametrize("name", SHAPED)
def test_a_metric_never_pairs_every_output_with_every_label(name):
    """Outputs of shape (n, 1), labels of (n,)."""
    w = world_of(metric=SHAPED[name])
    h = fl.federate(w, fl.fedavg(LOCAL), 1, progress=False)
    model = w.make()
    model.load_state_dict(h.model())
    with torch.no_grad():
        want = -(model(w.x_test)[:, 0] - w.y_test).abs().mean()
    assert h.score() == pytest.approx(float(want))


EACH = {
    "plain": far,
    "the last axis": lambda o, y: (o[..., 0] - y).abs(),
    "PyTorch's": lambda o, y: F.l1_loss(o, y, reduction="none"),
}


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", EACH)
def test_a_loss_never_pairs_every_output_with_every_label(name, engine):
    worlds = world_of(loss=EACH[name]), world_of(loss=absolute)
    got, want = (
        fl.federate(w, fl.fedavg(LOCAL), 1, engine=engine, progress=False)
        for w in worlds
    )
    assert got.rows[0]["loss"] == pytest.approx(want.rows[0]["loss"], rel=1e-6)


def test_a_loss_that_mixes_samples_is_refused():
    words = r"loss <lambda> mixes samples.*: use outputs.view_as\(labels\)"
    with pytest.raises(fl.InputError, match=words):
        world_of(loss=lambda o, y: (o - y).abs().mean(1))
