"""Scenarios: a data set, its split among clients, and changes to their data.

A `Scenario` is a data set, a split of its training samples and, if the clients have
test sets of their own, a split of its test samples. Functions turn one scenario into
the next: they turn a client's images, permute its labels, corrupt them, or hold out a
part. Clients never share a sample, so one copy of the arrays is enough for all.

    s = scenario(pooled(data), "stratified", clients=20, own_test=1 / 6,
                 keep=(1, math.exp(-2)), rotate=FEDCOLLAB_ANGLES)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Annotated, Any, Literal

import numpy as np

from fedlab_core import partition
from fedlab_core.arguments import Axes, Count, Fraction, Labels, Ratio, Seed, checked
from fedlab_core.data import Dataset
from fedlab_core.data.sampling import kept
from fedlab_core.errors import require
from fedlab_core.partition import Partition, hold_out
from fedlab_core.partition.record import each
from fedlab_core.partition.thinned import Part

Edge = Literal["black", "mirror"]
Spoilt = Literal["swap", "permute"]
Maps = Annotated[np.ndarray | Sequence[Sequence[int]], Axes("maps classes", "whole")]
Images = Annotated[np.ndarray, Axes("images height width ...")]
FEDCOLLAB_ANGLES = (-25.0, 25.0, 155.0, 205.0)


@checked
@dataclass(frozen=True, eq=False)
class Scenario:
    """A data set, its split among clients, and a record of changes to their data.

    `test` has one entry a client, indices into `data.x_test`; without it everybody is
    judged on the whole test set. The last three fields are a record, empty where
    nothing was done: degrees and label map of each client, and who was corrupted.
    """

    data: Dataset
    train: Partition
    test: Partition | None = None
    angles: tuple[float, ...] = ()
    maps: tuple[tuple[int, ...], ...] = ()
    corrupted: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.train.within(len(self.data.y_train), "training ")
        if self.test is not None:
            self.test.within(len(self.data.y_test), "test ")
            there = f"{len(self.train)} clients, but {len(self.test)} test sets"
            require(len(self.test) == len(self.train), there)

    def __len__(self) -> int:
        return len(self.train)

    @property
    def counts(self) -> np.ndarray:
        """Training samples per client and class: (clients, classes)."""
        return self.train.counts(self.data.y_train, len(self.data.classes))


@checked
def pooled(data: Dataset) -> Dataset:
    """Training and test samples as one training set, for clients to divide anew.

    Nothing is left to test on: clients need test sets of their own (`own_tests`).
    """
    both = {}
    for name, (train, test) in _halves(data).items():
        both[f"{name}_train"] = np.concatenate([train, test])
        both[f"{name}_test"] = test[:0]
    return replace(data, **both)


@checked
def tailed(data: Dataset, train: Ratio, test: Ratio = 1.0) -> Dataset:
    """Fewer samples of each class than of the one before, for training and test.

    Both numbers are rho, the largest class over the smallest; 1 leaves all of them.
    """
    for part, rho in (("train", train), ("test", test)):
        if rho != 1:
            labels = data.y_train if part == "train" else data.y_test
            data = kept(data, part, partition.long_tail(labels, rho))
    return data


def _halves(data: Dataset) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Training and test part of every array that a data set has."""
    pairs = {
        "x": (data.x_train, data.x_test),
        "y": (data.y_train, data.y_test),
        "owners": (data.owners_train, data.owners_test),
        "targets": (data.targets_train, data.targets_test),
    }
    return {
        name: (train, test)
        for name, (train, test) in pairs.items()
        if train is not None and test is not None
    }


@checked
def own_tests(s: Scenario, share: Part, *, seed: Seed = 0) -> Scenario:
    """Each client gives up a share of its samples, label by label, as its test set.

    These move to the end of the test data: nobody can train on them any more.
    """
    require(s.test is None, "these clients have test sets of their own already")
    order = "hold out the clients' test sets before labels are corrupted"
    require(not s.corrupted, order)
    data, (kept, held) = s.data, hold_out(s.train, s.data.y_train, share, seed=seed)
    moved = np.concatenate(held.indices)
    stays = np.ones(len(data.y_train), dtype=bool)
    stays[moved] = False
    to_train, to_test = np.cumsum(stays) - 1, np.zeros(len(stays), dtype=int)
    to_test[moved] = len(data.y_test) + np.arange(len(moved))
    parted = {}
    for name, (train, test) in _halves(data).items():
        parted[f"{name}_train"] = train[stays]
        parted[f"{name}_test"] = np.concatenate([test, train[moved]])
    return replace(
        s,
        data=replace(data, **parted),
        train=replace(kept, indices=tuple(to_train[i] for i in kept.indices)),
        test=replace(held, indices=tuple(to_test[i] for i in held.indices)),
    )


@checked
def smaller(
    s: Scenario, fraction_per_client: Fraction | Sequence[Fraction], *, seed: Seed = 0
) -> Scenario:
    """Clients keep a fraction of their training samples; see `partition.keep`."""
    less = partition.keep(s.train, s.data.y_train, fraction_per_client, seed=seed)
    return replace(s, train=less)


