"""rFedAvg and rFedAvg+: the plain version, the identity, the mechanism, misuse."""

from dataclasses import replace

import pytest
import torch

import fedlab_core as fl
from fedlab_core.engine import Client, client_means
from fedlab_core.engine.mean_statistics import _some
from fedlab_core.errors import InputError
from fedlab_core.keys import fold, keys_of, normal
from fedlab_core.methods.rfedavg import Clipped, Others, delta
from fedlab_core.tree import repeat, take
from tests.methods.plainly import LOCAL, SEED, agree, differ, played, setting
from tests.reference import rfedavg as plain

WAYS = [(None, "stacked"), (3, "stacked"), (3, "looped")]


@pytest.mark.equals("rfedavg-plus")
@pytest.mark.parametrize("participants, engine", WAYS)
def test_plus_equals_the_plain_version(small_world, participants, engine):
    ours = played(small_world, fl.rfedavg_plus(LOCAL, lam=0.3), participants, engine)
    s = setting(small_world, LOCAL, participants)
    agree(ours, plain.run_plus(*s.start, *s.sgd, s.equal, 0.3))


@pytest.mark.slow
@pytest.mark.equals("rfedavg")
@pytest.mark.parametrize("participants, engine", WAYS)
def test_equals_the_plain_version(small_world, participants, engine):
    ours = played(small_world, fl.rfedavg(LOCAL, lam=0.3), participants, engine)
    s = setting(small_world, LOCAL, participants)
    agree(ours, plain.run(*s.start, *s.sgd, s.equal, 0.3))


@pytest.mark.slow
@pytest.mark.parametrize("make, run", [
    (fl.rfedavg, plain.run), (fl.rfedavg_plus, plain.run_plus)
])  # fmt: skip
def test_clients_count_equally_or_by_size_as_in_the_paper(small_world, make, run):
    s, method = setting(small_world, LOCAL, 3), make(LOCAL, lam=0.3)
    assert method.weigh == make(LOCAL, form="code").weigh == fl.Equal()
    ours = played(small_world, replace(method, weigh=fl.BySize()), 3)
    agree(ours, run(*s.start, *s.sgd, s.by_size, 0.3))
    differ(ours, played(small_world, method, 3))


def test_plus_as_in_the_code_equals_the_plain_version(small_world):
    """delta over one mini-batch, and everyone's target the mean of all."""
    s = setting(small_world, LOCAL, 3)

    def sample(k, t):
        mine = torch.arange(len(s.clients[k][1]))
        return _some(Client(mine, (SEED, t, k)), LOCAL.batch_size)

    method = fl.rfedavg_plus(LOCAL, lam=0.3, form="code")
    want = plain.run_plus(*s.start, *s.sgd, s.equal, 0.3, sample, True)
    agree(played(small_world, method, 3), want)


@pytest.mark.slow
def test_as_in_the_code_only_those_who_take_part_are_targets(small_world):
    """The plain version asks them at a round's start, for what ours told at its end."""
    rounds, s = 5, setting(small_world, LOCAL, 3, rounds=5)

    def last(k, t):
        return max(r for r in range(t) if k in s.participants[r])

    def sample(k, t):
        mine = torch.arange(len(s.clients[k][1]))
        return _some(Client(mine, (SEED, last(k, t), k)), LOCAL.batch_size)

    def noise(k, t, shape):
        key = fold(keys_of(torch.tensor([[SEED, last(k, t), k]])), 5)
        return 0.4 * normal(key, shape.numel())[0].float().view(shape)

    before = [set(s.participants[t - 1]) for t in range(1, rounds)]
    absent = [b - set(s.participants[t + 1]) for t, b in enumerate(before)]
    assert any(absent), "somebody who has reported is to be absent"
    for level, own in ((0.0, None), (0.4, noise)):
        method = fl.rfedavg(LOCAL, lam=0.3, form="code", noise=level)
        want = plain.run(*s.start, *s.sgd, s.equal, 0.3, sample, own)
        agree(played(small_world, method, 3, rounds=rounds), want)


def test_others_by_hand():
    """delta = 0, 3 and 6. The others of the first: mean 4.5, and each 1.5 away."""
    known = {"delta": torch.tensor([[0.0], [3.0], [6.0]])}
    got = Others()(known, [4, 5, 6], [4, 5, 9])
    assert got["target"].flatten().tolist() == [4.5, 3.0, 3.0]
    assert got["around"].tolist() == [2.25, 9.0, 6.0]
    assert got["there"].tolist() == [1, 1, 1]
    alone = Others()({"delta": torch.ones(1, 2)}, [4], [4])
    assert alone["target"].tolist() == [[0, 0]] and alone["there"].tolist() == [0]
    assert Others(own=True)(known, [4, 5, 6], [4])["target"].item() == 3.0
    here = Others(present=True)(known, [4, 5, 6], [4, 6, 9])
    assert here["target"].flatten().tolist() == [6.0, 0.0, 3.0]
    assert here["around"].tolist() == [0.0, 0.0, 9.0]


