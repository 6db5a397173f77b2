"""The playground's letters, and every way in which it divides them among clients."""

from dataclasses import replace
from functools import cache

import numpy as np
import torch

import fedlab_core as fl
from fedlab_core import Dataset, Partition, World
from fedlab_core.methods.fedcollab import solve
from fedlab_core.partition.designs import FEDCOLLAB_LABEL_SHIFT, designed, niid2
from fedlab_core.partition.even import long_tail_sizes
from fedlab_core.partition.scenarios import Scenario, corrupted

TRAIN, TEST = 900, 500
PROXY = 100  # letters that a server has, ten of each
HIDDEN = (32, 32)
RESTARTS = 20  # of the solver, for each division

Split = tuple[str, int, float, int]  # its kind, clients, number and draw


@cache
def letters() -> Dataset:
    """Ten letters, some 90 of each to learn from."""
    return fl.load("letters", n_train=TRAIN, n_test=TEST)


@cache
def proxy() -> Dataset:
    """Training letters that only the server has: nobody is tested on them either."""
    return fl.load("letters", n_train=PROXY, n_test=1, seed=1)


@cache
def divided(kind: str, clients: int, number: float, draw: int) -> Scenario:
    """The letters as a kind of division gives them to clients."""
    data = letters()
    y = data.y_train
    if kind == "two":
        return Scenario(data, niid2(y, biased=clients - 1, unbiased=1, seed=draw))
    if kind == "kinds":
        return Scenario(data, _kinds(y, clients, draw))
    if kind == "big":
        return Scenario(data, designed(y, _big(clients), seed=draw))
    if kind == "worlds":
        return Scenario(data, designed(y, _worlds(clients, number), seed=draw))
    if kind == "sizes":
        return Scenario(data, long_tail_sizes(y, clients, number, seed=draw))
    plain = Scenario(data, fl.dirichlet(y, clients, number, seed=draw))
    if kind == "wrong":
        return corrupted(plain, 1 / clients, "permute", seed=draw)
    return plain


def _big(clients: int) -> np.ndarray:
    """Two large clients with two letters each; the rest has a few of every letter."""
    counts = np.zeros((clients, 10), int)
    counts[0, :2], counts[1, 2:4] = 65, 60
    for k in range(2, clients):
        counts[k] = 3 if k < 5 else 2
    counts[-1] = 1
    return counts


def _worlds(clients: int, ratio: float) -> np.ndarray:
    """Two halves with five letters each; clients of the second are smaller by `ratio`.

    A half shares three letters; its first clients have a fourth, the others a fifth.
    """
    half, counts = clients // 2, np.zeros((clients, 10), int)
    for k in range(clients):
        world, i = divmod(k, half)
        own, shared = (9, 18) if world == 0 else (round(9 / ratio), round(18 / ratio))
        first = i < max(1, half * 2 // 5)
        counts[k, 5 * world + 1 : 5 * world + 4] = shared
        counts[k, 5 * world + (0 if first else 4)] = own
    return counts


def _kinds(y: np.ndarray, clients: int, draw: int) -> Partition:
    """FedCollab's four kinds of clients, as many of each as there can be."""
    kind = np.arange(clients) * 4 // clients
    many = np.bincount(kind, minlength=4)[kind]
    shares = np.array(FEDCOLLAB_LABEL_SHIFT)[kind]
    counts = np.floor(shares * np.bincount(y) / many[:, None] + 1e-9).astype(int)
    return designed(y, counts, seed=draw)


@cache
def placed(kind: str, clients: int, number: float, draw: int) -> World:
    """The world of a division; its server has letters of its own."""
    s = divided(kind, clients, number, draw)
    make = fl.build("mlp", s.data.shape, len(s.data.classes), hidden=HIDDEN)
    held = fl.world(proxy(), fl.iid(proxy().y_train, 1), make)
    return replace(fl.world(s.data, s.train, make), proxy=(held.x, held.y))


@cache
def _solved(held: tuple[tuple[int, ...], ...], C: float) -> tuple[int, ...]:
    """Coalitions of clients that hold so many of each letter."""
    counts = torch.tensor(held).double()
    share = counts / counts.sum(1, keepdim=True)
    apart = (share[:, None] - share[None]).abs().sum(2) / 2
    found = solve(apart, counts.sum(1), C, restarts=RESTARTS, seed=0)
    return tuple(found.group_of)


def coalitions(split: Split, C: float) -> list[int]:
    """FedCollab's solver's coalitions, by the true distances of the clients' labels."""
    held = tuple(tuple(map(int, row)) for row in divided(*split).counts)
    return list(_solved(held, C))
