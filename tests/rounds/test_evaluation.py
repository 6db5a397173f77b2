"""Judging a round."""

from dataclasses import replace

import pytest
import torch

from fedlab_core import fedavg, federate, finetune
from fedlab_core.metrics import evaluate, evaluate_own
from fedlab_core.rounds.groups import Groups


def test_accuracy_is_a_mean_over_clients_not_over_groups(small_world, small_local):
    n = len(small_world)
    coalitions = [range(1), range(1, n)]
    method = replace(fedavg(small_local), groups=Groups.fixed(coalitions))
    seen = federate(small_world, method, 3, progress=False)
    w = small_world
    scores = evaluate(w.model, seen.states, w.x_test, w.y_test, len(w.classes))
    lone, many = scores.accuracy.tolist()
    assert abs(lone - many) > 0.02, "the two models must differ for this to say much"
    row = seen.rows[-1]
    assert row["accuracy"] == pytest.approx((lone + (n - 1) * many) / n, abs=1e-6)
    lone, many = scores.loss.tolist()
    assert row["loss"] == pytest.approx((lone + (n - 1) * many) / n, rel=1e-6)


def test_a_model_that_nobody_has_does_not_count(small_world, small_local):
    everyone = Groups("one", lambda world, seed: [0] * len(world), models=3)
    method = replace(fedavg(small_local), groups=everyone)
    seen = federate(small_world, method, 3, progress=False)
    w = small_world
    scores = evaluate(w.model, seen.states, w.x_test, w.y_test, len(w.classes))
    used, *empty = scores.accuracy.tolist()
    assert seen.rows[-1]["accuracy"] == pytest.approx(used, abs=1e-6)
    assert min(abs(used - e) for e in empty) > 0.05


@pytest.mark.parametrize("tested", ["on everything", "on their own"])
def test_an_observer_sees_the_clients_models_that_were_judged(
    small_world, small_local, tested
):
    """Fine-tuned ones; none where every client has its group's."""
    lists = [torch.arange(9 + k) for k in range(len(small_world))]
    w = replace(small_world, tests=lists if tested == "on their own" else None)
    seen = []

    def look(now):
        seen.append(now.personal)
        return {}

    federate(w, fedavg(small_local), 1, observe=look, progress=False)
    assert seen.pop() is None
    h = federate(w, finetune(small_local), 2, observe=look, progress=False)
    every = [torch.arange(len(w.x_test))] * len(w)
    own = evaluate_own(w.model, seen[-1], w.x_test, w.y_test, w.tests or every)
    assert h.clients is not None
    assert h.clients.tolist() == pytest.approx(own.accuracy.tolist())