def test_both_pull_alike_where_their_deltas_agree(small_world):
    """The mean squared distance and the distance to the mean differ by a constant."""
    known = {"delta": torch.randn(4, 5)}
    sent, here = Others()(known, [0, 1, 2, 3], [2]), torch.randn(5, requires_grad=True)
    others = known["delta"][[0, 1, 3]]
    far = (here - others).square().sum(1).mean()
    mean = (here - sent["target"][0]).square().sum() + sent["around"][0]
    torch.testing.assert_close(far, mean)
    torch.testing.assert_close(*(torch.autograd.grad(f, here)[0] for f in (far, mean)))


@pytest.mark.slow
@pytest.mark.parametrize("make", [fl.rfedavg, fl.rfedavg_plus])
def test_without_lambda_it_is_fedavg(small_world, make):
    base = played(small_world, fl.fedavg(LOCAL, fl.Equal()), 3)
    differ(played(small_world, make(LOCAL, lam=0.3), 3), base)
    agree_with = played(small_world, make(LOCAL, lam=0.0), 3)
    for a, b in zip(agree_with, base, strict=True):
        for n, v in a.after.items():
            assert float((v - b.after[n]).abs().max()) < 1e-6


def spread(w, state) -> float:
    """Mean squared distance of the clients' mean features from their mean."""
    cohort = [Client(w.client(k), (0, 0, k)) for k in range(len(w))]
    rows = client_means(w.model, repeat(state, len(w)), w.x, w.y, cohort, delta)[
        "delta"
    ]
    return float((rows - rows.mean(0)).square().sum(1).mean())


@pytest.mark.slow
@pytest.mark.parametrize("make", [fl.rfedavg, fl.rfedavg_plus])
def test_it_draws_the_mean_features_together(small_world, make):
    local = replace(LOCAL, epochs=5)
    spreads = [
        spread(small_world, take(played(small_world, m, None)[-1].after, 0))
        for m in (fl.fedavg(local, fl.Equal()), make(local, lam=1.0))
    ]
    assert spreads[1] < 0.8 * spreads[0]


def test_rfedavg_sends_d_numbers_more_each_way(small_world):
    one, more = (
        fl.federate(small_world, m, 1, participants=3).rows[0]["bytes"]
        for m in (fl.fedavg(LOCAL), fl.rfedavg_plus(LOCAL))
    )
    assert more - one == 3 * 4 * (16 + 16 + 2)


@pytest.mark.slow
@pytest.mark.parametrize("make, run", [
    (fl.rfedavg, plain.run), (fl.rfedavg_plus, plain.run_plus)
])  # fmt: skip
def test_noise_on_delta_equals_the_plain_version(small_world, make, run):
    s = setting(small_world, LOCAL, 3)

    def noise(k, t, shape):
        key = fold(keys_of(torch.tensor([[SEED, t, k]])), 5)
        return 0.4 * normal(key, shape.numel())[0].float().view(shape)

    ours = played(small_world, make(LOCAL, lam=0.3, noise=0.4), 3)
    agree(ours, run(*s.start, *s.sgd, s.equal, 0.3, noise=noise))
    differ(ours, played(small_world, make(LOCAL, lam=0.3), 3))


def test_clipped_features_are_no_longer_than_asked(small_world):
    w = small_world
    cohort = [Client(w.client(k), (0, 0, k)) for k in range(6)]
    state = repeat(w.make().state_dict(), 6)
    full, short = (
        client_means(w.model, state, w.x, w.y, cohort, of)["delta"]
        for of in (delta, Clipped(0.05))
    )
    assert float(full.norm(dim=1).min()) > 0.1
    assert float(short.norm(dim=1).max()) <= 0.05
    same = client_means(w.model, state, w.x, w.y, cohort, Clipped(1e6))["delta"]
    torch.testing.assert_close(same, full)


def test_misuse():
    with pytest.raises(InputError, match="noise must be .* 0 or more"):
        fl.rfedavg(noise=-1.0)
    with pytest.raises(InputError, match="clip must be .* above 0"):
        fl.rfedavg(clip=0.0)
    with pytest.raises(InputError, match="lam must be .* 0 or more, not -1"):
        fl.rfedavg(lam=-1)
    with pytest.raises(InputError, match="form must be paper or code"):
        fl.rfedavg_plus(form="x")
