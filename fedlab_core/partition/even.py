"""Splits that start from an even deal: all alike, sorted in part, of unlike sizes."""

import numpy as np

from fedlab_core.arguments import Count, Fraction, Labels, Ratio, Seed, checked
from fedlab_core.errors import require
from fedlab_core.partition.record import Partition, check, make


@checked
def iid(labels: Labels, clients: Count, *, seed: Seed = 0) -> Partition:
    """Equal shares (to within one sample) drawn at random."""
    check(labels, clients)
    order = np.random.default_rng(seed).permutation(len(labels))
    asked = {"clients": clients, "seed": seed}
    return make("iid", asked, np.array_split(order, clients))


@checked
def stratified(labels: Labels, clients: Count, *, seed: Seed = 0) -> Partition:
    """Equal shares of equal composition: sizes and class counts within one sample.

    The samples, class after class and shuffled within a class, are dealt like cards.
    """
    check(labels, clients)
    order = _by_label(labels, np.random.default_rng(seed).permutation(len(labels)))
    asked = {"clients": clients, "seed": seed}
    return make("stratified", asked, [order[k::clients] for k in range(clients)])


@checked
def similarity(
    labels: Labels, clients: Count, s: Fraction, *, seed: Seed = 0
) -> Partition:
    """A fraction `s` of the data is dealt at random, the rest sorted by label.

    Of its floor(N / clients) samples a client draws the fraction s (rounded) from all
    classes; the others are its chunk of the remaining samples in the order of their
    labels, ties in random order. All clients hold equally many: the fewer than
    `clients` samples left over are dropped, a random few. This is rFedAvg's division
    of MNIST and CIFAR-10, with s = 0, 0.1 and 1.
    """
    check(labels, clients)
    size = len(labels) // clients
    mixed = int(s * size + 0.5)
    order = np.random.default_rng(seed).permutation(len(labels))[: clients * size]
    alike = np.split(order[: clients * mixed], clients)
    apart = np.split(_by_label(labels, order[clients * mixed :]), clients)
    held = [np.concatenate(both) for both in zip(alike, apart, strict=True)]
    return make("similarity", {"clients": clients, "s": s, "seed": seed}, held)


def _by_label(labels: np.ndarray, order: np.ndarray) -> np.ndarray:
    return order[np.argsort(labels[order], kind="stable")]


@checked
def long_tail_sizes(
    labels: Labels, clients: Count, rho: Ratio, *, seed: Seed = 0
) -> Partition:
    """All samples, drawn at random, by sizes that fall exponentially.

    Client k of K is given a share proportional to rho ** (-k / (K - 1)), rounded down;
    what rounding leaves over goes to the first clients, one sample each.
    """
    check(labels, clients)
    share = rho ** (-np.arange(clients) / max(clients - 1, 1))
    sizes = np.floor(share / share.sum() * len(labels)).astype(int)
    sizes[: len(labels) - sizes.sum()] += 1
    few = f"rho = {rho:g} leaves no sample for client {clients - 1}: ask for less"
    require(bool(sizes[-1] >= 1), few)
    order = np.random.default_rng(seed).permutation(len(labels))
    asked = {"clients": clients, "rho": rho, "seed": seed}
    return make("long_tail_sizes", asked, np.split(order, np.cumsum(sizes)[:-1]))
