"""Splits by design: a client's classes are laid down, not drawn."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from fedlab_core.arguments import Axes, Count, Labels, Seed, Whole, Within, checked
from fedlab_core.errors import require
from fedlab_core.partition.record import Partition, check, make

Shares = Annotated[
    np.ndarray | Sequence[Sequence[float]], Axes("types classes", "number", Within(0))
]
Counts = Annotated[np.ndarray, Axes("clients classes", "whole", Within(0))]
# Types A to D of FedCollab's label shift: the share of each class that a type is given.
FEDCOLLAB_LABEL_SHIFT = (
    (0.25, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (0.0, 0.5, 0.5, 0.5, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0),
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.25, 0.5, 0.5, 0.5, 0.0),
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.25),
)


@checked
def niid2(
    labels: Labels,
    *,
    biased: Whole = 5,
    unbiased: Whole = 1,
    classes_each: Count = 2,
    seed: Seed = 0,
) -> Partition:
    """Biased clients with a few classes each, unbiased ones with all; equal sizes.

    Biased client i holds classes `classes_each * i` and on (cyclically). 5 + 1 is the
    papers' NIID-2, 50 + 10 its form for partial participation.

    Paper: FedDisco Sec. 7.1 (NIID-2).
    """
    clients, total = biased + unbiased, int(labels.max(initial=-1)) + 1
    require(clients > 0, "biased and unbiased are both 0: ask for a client")
    check(labels, clients)
    allowed = classes_each <= total and total % classes_each == 0
    require(allowed, f"classes_each must divide the number of classes, {total}")
    # In units of s samples: a biased client takes total / classes_each of each of its
    # classes and an unbiased one 1 of every class, so that all hold `total` units.
    demand = np.full((clients, total), 1)
    for i in range(biased):
        demand[i] = 0
        mine = (classes_each * i + np.arange(classes_each)) % total
        demand[i, mine] = total // classes_each
    wanted = demand.sum(axis=0)
    there = np.bincount(labels, minlength=total)
    unit = int((there[wanted > 0] // wanted[wanted > 0]).min())
    few = f"{len(labels)} samples are too few for {clients} NIID-2 clients"
    require(unit >= 1, few)
    held = designed(labels, unit * demand, seed=seed).indices
    asked = {"biased": biased, "unbiased": unbiased, "classes_each": classes_each}
    return make("niid2", {**asked, "seed": seed}, held)


@checked
def designed(labels: Labels, counts: Counts, *, seed: Seed = 0) -> Partition:
    """Give client k `counts[k, c]` samples of class c, drawn without replacement."""
    have = np.bincount(labels)
    sound = counts.shape[1] == len(have) and len(counts) > 0
    require(sound, f"counts must be (clients, {len(have)} classes), not {counts.shape}")
    check(labels, len(counts))
    for c, (want, there) in enumerate(zip(counts.sum(0), have, strict=True)):
        require(want <= there, f"class {c}: {want} samples asked for, {there} there")
    rng = np.random.default_rng(seed)
    held: list[list[np.ndarray]] = [[] for _ in counts]
    for c, column in enumerate(counts.T):
        mine, ends = rng.permutation(np.flatnonzero(labels == c)), np.cumsum(column)
        for k, part in enumerate(np.split(mine[: ends[-1]], ends[:-1])):
            held[k].append(part)
    asked = {"counts": counts.tolist(), "seed": seed}
    return make("designed", asked, [np.concatenate(h) for h in held])


@checked
def clusters(
    labels: Labels, shares: Shares, clients_each: Count, *, seed: Seed = 0
) -> Partition:
    """Types of clients: type t is given the share `shares[t, c]` of class c.

    Every client of a type holds an equal part of it, rounded down, class by class;
    the first `clients_each` clients are of the first type, and so on.

    Paper: FedCollab Sec. 5.1 (label shift).
    """
    there = np.bincount(labels)
    shares = np.asarray(shares, dtype=float)
    sound = shares.shape[1] == len(there) and len(shares) > 0
    need = f"shares must be (types, {len(there)} classes)"
    require(sound, f"{need}, not {shares.shape}")
    for c, given in enumerate(shares.sum(0)):
        require(given <= 1 + 1e-9, f"class {c}: shares of {given:g} in all, 1 is there")
    # 0.29 * 100 is 28.999...: what is whole but for rounding counts as whole
    each = np.floor(shares * there / clients_each + 1e-9).astype(int)
    made = designed(labels, np.repeat(each, clients_each, axis=0), seed=seed)
    asked = {"shares": shares.tolist(), "clients_each": clients_each, "seed": seed}
    return make("clusters", asked, made.indices)
