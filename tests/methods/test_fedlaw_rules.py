"""FedLAW: which way it goes, what it keeps to, statistics, groups, misuse."""

import math
from dataclasses import replace

import pytest
import torch
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from fedlab_core import BySize, Training, World, build, federate, iid, tree, world
from fedlab_core.engine import reestimate
from fedlab_core.errors import InputError
from fedlab_core.methods.fedlaw import (
    Law,
    LawSwa,
    Shrink,
    attentive,
    fedlaw,
    fedlaw_swa,
    gws,
    shrunk,
)
from fedlab_core.rounds.groups import Groups
from fedlab_core.rounds.weigh import Members
from fedlab_core.rounds.worlds import Proxy
from tests.methods.at_server import FEW, at_the_server

# -- directions and invariants -----------------------------------------------------


def proxy_loss(w: World, state: tree.Tree) -> float:
    x, y = w.view.proxy_set("test")
    return float(cross_entropy(functional_call(w.model, state, (x,)), y))


@pytest.mark.parametrize("learn", ["gamma", "lambda", "both"])
def test_learning_lowers_the_loss_on_the_proxy(proxied, learn):
    now = at_the_server(proxied)
    kept = tree.copied(now.models)
    before = proxy_loss(proxied, tree.weighted_sum(now.models, now.weights))
    got = Law(learn, server_epochs=20)(now)
    assert proxy_loss(proxied, got.model) < before - 1e-4
    assert got.memory["lambda"].sum() == pytest.approx(1)
    assert all(torch.equal(v, kept[n]) for n, v in now.models.items())


@pytest.mark.slow
@pytest.mark.parametrize("make", [attentive, fedlaw])
def test_a_client_with_wrong_labels_counts_less(small_data, make):
    """Four clients alike; the first has every label turned into the next."""
    who = iid(small_data.y_train, 4)
    wrong = small_data.y_train.copy()
    first = who.indices[0]
    wrong[first] = (wrong[first] + 1) % 10
    data = replace(small_data, y_train=wrong)
    net = build("mlp", data.shape, 10, hidden=(32,))
    w, seen = world(data, who, net, proxy=Proxy(per_class=8)), []
    federate(
        w,
        make(Training(epochs=5), server_epochs=40),
        3,
        observe=lambda r: seen.append(r.servers[0].memory["lambda"]) or {},
    )
    assert all(shares[0] == shares.min() for shares in seen)
    assert seen[-1][0] < 0.22


def test_the_same_seed_gives_the_same_bits_and_rounds_differ(proxied, small_local):
    a, b = (federate(proxied, fedlaw(small_local, **FEW), 2) for _ in range(2))
    assert all(torch.equal(v, b.states[n]) for n, v in a.states.items())
    assert a.rows[0]["gamma"] == b.rows[0]["gamma"] != a.rows[1]["gamma"]
    law = Law(**FEW)
    keys = ((0, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0))
    found = {law(at_the_server(proxied, key=k)).metrics["gamma"] for k in keys}
    assert len(found) == 4


@pytest.mark.parametrize("engine", ["stacked", "looped"])
@pytest.mark.parametrize("make", [fedlaw, fedlaw_swa])
def test_the_engines_agree(proxied, small_local, make, engine):
    method = make(small_local, server_epochs=14, batch=16)
    h = federate(proxied, method, 2, participants=4, engine=engine)
    other = federate(proxied, method, 2, participants=4).states
    for name, v in h.states.items():
        torch.testing.assert_close(v, other[name], rtol=1e-4, atol=1e-4)
    assert 0 < h.accuracy() < 1


def test_the_history_tells_what_was_learned(proxied, small_local):
    h = federate(proxied, fedlaw(small_local, **FEW), 2)
    for row in h.rows:
        numbers = [row[n] for n in ("gamma", "g_norm", "w_norm", "r", "lambda_max")]
        assert all(type(v) is float and v > 0 for v in numbers)
        assert row["r"] == pytest.approx(row["g_norm"] / row["w_norm"])
        assert row["gamma"] != 1 and row["lambda_max"] < 1


# -- BatchNorm's statistics --------------------------------------------------------

STATISTICS = ("features.2.running_mean", "features.2.running_var")


def normed_round(w: World, **options):
    now = at_the_server(w)
    for name in STATISTICS:  # as if they had been measured
        now.models[name] = now.models[name] + torch.rand_like(now.models[name])
    return now, Law(**options)(now)


def test_statistics_are_averaged_with_lambda_and_not_shrunk(normed):
    now, got = normed_round(normed, server_epochs=10)
    shares = got.memory["lambda"]
    assert not torch.allclose(shares, now.weights) and got.metrics["gamma"] != 1
    for name, v in tree.weighted_sum(now.models, shares).items():
        factor = 1 if name in STATISTICS else got.metrics["gamma"]
        torch.testing.assert_close(got.model[name], factor * v)


def test_statistics_measured_again(normed):
    _, got = normed_round(normed, server_epochs=10, statistics="reestimate")
    x, _ = normed.view.proxy_set("test")
    want = tree.take(reestimate(normed.model, tree.repeat(got.model, 1), x), 0)
    assert all(torch.equal(v, want[n]) for n, v in got.model.items())
    _, averaged = normed_round(normed, server_epochs=10)
    for name, v in averaged.model.items():
        assert torch.equal(v, got.model[name]) == (name not in STATISTICS)


