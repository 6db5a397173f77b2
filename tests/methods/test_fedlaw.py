"""FedLAW: by hand, the plain version, full autograd, reductions, directions, misuse."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import functional_call
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.optim.swa_utils import SWALR

from fedlab_core import METHODS, Equal, fedavg, federate, tree
from fedlab_core.methods.fedlaw import (
    Knobs,
    Law,
    LawSwa,
    Search,
    Shrink,
    attentive,
    fedlaw,
    fedlaw_swa,
    gws,
    shrunk,
)
from fedlab_core.models import initial_state
from tests.methods.at_server import (
    FEW,
    arguments_of,
    at_the_server,
    server_epochs,
    signed,
    three_of_four,
)
from tests.methods.gathering import gathered
from tests.methods.plainly import LOCAL, agree, differ, played, setting
from tests.reference import fedlaw as plain

# -- by hand -----------------------------------------------------------------------

HALF_LOG_3 = math.log(3) / 2


SLOW: dict[str, Any] = {"server_epochs": 160, "halve_every": 30, "lr": 0.1}


@pytest.mark.parametrize("parameters", ["exp", "quad"])
def test_gamma_by_hand(parameters):
    """Both clients have s = 1, so gamma s = log(3) / 2, whatever lambda."""
    now = at_the_server(three_of_four(), signed(1, 1), torch.tensor([0.5, 0.5]))
    got = Law("gamma", parameters=parameters, **SLOW)(now)
    assert got.metrics["gamma"] == pytest.approx(HALF_LOG_3, abs=1e-4)
    torch.testing.assert_close(
        got.model["head.weight"],
        torch.tensor([[HALF_LOG_3], [-HALF_LOG_3]]),
        atol=1e-4,
        rtol=0,
    )


@pytest.mark.parametrize("parameters", ["exp", "quad"])
def test_lambda_by_hand(parameters):
    """s = 1 and s = -1: lambda_1 - lambda_2 = log(3) / 2, and they sum to one."""
    now = at_the_server(three_of_four(), signed(1, -1), torch.tensor([0.3, 0.7]))
    got = Law("lambda", parameters=parameters, **SLOW)(now)
    first = (1 + HALF_LOG_3) / 2
    assert got.memory["lambda"].tolist() == pytest.approx([first, 1 - first], abs=1e-4)
    assert got.metrics["lambda_max"] == pytest.approx(first, abs=1e-4)
    assert got.metrics["gamma"] == 1


@pytest.mark.parametrize("server", [Law(**SLOW), LawSwa(Law(**SLOW))])
def test_both_by_hand(server):
    """gamma (lambda_1 - lambda_2) = log(3) / 2: a line of optima."""
    now = at_the_server(three_of_four(), signed(1, -1), torch.tensor([0.9, 0.1]))
    got = server(now)
    first, second = got.memory["lambda"].tolist()
    assert got.metrics["gamma"] * (first - second) == pytest.approx(
        HALF_LOG_3, abs=1e-3
    )


def test_the_two_terms_of_a_round_by_hand():
    """From w = (3, 4) to the mean (3, 0), gamma = 1/2: g = (0, 4), |gamma g| = 2;
    |(1 - gamma) w| = 5/2; r = 4/5. The model is (3/2, 0)."""
    models = {"w": torch.tensor([[2.0, 0.0], [4.0, 0.0]])}
    p = torch.tensor([0.5, 0.5]).double()
    got = Shrink(0.5)(gathered(models, p, {"w": torch.tensor([3.0, 4.0])}))
    assert got.model["w"].tolist() == [1.5, 0]
    want = {"gamma": 0.5, "g_norm": 2, "w_norm": 2.5, "r": 0.8, "lambda_max": 0.5}
    assert got.metrics == pytest.approx(want)
    none = Shrink(1.0)(gathered(models, p, {"w": torch.tensor([3.0, 4.0])}))
    assert none.metrics["r"] == math.inf and none.metrics["g_norm"] == pytest.approx(4)


# -- the plain version -------------------------------------------------------------


SMALL_STEP = 0.01 * math.sqrt(1 / 3)  # see below
QUAD: dict[str, Any] = {"parameters": "quad", "start": "equal", "x_lr": SMALL_STEP}
CASES = [
    (gws(LOCAL, **FEW), None, 4, 16, {"what": ["gamma"]}),
    (gws(LOCAL, **FEW), 3, 4, 16, {"what": ["gamma"]}),
    (attentive(LOCAL, **FEW), None, 4, 16, {"what": ["lambda"]}),
    (
        attentive(LOCAL, **FEW, early_stop=1),
        None,
        4,
        16,
        {"what": ["lambda"], "stop": 1},
    ),
    (fedlaw(LOCAL, **FEW), None, 4, 16, {}),
    (fedlaw(LOCAL, **FEW), 3, 4, 16, {}),
    (fedlaw(LOCAL, server_epochs=25, batch=128), 3, 25, 128, {}),
    (fedlaw(LOCAL, **FEW, **QUAD), 3, 4, 16, {"form": "quadratic"}),
    (fedlaw_swa(LOCAL, server_epochs=20, batch=16), None, 20, 16, {"swa": True}),
    (fedlaw_swa(LOCAL, server_epochs=36, batch=30), 3, 36, 30, {"swa": True}),
]


NAMES = {METHODS[n]().name: n for n in METHODS}
MARKED = [
    pytest.param(*case, marks=pytest.mark.equals(NAMES[case[0].name])) for case in CASES
]


@pytest.mark.parametrize("method, participants, epochs, batch, how", MARKED)
def test_equals_the_plain_version(proxied, method, participants, epochs, batch, how):
    """The plain quadratic form begins at x_i = 1, the code, and ours, at sqrt(1/m).

    Lambda is of degree 0 in x and Adam's step does not depend on the gradient's size,
    so a rate smaller by sqrt(1/m), here m = 3, gives the same path.
    """
    s = setting(proxied, LOCAL, participants, rounds=2)

    def passes(t):
        return server_epochs(proxied, t, epochs, batch)

    choose = plain.learning(proxied.view.proxy_set("test"), passes, 0.01, **how)
    want = plain.run(*arguments_of(s), choose=choose)
    seen = played(proxied, method, participants, rounds=2)
    agree(seen, want, 1e-4)
    for got, then in zip(seen, want, strict=True):
        (now,) = got.servers
        assert now.metrics["gamma"] == pytest.approx(then.server["gamma"], abs=1e-4)
        shares = now.memory["lambda"].tolist()
        assert shares == pytest.approx(list(then.server["lambda"]), abs=1e-4)


@pytest.mark.equals("shrunk")
@pytest.mark.parametrize("participants", [None, 3])
def test_a_fixed_gamma_equals_the_plain_version(small_world, participants):
    s = setting(small_world, LOCAL, participants)
    want = plain.run(*arguments_of(s), choose=plain.fixed(0.9))
    seen = played(small_world, shrunk(LOCAL, 0.9), participants)
    agree(seen, want)
    differ(seen, played(small_world, fedavg(LOCAL), participants))


# -- the gradients -----------------------------------------------------------------


@pytest.mark.parametrize("parameters", ["exp", "quad"])
@pytest.mark.parametrize("of", ["gamma", "lambda", "both"])
def test_the_gradients_are_those_of_the_whole_computation(normed, parameters, of):
    """Autograd through gamma sum_i lambda_i w_i and a network with BatchNorm."""
    now = at_the_server(normed)
    law = Law(of, parameters=parameters, batch=20)
    search, steps = Search.of(now, law), law.steps(now)
    g, x = torch.tensor(0.8).double(), torch.tensor([0.7, -0.4, 1.1]).double()
    with_gamma, with_lambda = of != "lambda", of != "gamma"
    (batch,) = steps.epoch()
    knobs = Knobs(g, x, parameters == "quad")
    got = search.slopes(of, knobs, batch, steps.gradient_at)
    g2, x2 = g.clone().requires_grad_(), x.clone().requires_grad_()
    if parameters == "quad":
        gamma, shares = g2**2, x2**2 / (x2**2).sum()
    else:
        gamma, shares = torch.exp(g2), torch.exp(x2) / torch.exp(x2).sum()
    gamma = gamma if with_gamma else torch.tensor(1.0)
    shares = shares if with_lambda else now.weights
    w = {}
    for n in normed.parameters:
        w[n] = gamma * torch.einsum("k,k...->...", shares.float(), now.models[n])
    net = normed.make().train()
    images, labels = normed.view.proxy_set("test")
    loss = cross_entropy(functional_call(net, w, (images,)), labels)
    want = torch.autograd.grad(loss, [g2, x2], allow_unused=True)
    learned = {n: v for n, v in zip("gx", want, strict=True) if v is not None}
    assert len(learned) == with_gamma + with_lambda
    torch.testing.assert_close(got, learned, rtol=1e-4, atol=1e-6)


NUMBER = st.floats(-20, 20).filter(lambda v: abs(v) > 1e-3)


@given(x=st.lists(NUMBER, min_size=1, max_size=6), g=NUMBER, quad=st.booleans())
def test_what_is_read_is_always_allowed(x, g, quad):
    knobs = Knobs(torch.tensor(g).double(), torch.tensor(x).double(), quad)
    gamma, shares = knobs.read()
    assert gamma > 0 and (shares >= 0).all()
    assert float(shares.sum()) == pytest.approx(1)


@given(sizes=st.lists(st.integers(1, 1000), min_size=1, max_size=8), quad=st.booleans())
def test_both_forms_begin_at_gamma_one_and_lambda_by_size(sizes, quad):
    shares = torch.tensor(sizes).double() / sum(sizes)
    gamma, read = Knobs.at(shares, quad).read()
    assert gamma == 1
    torch.testing.assert_close(read, shares)


def test_the_rates_are_those_of_torchs_schedulers():
    """Cosine after epochs 0 to 5, then annealed: PyTorch's own, side by side."""
    adam = torch.optim.Adam([torch.zeros(1, requires_grad=True)], lr=0.01)
    cosine, swa = CosineAnnealingLR(adam, T_max=100), SWALR(adam, swa_lr=0.05)
    server = LawSwa()
    adam.step()
    for epoch in range(40):
        want = adam.param_groups[0]["lr"]
        assert server.annealed(epoch, 0.01) == pytest.approx(want)
        (swa if epoch > 5 else cosine).step()
    assert [Law().halved(e, 0.01) for e in (0, 19, 20, 40)] == [
        0.01, 0.01, 0.005, 0.0025,
    ]  # fmt: skip