@checked
def rotated(
    s: Scenario, angles: float | Sequence[float], *, edge: Edge = "black"
) -> Scenario:
    """Turn each client's images by its angle, in degrees and anticlockwise.

    Own test images are turned as well; a common test set stays upright. Pixels are
    taken from the nearest one. Where the image ends, `edge` says what follows: "black",
    or "mirror", its reflection, which does not betray the angle by black corners and is
    what FedCollab's authors use. One angle for each group of clients will do.

    Paper: FedCollab Sec. 5.1 (feature shift).
    """
    require(s.data.x_train.ndim > 2, "only images can be turned")
    require(not s.angles, "these clients' images are turned already")
    degrees = each("angles", angles, len(s)).astype(float)
    arrays = {"x_train": s.data.x_train.copy()}
    splits = {"x_train": s.train}
    if s.test is not None:
        arrays["x_test"], splits["x_test"] = s.data.x_test.copy(), s.test
    for name, x in arrays.items():
        for angle in np.unique(degrees[degrees % 360 != 0]):
            of = [splits[name].indices[k] for k in np.flatnonzero(degrees == angle)]
            rows = np.concatenate(of)
            x[rows] = turn(x[rows], angle, edge)
    return replace(
        s, data=replace(s.data, **arrays), angles=tuple(float(a) for a in degrees)
    )


@checked
def turn(x: Images, degrees: float, edge: Edge = "black") -> np.ndarray:
    """Images (NHW or NHWC) turned anticlockwise about their centre, nearest pixel."""
    height, width = x.shape[1:3]
    angle = np.deg2rad(degrees)
    up, right = np.meshgrid(
        (height - 1) / 2 - np.arange(height),
        np.arange(width) - (width - 1) / 2,
        indexing="ij",
    )
    # where the pixel that ends up here was before
    row = (height - 1) / 2 - (np.cos(angle) * up - np.sin(angle) * right)
    column = (width - 1) / 2 + (np.cos(angle) * right + np.sin(angle) * up)
    # halves that are whole but for rounding all go the same way
    row, column = (np.rint(v.round(6)).astype(int) for v in (row, column))
    outside = (row < 0) | (row >= height) | (column < 0) | (column >= width)
    turned = x[:, _reflect(row, height), _reflect(column, width)]
    if edge == "black":
        turned[:, outside] = 0
    return turned


def _reflect(place: np.ndarray, size: int) -> np.ndarray:
    place = place % (2 * size)
    return np.where(place < size, place, 2 * size - 1 - place)


@checked
def relabelled(s: Scenario, maps: Maps) -> Scenario:
    """Give each client's classes other names: class c becomes `maps[k][c]` (a shift of
    concept). Own test sets, which are needed, are renamed as well.

    A map is a permutation of the classes; one for each group of clients will do.

    Paper: FedCollab Sec. 5.1 (concept shift).
    """
    require(
        s.test is not None,
        "clients with labels of their own need own tests: hold them out first",
    )
    _labels_only(s.data)
    require(not s.maps, "these clients' labels are permuted already")
    table, classes = each("maps", maps, len(s)), len(s.data.classes)
    for k, row in enumerate(table):
        whole = sorted(row.tolist()) == list(range(classes))
        require(
            whole, f"maps: that of client {k} is no permutation of {classes} labels"
        )
    table = table.astype(int)
    y_train, y_test = s.data.y_train.copy(), s.data.y_test.copy()
    for y, made in ((y_train, s.train), (y_test, s.test)):
        for row, held in zip(table, made.indices if made else (), strict=True):
            y[held] = row[y[held]]
    data = replace(s.data, y_train=y_train, y_test=y_test)
    return replace(s, data=data, maps=tuple(tuple(row) for row in table.tolist()))


@checked
def fedcollab_concept_shift(classes: Count = 20, first: Count = 6) -> np.ndarray:
    """FedCollab's four label maps: (4, classes), for four groups of clients.

    Labels as they are; the `first` ones in reverse order; all in reverse order; and
    one after the other. With an even `first`, the first two agree on the other labels
    only, and so do the last two.

    Paper: FedCollab Sec. 5.1 (concept shift).
    """
    some = 2 <= first <= classes
    require(some, f"first must be between 2 and {classes} classes, not {first}")
    same = np.arange(classes)
    begun = np.concatenate([same[:first][::-1], same[first:]])
    return np.stack([same, begun, same[::-1], same[::-1][begun]])