def test_statistics_that_follow_the_steps(normed):
    """One step on the whole proxy: those of FedAvg's weights, by PyTorch's own."""
    now, got = normed_round(normed, server_epochs=1, statistics="running")
    x, _ = normed.view.proxy_set("test")
    start = tree.weighted_sum(now.models, now.weights)
    weight, bias = (start[f"features.1.{n}"] for n in ("weight", "bias"))
    hidden = x.flatten(1) @ weight.T + bias
    norm = torch.nn.BatchNorm1d(8)
    norm(hidden)
    for name, v in zip(STATISTICS, (norm.running_mean, norm.running_var), strict=True):
        assert v is not None
        torch.testing.assert_close(got.model[name], v, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("policy", ["average", "reestimate", "running"])
def test_a_network_with_dropout_and_batchnorm_plays(small_data, policy):
    """Mini-batches of 7: the last of 20 has 6, and the dropout is drawn from keys."""
    make = build("mlp", small_data.shape, 10, hidden=(8,), dropout=0.2, batch_norm=True)
    who = iid(small_data.y_train, 3)
    w = world(small_data, who, make, proxy=Proxy(per_class=2))
    method = fedlaw(Training(), batch=7, server_epochs=3, statistics=policy)
    a, b = (federate(w, method, 2).states for _ in range(2))
    assert tree.is_finite(a) and all(torch.equal(v, b[n]) for n, v in a.items())


# -- groups, and misuse ------------------------------------------------------------


def test_every_group_learns_for_itself(proxied, small_local):
    """A group's numbers are those of its members alone."""
    halves, seen = Groups.fixed([[0, 1, 2], [3, 4, 5]]), []
    method = replace(fedlaw(small_local, **FEW), groups=halves)
    h = federate(proxied, method, 1, observe=lambda r: seen.append(r) or {})
    for g, now in enumerate(seen[0].servers):
        assert len(now.memory["lambda"]) == 3
        assert h.rows[0][f"gamma.{g}"] == now.metrics["gamma"]
        models = tree.take(seen[0].trained.states, slice(3 * g, 3 * g + 3))
        sizes = proxied.counts[3 * g : 3 * g + 3]
        p = BySize()(Members.holding(sizes))
        alone = at_the_server(proxied, models, p, tree.take(seen[0].before, g))
        want = Law(**FEW)(replace(alone, key=(0, 0, g)))
        assert want.metrics == now.metrics


@pytest.mark.parametrize(
    "method, who",
    [
        (gws(), "adaptive GWS"),
        (attentive(), "attentive LAW"),
        (fedlaw(), "FedLAW"),
        (fedlaw_swa(), "FedLAW"),
    ],
)
def test_without_a_proxy_it_says_how_to_get_one(small_world, method, who):
    with pytest.raises(
        InputError, match=f"{who}.* learns on data of the server.*Proxy"
    ):
        federate(small_world, method, 1)


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"learn": "mu"}, "learn must be gamma, lambda or both, not 'mu'"),
        ({"parameters": "cubic"}, "parameters must be exp or quad"),
        ({"start": "zero"}, "start must be weights or equal"),
        ({"statistics": "none"}, "statistics must be average, reestimate or running"),
        ({"lr": 0.0}, "lr must be a number above 0"),
        ({"x_lr": math.inf}, "x_lr must be a number above 0 or None, not inf"),
        ({"global_lr": -1.0}, "global_lr must be a number above 0"),
        ({"batch": 0}, "batch must be a whole number of 1 or more, not 0"),
        ({"halve_every": 0}, "halve_every must be a whole number of 1 or more, not 0"),
        (
            {"server_epochs": -1},
            "server_epochs must be a whole number of 0 or more, not -1",
        ),
        ({"early_stop": -1}, "early_stop must be a whole number of 0 or more or None"),
        (
            {"learn": "gamma", "early_stop": 2},
            "early_stop=2: only where lambda is learned",
        ),
    ],
)
def test_nonsense_is_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        Law(**wrong)


def test_more_nonsense_is_refused():
    for gamma in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(InputError, match="gamma must be a number above 0"):
            Shrink(gamma)
    with pytest.raises(InputError, match="order must be lambda first or gamma first"):
        fedlaw_swa(order="both")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="learns both, in every round"):
        fedlaw_swa(learn="gamma")
    with pytest.raises(InputError, match="swa_lr must be a number above 0"):
        fedlaw_swa(swa_lr=0)


def test_the_named_methods(small_local):
    names = ("Shrink", "GWS", "Attentive", "FedLAW", "FedLAW (SWA)")
    makers = (shrunk, gws, attentive, fedlaw, fedlaw_swa)
    for make, name in zip(makers, names, strict=True):
        method = make(training=small_local)
        assert method.name == name and method.training == small_local
        assert method.weigh == BySize() and make().training == Training()
    assert shrunk(gamma=0.9).server.step == Shrink(0.9)
    assert gws(lr=0.1).server.step == Law("gamma", lr=0.1)
    assert fedlaw_swa(order="gamma first", lr=0.1).server.step == LawSwa(
        Law(lr=0.1), "gamma first"
    )
