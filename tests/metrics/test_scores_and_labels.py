"""Measures, against scikit-learn, SciPy or a sum written out."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import spatial, special
from sklearn.metrics import accuracy_score, log_loss, recall_score
from torch.nn import functional as F

from fedlab_core import build, metrics, tree
from fedlab_core.errors import InputError
from fedlab_core.metrics import DISCREPANCIES, discrepancy
from fedlab_core.models import initial_state
from fedlab_use import analysis

BIASED = torch.tensor([[50, 50, 0, 0, 0, 0, 0, 0, 0, 0]])


# -- scores ------------------------------------------------------------------------


@pytest.fixture
def scored():
    make = build("mlp", (1, 3, 3), 4, hidden=(5,), batch_norm=True, dropout=0.5)
    states = [initial_state(make, s) for s in range(3)]
    x, y = torch.randn(30, 1, 3, 3), torch.arange(30) % 3  # class 3 has no sample
    return make(), states, x, y


def test_scores_are_scikit_learns(scored):
    model, states, x, y = scored
    got = metrics.evaluate(model, tree.stack(states), x, y, 4)
    for k, state in enumerate(states):
        net = scored[0].eval()
        net.load_state_dict(state)
        chance = net(x).softmax(1).detach().double().numpy()
        chance /= chance.sum(1, keepdims=True)
        guess = chance.argmax(1)
        assert float(got.accuracy[k]) == pytest.approx(accuracy_score(y, guess))
        loss = log_loss(y, chance, labels=range(4))
        assert float(got.loss[k]) == pytest.approx(loss, rel=1e-5)
        recall = [recall_score(y == c, guess == c) for c in range(3)]
        assert got.per_class[k, :3].tolist() == pytest.approx(recall)
        assert torch.isnan(got.per_class[k, 3])


def test_many_models_and_samples_are_scored_in_slices(scored):
    model, states, x, y = scored
    rows, many = tree.stack(states * 25), x.repeat(70, 1, 1, 1)  # 75 models, 2,100
    got = metrics.evaluate(model, rows, many, y.repeat(70), 4)
    want = metrics.evaluate(model, tree.stack(states), x, y, 4)
    assert torch.equal(got.accuracy, want.accuracy.repeat(25))
    torch.testing.assert_close(got.loss, want.loss.repeat(25), rtol=1e-5, atol=0)


def test_scoring_changes_nothing(scored):
    model, states, x, y = scored
    model.train()
    before = {n: v.clone() for n, v in model.state_dict().items()}
    metrics.evaluate(model, tree.stack(states), x, y, 4)
    metrics.logits(model, states[0], x)
    assert model.training
    assert all(torch.equal(v, before[n]) for n, v in model.state_dict().items())


def test_logits_are_those_of_the_evaluated_network(scored):
    model, states, x, _ = scored
    got = metrics.logits(model, states[1], x)
    model.load_state_dict(states[1])
    assert torch.equal(got, model.eval()(x))
    assert torch.equal(got, metrics.logits(model, states[1], x))


# -- discrepancy -------------------------------------------------------------------


@pytest.mark.parametrize(
    "metric, value",
    [("kl", np.log(5)), ("l2", 0.4**0.5), ("l1", 1.6), ("cosine", 1 - 0.2**0.5)],
)
def test_two_of_ten_classes(metric, value):
    """Half of each of two classes, against a tenth of each of ten.

    KL: 2 * .5 log(.5 / .1) = log 5. L2: 2 * .4^2 + 8 * .1^2 = .4, rooted, .6325.
    L1: 2 * .4 + 8 * .1 = 1.6. Cosine: 1 - .1 / sqrt(.5 * .1) = 1 - sqrt(.2) = .5528.
    """
    assert float(discrepancy(BIASED, metric=metric)) == pytest.approx(value)


ORACLES = {
    "kl": lambda p, q: special.rel_entr(p, q).sum(),
    "l2": spatial.distance.euclidean,
    "l1": spatial.distance.cityblock,
    "cosine": spatial.distance.cosine,
}


@pytest.mark.parametrize("metric", DISCREPANCIES)
@given(
    counts=st.lists(st.integers(0, 50), min_size=3, max_size=3).filter(any),
    target=st.none() | st.lists(st.floats(0.01, 1), min_size=3, max_size=3),
)
def test_discrepancies_are_scipys(metric, counts, target):
    goal = None if target is None else torch.tensor(target, dtype=torch.float64)
    got = discrepancy(torch.tensor([counts, [1, 1, 1]]), goal, metric)
    q = np.ones(3) / 3 if target is None else np.array(target) / sum(target)
    want = ORACLES[metric](np.array(counts) / sum(counts), q)
    assert float(got[0]) == pytest.approx(want, abs=1e-7)
    assert got.shape == (2,) and got.dtype == torch.float64


@pytest.mark.parametrize("metric", DISCREPANCIES)
def test_the_target_itself_is_at_distance_zero(metric):
    counts = torch.tensor([[10, 20, 30], [1, 2, 3]])
    target = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    assert discrepancy(counts, target, metric).tolist() == pytest.approx([0, 0])


def test_kl_is_from_the_client_to_the_target():
    """A class the client lacks costs nothing; one the target lacks has no number."""
    lacks = torch.tensor([[1, 0]])
    assert float(discrepancy(lacks, torch.tensor([0.25, 0.75]))) == pytest.approx(
        np.log(4)
    )
    assert float(discrepancy(lacks, torch.tensor([1.0, 0.0]))) == 0
    with pytest.raises(InputError, match="KL is infinite: .*use metric 'l1'"):
        discrepancy(lacks, torch.tensor([0.0, 1.0]))
    assert float(discrepancy(lacks, torch.tensor([0.0, 1.0]), "l1")) == 2


@pytest.mark.parametrize(
    "target", [[0.5], [0.0] * 10, [-1.0] + [1.0] * 9, [float("nan")] * 10]
)
def test_a_target_that_is_no_distribution_is_refused(target):
    with pytest.raises(InputError, match="target must"):
        discrepancy(BIASED, torch.tensor(target))


def test_an_unknown_metric_is_refused():
    with pytest.raises(InputError, match="metric must be kl, l2, l1 or cosine"):
        discrepancy(BIASED, metric="emd")  # type: ignore[arg-type]


# -- divergence, coherence ---------------------------------------------------------


def test_divergence_and_coherence_by_hand():
    centre = {"w": torch.tensor([1.0, 0.0]), "b": torch.tensor([0.0])}
    moves = [[3.0, 0.0, 4.0], [0.0, 2.0, 0.0], [-3.0, 0.0, -4.0]]
    states = {
        "w": torch.tensor([[m[0] + 1, m[1]] for m in moves]),
        "b": torch.tensor([[m[2]] for m in moves]),
    }
    assert analysis.divergence(states, centre).tolist() == [5, 2, 5]
    want = [[1, 0, -1], [0, 1, 0], [-1, 0, 1]]
    torch.testing.assert_close(
        metrics.coherence(states, centre), torch.tensor(want) * 1.0
    )


def test_coherence_is_the_pairwise_cosine():
    g = torch.Generator().manual_seed(0)
    states, start = {"w": torch.randn(4, 6, generator=g)}, {"w": torch.randn(6)}
    got = metrics.coherence(states, start)
    moved = states["w"] - start["w"]
    for i in range(4):
        for j in range(4):
            want = F.cosine_similarity(moved[i], moved[j], dim=0)
            torch.testing.assert_close(got[i, j], want)
