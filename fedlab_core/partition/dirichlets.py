"""Splits by Dirichlet draws: every class is shared out among the clients at random."""

from typing import Annotated

import numpy as np

from fedlab_core.arguments import (
    MOST,
    Axes,
    Count,
    Labels,
    Positive,
    Ratio,
    Seed,
    Whole,
    Within,
    checked,
)
from fedlab_core.errors import require
from fedlab_core.partition.record import Partition, check, make, mark

Pool = Annotated[np.ndarray, Axes("pool", "whole", Within(0))]


@checked
def dirichlet(
    labels: Labels,
    clients: Count,
    alpha: Positive,
    *,
    seed: Seed = 0,
    capacity: bool = True,
    min_size: Whole = 10,
    pool: Pool | None = None,
) -> Partition:
    """Share each class among the clients by Dirichlet(alpha): the papers' NIID-1.

    With `capacity`, a client that already holds an equal share of all samples gets no
    more of the classes still to come. The draw is repeated until everyone holds
    `min_size` samples; if that does not happen in 100 draws, the best of them is
    completed from the largest clients, and `asked["moved"]` says by how many samples.
    `pool` restricts the split to those samples (see `long_tail`). Without the rule and
    with `min_size=0` this is the split of FedLAW's experiments.

    Paper: FedDisco App. B.1.3 (NIID-1).
    """
    chosen = {} if pool is None else {"pool": mark(pool)}
    pool = np.arange(len(labels)) if pool is None else pool
    check(pool, clients, min_size)
    rng = np.random.default_rng(seed)
    best: list[np.ndarray] = []
    for _ in range(100):
        held = share_out(labels, pool, clients, alpha, capacity, rng)
        if not best or min(map(len, held)) > min(map(len, best)):
            best = held
        if min(map(len, best)) >= min_size:
            break
    moved = _top_up(best, min_size, rng)
    asked = {
        "clients": clients,
        "alpha": alpha,
        "seed": seed,
        "capacity": capacity,
        "min_size": min_size,
        "moved": moved,
    }
    return make("dirichlet", {**asked, **chosen}, best)


@checked
def share_out(
    labels: Labels,
    pool: Pool,
    clients: Count,
    alpha: Positive,
    capacity: bool,
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """One draw of `dirichlet`, class after class: the samples each client gets."""
    inside = int(pool.max(initial=-1)) < len(labels)
    require(inside and len(pool) > 0, f"pool: samples below {len(labels)}, or more")
    held: list[list[np.ndarray]] = [[] for _ in range(clients)]
    sizes = np.zeros(clients, dtype=int)
    for c in np.unique(labels[pool]):
        mine = rng.permutation(pool[labels[pool] == c])
        share = rng.dirichlet(np.full(clients, alpha))
        if capacity:
            share = share * (sizes < len(pool) / clients)
        # alpha near 0 can underflow to all zeros: one client then takes the class
        share = share if share.sum() > 0 else np.eye(clients)[np.argmin(sizes)]
        edges = np.cumsum(share)
        cuts = (edges[:-1] / edges[-1] * len(mine)).astype(int)
        for k, part in enumerate(np.split(mine, cuts)):
            held[k].append(part)
            sizes[k] += len(part)
    return [np.concatenate(parts) for parts in held]


def _top_up(held: list[np.ndarray], min_size: int, rng) -> int:
    """Move samples from the largest client to those below `min_size`; how many."""
    moved = 0
    for k in range(len(held)):
        while len(held[k]) < min_size:
            rich = int(np.argmax([len(i) for i in held]))
            gift = int(rng.integers(len(held[rich])))
            held[k] = np.append(held[k], held[rich][gift])
            held[rich] = np.delete(held[rich], gift)
            moved += 1
    return moved


@checked
def hybrid(
    labels: Labels,
    clients: Annotated[int, Within(2, MOST)],
    balanced_alpha: Positive = 10.0,
    skewed_alpha: Positive = 0.1,
    *,
    seed: Seed = 0,
    min_size: Whole = 0,
) -> Partition:
    """Half of the clients from one Dirichlet draw, the others from the remaining data.

    The first half (rounded down) keeps its part of a draw for all clients with
    `balanced_alpha`; everything else is shared out among the second half with
    `skewed_alpha`. Clients below `min_size` samples are completed from the largest
    ones, and `asked["moved"]` says by how many samples.

    Paper: FedLAW App. D.2.
    """
    check(labels, clients, min_size)
    first, second = balanced_alpha, skewed_alpha
    rng = np.random.default_rng(seed)
    half, everything = clients // 2, np.arange(len(labels))
    drawn = share_out(labels, everything, clients, first, False, rng)
    rest = np.concatenate(drawn[half:])
    held = drawn[:half]
    held += share_out(labels, rest, clients - half, second, False, rng)
    moved = _top_up(held, min_size, rng)
    asked = {"clients": clients, "balanced_alpha": first, "skewed_alpha": second}
    asked |= {"seed": seed, "min_size": min_size, "moved": moved}
    return make("hybrid", asked, held)


@checked
def long_tail(labels: Labels, rho: Ratio, *, seed: Seed = 0) -> np.ndarray:
    """Keep exponentially fewer samples of each later class: a pool for `dirichlet`.

    Class c of C keeps floor(n * rho ** (-c / (C - 1))) samples, n being the size of
    the smallest class, so that the first class has rho times as many as the last.

    Paper: FedDisco Sec. 7.2 (global imbalance).
    """
    rng = np.random.default_rng(seed)
    require(len(labels) > 0, "labels: there is no sample")
    counts = np.bincount(labels)
    kept = []
    require(counts.min() > 0, f"labels: class {counts.argmin()} has no sample")
    for c in range(len(counts)):
        n = int(counts.min() * rho ** (-c / max(len(counts) - 1, 1)))
        require(n >= 1, f"rho = {rho} leaves no sample of class {c}: ask for less")
        kept.append(rng.permutation(np.flatnonzero(labels == c))[:n])
    return np.sort(np.concatenate(kept))
