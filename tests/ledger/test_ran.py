"""The words for what a number ran on: they depend on its setting alone."""

from dataclasses import fields, replace

import pytest

from fedlab_ledger import Setting
from fedlab_ledger.model.describe import (
    DATA,
    NETWORKS,
    clients,
    constants,
    how_many,
    methods,
    network,
    ran_on,
)
from fedlab_ledger.papers import TABLES
from fedlab_ledger.run.build import data_of, scenario_of

SETTINGS = {s.key: s for t in TABLES.values() for c in t.cells
            for s in c.settings.values()}  # fmt: skip


def test_every_data_set_and_network_has_a_name():
    assert {s.dataset for s in SETTINGS.values()} <= DATA.keys()
    named = {s.model for s in SETTINGS.values()} - {"mlp", "law_resnet"}
    assert named <= NETWORKS.keys()


def test_a_line_says_data_network_clients_and_rounds():
    s = Setting("fashion_mnist", "fedavg", 20, "niid2", {"biased": 5, "unbiased": 1},
                sample=6000, model="disco_cnn")  # fmt: skip
    said = "6,000 of Fashion-MNIST, FedDisco's CNN, 6 clients, 20 rounds"
    assert ran_on(s) == said
    few = Setting("letters", "fedavg", 1, "dirichlet", {"clients": 60, "alpha": 0.5},
                  network={"hidden": [32, 16]}, participants=10)  # fmt: skip
    assert ran_on(few) == "letters, MLP 32-16, 10 of 60 clients a round, 1 round"


def test_constants_are_said_by_what_they_belong_to():
    s = Setting("letters", "moon", 20, "dirichlet", {"clients": 10, "alpha": 0.5},
                network={"hidden": [32, 16]}, options={"mu": 0.1},
                weigh={"name": "disco", "a": 0.5, "target": [1 / 10] * 10},
                local={"lr": 1 / 3, "epochs": 5},
                parts={"groups": {"of": "ifca"}})  # fmt: skip
    assert constants(s) == {
        "split": "dirichlet, clients 10, alpha 0.5",
        "network": "hidden (32, 16)",
        "clients' steps": "lr 0.333333, epochs 5",
        "method": "mu 0.1",
        "weights": "name disco, a 0.5, target of 10",
        "choices": "groups (of ifca)",
    }


@pytest.mark.slow
def test_nothing_that_a_setting_sets_is_left_out():
    """The constants have everything that `ran_on` and `methods` do not say."""
    told = {"dataset", "sample", "model", "rounds", "participants", "method"}
    usual = {f.name: f for f in fields(Setting)}
    for s in SETTINGS.values():
        mine = constants(s)
        for name in s.plain().keys() - told:
            f = usual[name]
            plain = (
                "iid"
                if name == "kind"
                else f.default_factory()
                if callable(f.default_factory)
                else f.default
            )
            less = replace(s, **{name: plain})
            assert constants(less) != mine, name


def test_methods_are_those_of_the_registry():
    from fedlab_core.methods import METHODS

    assert {m for s in SETTINGS.values() for m in methods(s)} <= METHODS.keys()
    both = Setting("letters", "scaffold", 1, weigh={"name": "disco"},
                   parts={"groups": {"of": "fedcollab"}})  # fmt: skip
    assert methods(both) == ["scaffold", "feddisco", "fedcollab"]


def test_widths_are_said_as_they_are_built():
    """The usual ones, too, which a setting does not name."""
    usual = Setting("letters", "fedavg", 1)
    from fedlab_core.models import build

    layers = build("mlp", (1, 16, 16), 10)()
    widths = [len(w) for n, w in layers.named_parameters() if n.endswith("bias")][:-1]
    assert network(usual) == f"MLP {'-'.join(map(str, widths))}"


# One setting of every way to divide, at the scale of smoke tests.
KINDS = {(s.kind, *sorted(s.scenario)): s for s in SETTINGS.values()
         if s.dataset == "letters" and s.rounds <= 2}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=" ".join)
def test_as_many_clients_are_said_as_there_are(kind):
    s = KINDS[kind]
    n = len(scenario_of(s, data_of(s), 0))
    assert how_many(s.scenario) in (n, None)
    assert f"{n} clients" in clients(s) or how_many(s.scenario) is None