# -- reductions --------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["stacked", "looped"])
@pytest.mark.parametrize("participants", [None, 3])
def test_without_server_epochs_it_is_fedavg_to_the_bit(
    proxied, small_local, participants, engine
):
    how = {"participants": participants, "engine": engine}
    want = federate(proxied, fedavg(small_local), 2, **how).states
    for method in (
        shrunk(small_local, 1.0),
        gws(small_local, server_epochs=0),
        attentive(small_local, server_epochs=0),
        fedlaw(small_local, server_epochs=0, parameters="quad"),
        attentive(small_local, early_stop=0, **FEW),
        fedlaw_swa(small_local, server_epochs=1),
    ):
        got = federate(proxied, method, 2, **how).states
        assert all(torch.equal(v, want[n]) for n, v in got.items()), method.name


def test_equal_weights_to_start_from(proxied, small_local):
    got = federate(
        proxied, fedlaw(small_local, start="equal", server_epochs=0), 1
    ).states
    want = federate(proxied, fedavg(small_local, Equal()), 1).states
    assert all(torch.equal(v, want[n]) for n, v in got.items())


@pytest.mark.parametrize("server", [Law(**FEW), Law("lambda", **FEW), LawSwa()])
def test_a_client_alone_has_the_weight_one(proxied, server):
    one = tree.stack([initial_state(proxied.make, 1)])
    got = server(at_the_server(proxied, one, torch.ones(1).double()))
    assert got.memory["lambda"].tolist() == [1]
    factor = got.metrics["gamma"]
    for name, v in got.model.items():
        torch.testing.assert_close(v, factor * one[name][0])


