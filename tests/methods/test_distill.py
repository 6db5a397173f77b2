"""FedDF, FedBE, Server-FT: by hand, the plain version, reductions, directions."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.func import functional_call
from torch.nn.functional import cross_entropy, kl_div

from fedlab_core import (
    BySize,
    Training,
    World,
    build,
    fedavg,
    federate,
    iid,
    tree,
    world,
)
from fedlab_core.engine import reestimate
from fedlab_core.errors import InputError
from fedlab_core.keys import fold, keys_of, normal
from fedlab_core.methods.fedbe import _SAMPLE, DistilBayes, fedbe, sampled
from fedlab_core.methods.feddf import Distil, feddf, mean_logits
from fedlab_core.methods.server_ft import FineTune, server_ft
from fedlab_core.methods.server_steps import Fit, server_key
from fedlab_core.rounds.worlds import Proxy
from tests.methods.at_server import (
    arguments_of,
    at_the_server,
    server_batches,
    signed,
    three_of_four,
)
from tests.methods.gathering import gathered
from tests.methods.plainly import LOCAL, SEED, agree, played, setting
from tests.reference import distill as plain

PLAIN_SGD: dict[str, Any] = {"momentum": 0.0, "weight_decay": 0.0}


def _key_of(now) -> torch.Tensor:
    return keys_of(torch.tensor(server_key(now)))


# -- by hand -----------------------------------------------------------------------


def test_one_step_of_fine_tuning_by_hand():
    """FedAvg's weights are zero, so both classes have 1/2 on the four images x = 1.

    Three are of class 0: the mean gradient of its logit is 1/2 - 3/4 = -1/4, of the
    other 1/4. With rate 1, W = b = (1/4, -1/4). The mean loss before it is log 2.
    """
    now = at_the_server(three_of_four(), signed(1, -1), torch.tensor([0.5, 0.5]))
    got = FineTune(Fit(1, lr=1.0, **PLAIN_SGD))(now)
    assert got.model["head.weight"].flatten().tolist() == [0.25, -0.25]
    assert got.model["head.bias"].tolist() == [0.25, -0.25]
    assert got.metrics["server_loss"] == pytest.approx(math.log(2))


def test_one_step_of_distillation_by_hand():
    """Slopes 2 and -1: by size, 1/3 and 2/3, FedAvg's is 0; the mean of logits, 1/2.

    The teacher gives class 0 the probability p = 1/(1 + e^-1) on every image, the
    student 1/2: the gradient of its logit is 1/2 - p. KL = log 2 - entropy(p).
    """
    now = at_the_server(three_of_four(), signed(2, -1), torch.tensor([1 / 3, 2 / 3]))
    got = Distil(Fit(1, lr=1.0, **PLAIN_SGD))(now)
    p = 1 / (1 + math.exp(-1))
    want = torch.tensor([p - 1 / 2, 1 / 2 - p])
    torch.testing.assert_close(got.model["head.weight"].flatten(), want)
    torch.testing.assert_close(got.model["head.bias"], want)
    entropy = -p * math.log(p) - (1 - p) * math.log(1 - p)
    assert got.metrics["server_loss"] == pytest.approx(math.log(2) - entropy, abs=1e-6)


def test_fedbes_sample_by_hand():
    """From x = (1, 1) to (4, 5) and (1, 11): moves (3, 4) and (0, 10), lengths 5, 10.

    Units (.6, .8) and (0, 1): mean (.3, .9), sd (.3, .1), mean length 7.5, so
    x + 7.5 (mean + .1 sd xi). A variance is at least `floor`.
    """
    models = {"w": torch.tensor([[4.0, 5.0], [1.0, 11.0]])}
    p = torch.tensor([0.9, 0.1]).double()
    now = gathered(models, p, {"w": torch.ones(2)}, key=(3, 1, 0))
    xi = normal(fold(fold(_key_of(now), _SAMPLE), 0), 2)
    mean, sd = torch.tensor([0.3, 0.9]), torch.tensor([0.3, 0.1])
    for spread, floor, sds in (
        (0.1, 0.0, sd),
        (0.5, 0.0, sd),
        (0.0, 0.0, sd),
        (0.1, 0.04, torch.tensor([0.3, 0.2])),
    ):
        want = 1 + 7.5 * (mean + spread * sds * xi)
        torch.testing.assert_close(sampled(now, spread, floor)["w"], want)
    again = sampled(replace(now, key=(3, 2, 0)))["w"]
    assert not torch.equal(again, sampled(now)["w"])


def test_a_tensor_that_did_not_move_stays():
    models = {"w": torch.ones(2, 3), "b": torch.tensor([[1.0], [2.0]])}
    p = torch.tensor([0.5, 0.5]).double()
    now = gathered(models, p, {"w": torch.ones(3), "b": torch.zeros(1)})
    got = sampled(now)
    assert torch.equal(got["w"], torch.ones(3)) and torch.isfinite(got["b"]).all()


def test_the_teachers(proxied):
    """FedBE's are the clients', FedAvg's and the sample's: the mean of their logits."""
    now, x = at_the_server(proxied), proxied.view.proxy_set("test")[0]
    members = [tree.take(now.models, k) for k in range(3)]
    more = [tree.weighted_sum(now.models, now.weights), sampled(now)]
    both = [(Distil, members), (DistilBayes, members + more)]
    for kind, teachers in both:
        said = torch.stack([functional_call(proxied.model, s, (x,)) for s in teachers])
        z = said.mean(0)
        torch.testing.assert_close(mean_logits(proxied.model, teachers, x), z)
        student = functional_call(proxied.model, more[0], (x,))
        want = kl_div(student.log_softmax(1), z.softmax(1), reduction="batchmean")
        got = kind(Fit(1))(now)
        assert got.metrics["server_loss"] == pytest.approx(float(want), rel=1e-4)


# -- the plain version -------------------------------------------------------------


def noise_of(w: World):
    """The standard normal numbers that ours draws."""
    places = {n: i for i, n in enumerate(w.parameters)}

    def noise(t, name, shape):
        now = at_the_server(w, key=(SEED, t, 0))
        key = fold(fold(_key_of(now), _SAMPLE), places[name])
        return normal(key, shape.numel()).view(shape)

    return noise


ADAM = ({"optimiser": "adam", "lr": 0.002}, plain.adam(0.002))
SGD = ({"keep_velocity": False}, plain.sgd(0.08, 0.9, 5e-4))
MAKERS = {
    "feddf": lambda **o: feddf(LOCAL, **o),
    "fedbe": lambda **o: fedbe(LOCAL, floor=0, **o),
    "server_ft": lambda **o: server_ft(LOCAL, **o),
}


@pytest.mark.parametrize("participants", [None, 3])
@pytest.mark.parametrize("options, optimiser", [SGD, ADAM], ids=["sgd", "adam"])
@pytest.mark.parametrize(
    "kind",
    [pytest.param(n, marks=pytest.mark.equals(n.replace("_", "-"))) for n in MAKERS],
)
def test_equals_the_plain_version(proxied, kind, options, optimiser, participants):
    s = setting(proxied, LOCAL, participants, rounds=2)
    want = plain.run(
        *arguments_of(s),
        proxy=proxied.view.proxy_set("test"),
        proxy_batches=lambda t: server_batches(proxied, t, 3, 16),
        optimiser=optimiser,
        kind=kind,
        noise=noise_of(proxied) if kind == "fedbe" else None,
    )
    method = MAKERS[kind](epochs=3, batch=16, **options)
    agree(played(proxied, method, participants, rounds=2), want, 1e-4)


def test_the_velocity_goes_on(proxied):
    """Over two rounds, by one torch.optim.SGD whose parameters are set anew."""
    fit = Fit(1, batch=16)
    x, y = proxied.view.proxy_set("test")
    net = proxied.make()
    sgd = torch.optim.SGD(net.parameters(), 0.08, 0.9, weight_decay=5e-4)
    now = at_the_server(proxied)
    for t in range(2):
        now = replace(now, key=(0, t, 0))
        net.load_state_dict(tree.weighted_sum(now.models, now.weights))
        for at in server_batches(proxied, t, 1, 16, seed=0):
            sgd.zero_grad()
            cross_entropy(net(x[at]), y[at]).backward()
            sgd.step()
        got = FineTune(fit)(now)
        for name, v in net.state_dict().items():
            torch.testing.assert_close(got.model[name], v, rtol=1e-4, atol=1e-5)
        now = replace(now, before=got)
    afresh = FineTune(replace(fit, keep_velocity=False))(now)
    assert not torch.equal(afresh.model["head.bias"], got.model["head.bias"])
    assert not afresh.memory


# -- reductions, directions, invariants --------------------------------------------


@pytest.mark.parametrize("participants", [None, 3])
@pytest.mark.parametrize("engine", ["stacked", "looped"])
@pytest.mark.parametrize("make", [feddf, fedbe, server_ft])
def test_without_epochs_it_is_fedavg_to_the_bit(
    proxied, small_local, make, engine, participants
):
    how = {"participants": participants, "engine": engine}
    want = federate(proxied, fedavg(small_local), 2, **how).states
    got = federate(proxied, make(small_local, epochs=0), 2, **how).states
    assert all(torch.equal(v, want[n]) for n, v in got.items())


def test_one_client_has_nothing_to_learn_from_itself(proxied):
    """The teacher is the student: the divergence and its gradient are zero."""
    now = at_the_server(proxied)
    one = tree.take(now.models, [0])
    alone = at_the_server(proxied, one, torch.ones(1).double())
    got = Distil(Fit(3, **PLAIN_SGD))(alone)
    assert got.metrics["server_loss"] == pytest.approx(0, abs=1e-6)
    for name, v in got.model.items():
        torch.testing.assert_close(v, one[name][0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("teacher", [Distil, DistilBayes])
def test_distillation_comes_closer_to_the_teacher(proxied, teacher, optimiser):
    now = at_the_server(proxied)
    kept = tree.copied(now.models)
    short, long = (
        teacher(Fit(n, optimiser))(now).metrics["server_loss"] for n in (1, 30)
    )
    assert long < 0.7 * short
    assert all(torch.equal(v, kept[n]) for n, v in now.models.items())


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_fine_tuning_lowers_the_loss_on_the_proxy(proxied, optimiser):
    now, (x, y) = at_the_server(proxied), proxied.view.proxy_set("test")

    def loss(state):
        return float(cross_entropy(functional_call(proxied.model, state, (x,)), y))

    got = FineTune(Fit(10, optimiser))(now)
    assert loss(got.model) < loss(tree.weighted_sum(now.models, now.weights)) - 0.01


@pytest.mark.slow
def test_labels_matter_to_fine_tuning_alone(proxied, small_local):
    x, y = proxied.view.proxy_set("test")
    other = replace(proxied, proxy=(x, (y + 1) % 10))
    for make, same in ((feddf, True), (fedbe, True), (server_ft, False)):
        a, b = (
            federate(w, make(small_local, epochs=2), 1).states for w in (proxied, other)
        )
        assert torch.equal(a["head.bias"], b["head.bias"]) == same


@pytest.mark.parametrize("engine", ["stacked", "looped"])
@pytest.mark.parametrize("make", [fedbe, server_ft])
def test_the_engines_agree(proxied, small_local, make, engine):
    method = make(small_local, epochs=3, batch=16)
    h = federate(proxied, method, 2, participants=4, engine=engine)
    other = federate(proxied, method, 2, participants=4).states
    for name, v in h.states.items():
        torch.testing.assert_close(v, other[name], rtol=1e-4, atol=1e-4)
    assert 0 < h.accuracy() < 1


@pytest.mark.slow
@pytest.mark.parametrize("make", [feddf, fedbe, server_ft])
def test_the_same_seed_gives_the_same_bits(proxied, small_local, make):
    method = make(small_local, epochs=3, batch=7)
    a, b = (federate(proxied, method, 2) for _ in range(2))
    assert all(torch.equal(v, b.states[n]) for n, v in a.states.items())
    assert all(type(row["server_loss"]) is float for row in a.rows)
    c = federate(proxied, method, 2, seed=1)
    assert not torch.equal(a.states["head.bias"], c.states["head.bias"])


# -- BatchNorm's statistics --------------------------------------------------------

STATISTICS = ("features.2.running_mean", "features.2.running_var")


@pytest.mark.parametrize("server", [FineTune, DistilBayes])
def test_three_policies_of_statistics(normed, server):
    """They change the statistics and no parameter; one step, by PyTorch's own."""
    now = at_the_server(normed)
    for name in STATISTICS:  # as if they had been measured
        now.models[name] = now.models[name] + torch.rand_like(now.models[name])
    done = {
        how: server(Fit(1, statistics=how))(now).model
        for how in ("running", "average", "reestimate")
    }
    start = tree.weighted_sum(now.models, now.weights)
    for name in normed.parameters:
        assert not torch.equal(done["average"][name], start[name])
        assert torch.equal(done["running"][name], done["average"][name])
        assert torch.equal(done["reestimate"][name], done["average"][name])
    x, _ = normed.view.proxy_set("test")
    weight, bias = (start[f"features.1.{n}"] for n in ("weight", "bias"))
    norm = torch.nn.BatchNorm1d(8)
    norm.running_mean, norm.running_var = (start[n].clone() for n in STATISTICS)
    norm(x.flatten(1) @ weight.T + bias)
    moved = (norm.running_mean, norm.running_var)
    alone = tree.repeat(done["average"], 1)
    measured = tree.take(reestimate(normed.model, alone, x), 0)
    for name, v in zip(STATISTICS, moved, strict=True):
        torch.testing.assert_close(done["running"][name], v, rtol=1e-4, atol=1e-5)
        assert torch.equal(done["average"][name], start[name])
        assert torch.equal(done["reestimate"][name], measured[name])