@checked
def corrupted(
    s: Scenario, share_of_clients: Fraction, how: Spoilt = "swap", *, seed: Seed = 0
) -> Scenario:
    """Spoil the training labels of some clients, drawn at random: `s.corrupted`.

    "swap" exchanges two labels, each client's own pair, of those it holds if it holds
    two; "permute" renames every class, so that no label stays right.

    Paper: FedLAW Table 8 (corrupted clients).
    """
    _labels_only(s.data)
    require(not s.corrupted, "some clients are corrupted already")
    classes = len(s.data.classes)
    require(classes >= 2, "with one class there are no labels to exchange")
    share = share_of_clients
    rng = np.random.default_rng([seed, 3])  # not the stream of the split itself
    who = np.sort(rng.choice(len(s), int(share * len(s) + 0.5), replace=False))
    y = s.data.y_train.copy()
    for held in (s.train.indices[k] for k in who):
        mine = np.unique(y[held])
        if how == "permute":
            ring = rng.permutation(classes)
        elif len(mine) >= 2:
            ring = rng.choice(mine, 2, replace=False)
        else:  # exchanged for any other
            other = np.setdiff1d(np.arange(classes), mine)
            ring = np.append(mine, rng.choice(other, 2 - len(mine), replace=False))
        becomes = np.arange(classes)
        becomes[ring] = np.roll(ring, 1)  # one cycle: none of them stays
        y[held] = becomes[y[held]]
    data = replace(s.data, y_train=y)
    return replace(s, data=data, corrupted=tuple(who.tolist()))


def _labels_only(data: Dataset) -> None:
    numbers = "what is predicted here are numbers: they have no labels to exchange"
    require(data.targets_train is None, numbers)


def _natural(
    labels: Labels,
    owners: np.ndarray,
    *,
    min_size: Count = 1,
    most: Count | None = None,
    sample: Count | None = None,
    who: Sequence[int | str] | None = None,
    seed: Seed = 0,
) -> Partition:
    there = f"{len(owners)} owners for {len(labels)} samples"
    require(len(owners) == len(labels), there)
    asked = {"min_size": min_size, "most": most, "sample": sample, "who": who}
    return partition.natural(owners, **asked, seed=seed)


KINDS: dict[str, Callable[..., Partition]] = {
    "iid": partition.iid,
    "dirichlet": partition.dirichlet,
    "niid2": partition.niid2,
    "similarity": partition.similarity,
    "hybrid": partition.hybrid,
    "clusters": partition.clusters,
    "stratified": partition.stratified,
    "long_tail_sizes": partition.long_tail_sizes,
    "designed": partition.designed,
    "natural": _natural,
}
# Splits of the test data that match those of the training data client by client.
_ALIKE = ("iid", "stratified", "similarity", "niid2", "clusters", "natural")


@checked
def scenario(
    data: Dataset,
    kind: str,
    *,
    seed: Seed = 0,
    own_test: Part | Literal["same"] | None = None,
    keep: Fraction | Sequence[Fraction] | None = None,
    rotate: float | Sequence[float] | None = None,
    edge: Edge = "black",
    relabel: Maps | None = None,
    corrupt: Fraction | None = None,
    how: Spoilt = "swap",
    **options: Any,
) -> Scenario:
    """A whole scenario in one call: a split, then whatever else is asked for.

    The split is the one of that `kind` (see `KINDS`) with its own `options`; the owners
    of a natural one come with the data where these have them. Then, in this order:
    test sets of their own, smaller clients, turned images, renamed and corrupted
    labels.

    Args:
        own_test: the share that each client gives up, or "same": the test data are
            divided as the training data are (rFedAvg).
        keep, rotate, relabel: see `smaller`, `rotated` and `relabelled`.
        edge: what is around a turned image, "black" or "mirror".
        corrupt: the share of the clients whose labels are spoilt, in the way of `how`.
    """
    require(
        own_test is not None or len(data.y_test) > 0,
        "pooled data leave nothing to test on: ask for own_test",
    )
    if kind == "natural" and data.owners_train is not None:
        options = {"owners": data.owners_train, **options}
    s = Scenario(data, _split(data.y_train, kind, seed, options))
    if isinstance(own_test, str):
        known = f"own_test='same' is for {', '.join(_ALIKE)}, not {kind}"
        require(kind in _ALIKE, known)
        if kind == "natural":
            require(
                data.owners_test is not None, "nobody knows whose the test data are"
            )
            options = {"owners": data.owners_test, "who": s.train.asked["who"]}
        s = replace(s, test=_split(data.y_test, kind, seed, options))
    elif own_test is not None:
        s = own_tests(s, own_test, seed=seed)
    if keep is not None:
        s = smaller(s, keep, seed=seed)
    if rotate is not None:
        s = rotated(s, rotate, edge=edge)
    if relabel is not None:
        s = relabelled(s, relabel)
    return s if corrupt is None else corrupted(s, corrupt, how, seed=seed)


def _split(labels: np.ndarray, kind: str, seed: int, options: dict) -> Partition:
    require(kind in KINDS, f"unknown split {kind!r}: choose from {', '.join(KINDS)}")
    takes = dict(signature(KINDS[kind]).parameters)
    del takes["labels"], takes["seed"]
    for name in options:
        known = f"{kind} has no option {name!r}: choose from {', '.join(takes)}"
        require(name in takes, known)
    needed = [n for n, p in takes.items() if p.default is p.empty and n not in options]
    require(not needed, f"{kind} needs {' and '.join(needed)}")
    return KINDS[kind](labels, seed=seed, **options)
