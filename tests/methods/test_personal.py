"""Personal models: the plain versions, what is judged and when."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import torch

import fedlab_core as fl
from fedlab_core import Run
from fedlab_core.engine import train
from fedlab_core.errors import InputError
from fedlab_core.rounds.simulation import Simulation
from fedlab_core.tree import stack, subtree
from tests.methods.plainly import LOCAL, agree, differ, judged, played, setting
from tests.reference import personal as plain

WAYS = [(None, "stacked"), (3, "stacked"), (3, "looped")]
BARE = replace(LOCAL, momentum=0.0, weight_decay=0.0)


def steps(s, n):
    """The first n mini-batches of a client's round."""
    return lambda k, t: s.batches(k, t)[:n]


@pytest.mark.slow
@pytest.mark.equals("finetune")
@pytest.mark.parametrize("participants, engine", WAYS)
def test_fine_tuning(small_world, participants, engine):
    ours = played(small_world, fl.finetune(LOCAL, steps=2), participants, engine)
    s = setting(small_world, LOCAL, participants)
    want = plain.fine_tune(*s.start, *s.sgd, s.by_size, steps(s, 2))
    agree(ours, want)
    history = fl.federate(
        small_world, fl.finetune(LOCAL, steps=2), 3, 7, participants=participants
    )
    for row, r in zip(history.rows, want, strict=True):
        got = judged(small_world, r.clients["model"])
        assert row["accuracy"] == pytest.approx(got, abs=2e-3)


@pytest.mark.slow
@pytest.mark.equals("per-fedavg")
@pytest.mark.parametrize("participants, engine", WAYS)
def test_per_fedavg(small_world, participants, engine):
    s = setting(small_world, BARE, participants)
    want = plain.per_fedavg(*s.start, BARE.lr, s.by_size, steps(s, 1))
    ours = played(small_world, fl.per_fedavg(BARE), participants, engine)
    agree(ours, want)
    differ(ours, played(small_world, fl.fedavg(BARE), participants, engine))
    history = fl.federate(
        small_world, fl.per_fedavg(BARE), 3, 7, participants=participants
    )
    got = judged(small_world, want[-1].clients["model"])
    assert history.rows[-1]["accuracy"] == pytest.approx(got, abs=2e-3)


@pytest.mark.slow
@pytest.mark.equals("pfedme")
@pytest.mark.parametrize("participants, engine", WAYS)
def test_pfedme(small_world, participants, engine):
    s = setting(small_world, BARE, participants)
    how = {"lam": 2.0, "inner_lr": 0.1, "inner_steps": 3}
    want = plain.pfedme(*s.start, BARE.lr, s.by_size, **how)
    ours = played(small_world, fl.pfedme(BARE, **how), participants, engine)
    agree(ours, want)
    for row, k in enumerate(ours[-1].ids):
        theta = subtree(ours[-1].kept, "theta")
        for n, v in want[-1].clients["model"][k].items():
            torch.testing.assert_close(theta[n][row], v, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.equals("ditto")
def test_ditto(small_world):
    s = setting(small_world, LOCAL, None)
    want = plain.ditto(*s.start, *s.sgd, s.by_size, s.batches, 0.7)
    agree(played(small_world, fl.ditto(LOCAL, lam=0.7), None), want)
    history = fl.federate(small_world, fl.ditto(LOCAL, lam=0.7), 3, 7)
    for row, r in zip(history.rows, want, strict=True):
        got = judged(small_world, r.clients["model"])
        assert row["accuracy"] == pytest.approx(got, abs=2e-3)


def own_models_of(run):
    """Models that clients keep beside the group's model when a run is over."""
    w, simulation = run.world, Simulation(run)
    play = simulation.play()
    ask = next(play)
    with suppress(StopIteration):
        while True:
            how = (ask.cohort, ask.given, ask.training, ask.rule)
            ask = play.send(train(w.model, w.x, w.y, *how))
    return simulation.state.own_models.of


@pytest.mark.slow
@pytest.mark.parametrize("begin, plainly", [("first", "first"), ("group", "server")])
def test_dittos_own_models_begin_where_they_are_told(small_world, begin, plainly):
    """Two of six take part, some for the first time when the model has moved."""
    rounds, s = 4, setting(small_world, LOCAL, 2, rounds=4)
    drawn = [set(ids) for ids in s.participants]
    late = (drawn[2] | drawn[3]) - (drawn[0] | drawn[1])
    assert late
    want = plain.ditto(*s.start, *s.sgd, s.by_size, s.batches, 0.7, plainly)
    method = fl.ditto(LOCAL, lam=0.7, begin=begin)
    own_models = own_models_of(Run(small_world, method, rounds, 7, 2))
    assert late < own_models.keys()
    for k, own in own_models.items():
        for n, v in want[-1].clients["model"][k].items():
            torch.testing.assert_close(own[n], v, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_a_tie_that_strong_is_the_groups_model(small_world):
    """Ditto with a large lambda ends at x, with none trains alone."""
    tied = replace(BARE, lr=0.001)
    free, strong = (
        fl.federate(small_world, fl.ditto(tied, lam=lam), 2, 7) for lam in (0.0, 900.0)
    )
    plainly = fl.federate(small_world, fl.fedavg(tied), 2, 7)
    gap = abs(strong.rows[-1]["accuracy"] - plainly.rows[-2]["accuracy"])
    assert gap < 0.02
    assert free.rows[-1]["accuracy"] != strong.rows[-1]["accuracy"]


def test_own_tests_judge_every_client_on_its_own(small_data):
    who = fl.dirichlet(small_data.y_train, 4, 0.3, seed=2)
    rng = np.random.default_rng(0)
    lists = [rng.choice(150, size=20 + k, replace=False) for k in range(4)]
    w = fl.world(
        small_data, who, fl.build("mlp", small_data.shape, 10, hidden=(8,)), tests=lists
    )
    h = fl.federate(w, fl.fedavg(LOCAL), 2, 1)
    model = w.make()
    model.load_state_dict({n: v[0] for n, v in h.states.items()})
    want = []
    for i in lists:
        with torch.no_grad():
            hit = model(w.x_test[i]).argmax(1) == w.y_test[i]
        want.append(float(hit.double().mean()))
    assert h.clients is not None
    assert h.clients.tolist() == pytest.approx(want)
    assert h.rows[-1]["accuracy"] == pytest.approx(np.mean(want))
    assert h.rows[-1]["worst"] == pytest.approx(min(want))


@pytest.mark.slow
def test_personal_models_need_few_judgements(small_world):
    """Only every third round, and the last, is judged; the models are the same."""
    often, seldom = (
        fl.federate(small_world, fl.finetune(LOCAL), 4, 7, judge_every=n)
        for n in (1, 3)
    )
    judged_at = [r["round"] for r in seldom.rows if "accuracy" in r]
    assert judged_at == [3, 4]
    assert seldom.accuracy() == often.accuracy()
    for v in stack([often.states, seldom.states]).values():
        assert torch.equal(v[0], v[1])


def test_misuse():
    with pytest.raises(InputError, match="steps must be a whole number of 1 or more"):
        fl.finetune(steps=0)
    with pytest.raises(InputError, match="lam must be .* above 0"):
        fl.pfedme(lam=0.0)
    with pytest.raises(InputError, match="begin must be first or group, not 'last'"):
        fl.ditto(begin="last")  # type: ignore[arg-type]