def test_a_client_of_weight_zero_stays_out(proxied):
    """log 0 is minus infinity: its weight stays 0, and nothing becomes NaN."""
    p = torch.tensor([0.6, 0.0, 0.4]).double()
    for server in (Law(**FEW), LawSwa(Law(server_epochs=20))):
        got = server(at_the_server(proxied, weights=p))
        assert got.memory["lambda"][1] == 0
        assert tree.is_finite(got.model)


def test_gamma_first_begins_as_gws_does(proxied):
    """The first stage is GWS with half the epochs, on the same mini-batches."""
    now = at_the_server(proxied)
    swa = LawSwa(Law(server_epochs=20, batch=16), "gamma first")(now)
    alone = Law("gamma", server_epochs=10, batch=16)(now)
    assert swa.metrics["gamma"] == alone.metrics["gamma"] != 1
    assert not torch.equal(swa.memory["lambda"], now.weights)
    other = LawSwa(Law(server_epochs=20, batch=16), "lambda first")(now)
    assert other.metrics["gamma"] != swa.metrics["gamma"]


def test_lambda_stops_and_gamma_goes_on(proxied):
    law = Law(early_stop=3, **FEW)
    for t, learned in ((2, True), (3, False)):
        now = at_the_server(proxied, key=(0, t, 0))
        got = law(now)
        assert torch.equal(got.memory["lambda"], now.weights) != learned
        assert got.metrics["gamma"] != 1
    assert got.metrics["gamma"] == Law("gamma", **FEW)(now).metrics["gamma"]


def test_the_global_learning_rate_goes_part_of_the_way(proxied):
    now = at_the_server(proxied)
    got = Law(server_epochs=0, global_lr=0.5)(now)
    for name, v in tree.weighted_sum(now.models, now.weights).items():
        halfway = (now.before.model[name] + v) / 2
        torch.testing.assert_close(got.model[name], halfway)
