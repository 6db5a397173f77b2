"""Flower's own mods around our client: they change what it sends, and we read it."""

import math

import pytest
from flwr.clientapp.mod import LocalDpMod, fixedclipping_mod, message_size_mod

from fedlab_core import InputError
from fedlab_flower import Here, Plan, client_app, parts_of, server_app
from tests.flower.playing import CLIENTS, DATA, MAKE, SEED, WHO, named


def played(name: str, *mods) -> list:
    """The histories of two rounds with these mods at every client."""
    client = client_app(named(name), MAKE, parts_of(DATA, WHO), mods=mods)
    found, how = [], Plan(CLIENTS, rounds=2, seed=SEED)
    server = server_app(named(name), MAKE, lambda: DATA, done=found.append, **vars(how))
    Here(client, {k + 1: {"partition-id": k} for k in range(CLIENTS)}).play(server)
    return found


def test_noise_at_the_client_reaches_the_model():
    """Of FedAvg: a question and an answer are one model, as LocalDpMod asks.

    Its noise has a standard deviation of sensitivity sqrt(2 ln(1.25 / delta)) / epsilon
    and the mean of three clients is far from what it was by a share of that."""
    plain, *_ = played("fedavg", message_size_mod)
    noisy, *_ = played("fedavg", LocalDpMod(1.0, 0.5, 10.0, 1e-5))
    spread = 0.5 * math.sqrt(2 * math.log(1.25 / 1e-5)) / 10.0
    gaps = noisy.states["head.weight"] - plain.states["head.weight"]
    assert spread / 6 < float(gaps.std()) < 3 * spread


def test_a_method_that_sends_more_than_a_model_says_that_the_mod_does_not_fit():
    with pytest.raises(InputError, match="3 clients answered|0 of 3 clients answered"):
        played("rfedavg-plus", LocalDpMod(1.0, 0.5, 10.0, 1e-5))


def test_clipping_that_waits_for_a_wrapper_of_flowers_strategies_is_refused():
    with pytest.raises(InputError, match="round 1, train: 0 of 3 clients answered"):
        played("fedavg", fixedclipping_mod)