@pytest.mark.parametrize("make", [feddf, fedbe, server_ft])
def test_a_network_with_dropout_and_batchnorm_plays(small_data, make):
    net = build("mlp", small_data.shape, 10, hidden=(8,), dropout=0.2, batch_norm=True)
    who = iid(small_data.y_train, 3)
    w = world(small_data, who, net, proxy=Proxy(per_class=2))
    a, b = (
        federate(w, make(Training(), epochs=3, batch=7), 2).states for _ in range(2)
    )
    assert tree.is_finite(a) and all(torch.equal(v, b[n]) for n, v in a.items())


# -- misuse ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method, who", [(feddf(), "FedDF"), (fedbe(), "FedBE"), (server_ft(), "Server-FT")]
)
def test_without_a_proxy_it_says_how_to_get_one(small_world, method, who):
    with pytest.raises(InputError, match=f"{who} learns on data of the server.*Proxy"):
        federate(small_world, method, 1)


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"optimiser": "lion"}, "optimiser must be sgd or adam, not 'lion'"),
        ({"statistics": "none"}, "statistics must be running, average or reestimate"),
        ({"lr": 0.0}, "lr must be a number above 0"),
        ({"epochs": -1}, "epochs must be a whole number of 0 or more, not -1"),
        ({"batch": 0}, "batch must be a whole number of 1 or more, not 0"),
        ({"momentum": 1.0}, "momentum must be a number of 0 or more and below 1"),
    ],
)
def test_nonsense_is_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        feddf(**wrong)


def test_more_nonsense_is_refused():
    with pytest.raises(InputError, match="spread must be a number of 0 or more"):
        fedbe(spread=-1.0, floor=0)


def test_the_named_methods(small_local):
    makers = ((feddf, "FedDF"), (fedbe, "FedBE"), (server_ft, "Server-FT"))
    for make, name in makers:
        method = make(small_local)
        assert method.name == method.server.name == name
        assert method.training == small_local and method.weigh == BySize()
    assert feddf(lr=0.1).server.step == Distil(Fit(lr=0.1))
    assert fedbe(epochs=7).server.step == DistilBayes(Fit(7))
    assert server_ft().server.step == FineTune(Fit(epochs=2))
