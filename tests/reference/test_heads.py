"""Private heads and bodies: what they reduce to, and what moves when."""

import torch

from tests.reference import fedavg, heads
from tests.reference.toy import CLIENTS, ROUNDS, same, world


def own(history, k: int) -> list:
    return [r.clients["model"][k] for r in history]


def test_one_client_alone_trains_the_whole_network():
    """Nobody to average with: what stays and what is sent are FedAvg's model."""
    args = world([[0], [0]], clients=CLIENTS[:1])
    want = fedavg.run(*args)
    for stays in ("head", "features"):
        assert same(own(heads.run(*args, stays), 0), want)


def test_alike_clients_keep_what_they_would_have_sent():
    """Twice the same samples in the same order: their own parts are their mean."""
    order = lambda k, t: [torch.arange(9)] * 3  # noqa: E731
    args = world([[0, 1]] * 3, order, [CLIENTS[0]] * 2)
    want = fedavg.run(*args)
    for stays in ("head", "features"):
        for k in range(2):
            assert same(own(heads.run(*args, stays), k), want)


def test_what_stays_is_that_of_the_last_round_with_its_client():
    """Client 1 is there in the first round and in the third."""
    for stays, goes in (("head", "features"), ("features", "head")):
        history = heads.run(*world(), stays)
        mine = own(history, 1)
        for n in mine[0]:
            still = torch.equal(mine[0][n], mine[1][n])
            assert still == n.startswith(stays)
            shared = torch.equal(mine[1][n], history[1].model[n])
            assert shared == n.startswith(goes)
        assert 1 in ROUNDS[0] and 1 not in ROUNDS[1]


def test_fedreps_parts_take_turns():
    """With every batch the head's the features rest, and with none the head."""
    model = world()[0].state_dict()
    for epochs, rests in ((2, "features"), (0, "head")):
        (first, *_) = heads.fedrep(*world(), epochs, 2)
        for state in first.clients["model"]:
            for n, v in state.items():
                close = torch.allclose(v, model[n], rtol=1e-12)
                assert close == n.startswith(rests), n
