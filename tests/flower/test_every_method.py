"""Every method through Flower's messages: the numbers of `federate`."""

import pytest
import torch

import fedlab_core as fl
from fedlab_core import METHODS
from tests.flower.playing import (
    LOCAL,
    SEED,
    deployed,
    judged_by_clients,
    named,
    simulated,
)

# METHODS, and recipes beside them of which a part of the network stays at its client.
OTHERS = {
    "fedper": fl.fedper(LOCAL),
    "fedrep": fl.fedrep(LOCAL, head=2),
    "lg-fedavg": fl.lg_fedavg(LOCAL),
}


@pytest.mark.parametrize("name", [*METHODS, *OTHERS])
def test_it_equals_federate_from_the_same_seed(name, tmp_path):
    method = OTHERS.get(name) or named(name)
    want = fl.federate(simulated(method), method, 5, seed=SEED, engine="looped")
    got, _ = deployed(method, tmp_path)
    assert got.states.keys() == want.states.keys()
    for n, v in want.states.items():
        torch.testing.assert_close(got.states[n], v, rtol=0, atol=1e-6)
    assert got.group_of == want.group_of
    assert [row.keys() for row in got.rows] == [row.keys() for row in want.rows]
    for mine, theirs in zip(got.rows, want.rows, strict=True):
        assert mine == pytest.approx(theirs, rel=1e-6)
    if judged_by_clients(method):
        assert got.clients == pytest.approx(want.clients, abs=1e-9)
