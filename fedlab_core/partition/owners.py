"""Splits that the data bring along: one client for each writer or user."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from fedlab_core.arguments import Axes, Count, Seed, checked
from fedlab_core.errors import require
from fedlab_core.partition.record import Partition, make, mark


@checked
def natural(
    owners: Annotated[np.ndarray, Axes("samples", "any")],
    *,
    min_size: Count = 1,
    most: Count | None = None,
    sample: Count | None = None,
    who: Sequence[int | str] | None = None,
    seed: Seed = 0,
) -> Partition:
    """One client for each owner: `owners[i]` (a number or a name) has sample i.

    Owners with fewer than `min_size` samples are left out. Of the others all take
    part, or the `most` largest, or a random `sample`, or exactly those named by `who`.
    Clients are in the order of their owners; `asked["who"]` names these, so that it
    can be asked for in another set of the same people.
    """
    require(
        owners.dtype.kind in "iuUS", f"owners: numbers or names, not {owners.dtype}"
    )
    ways = sum(way is not None for way in (most, sample, who))
    require(ways <= 1, "give one of most, sample and who, not several")
    names, place, sizes = np.unique(owners, return_inverse=True, return_counts=True)
    able = np.flatnonzero(sizes >= min_size)
    if who is not None:
        lost = sorted(set(who) - set(names[able].tolist()), key=str)
        few = f"of owner {lost[0]!r} there are fewer than {min_size}" if lost else ""
        require(not lost, f"{few} sample(s)")
        able = np.flatnonzero(np.isin(names, np.array(list(who))))
    wanted = len(able) if most is None and sample is None else most or sample or 0
    require(
        1 <= wanted <= len(able),
        f"{wanted} owners wanted; there are {len(able)} with at least {min_size} "
        "sample(s)",
    )
    if most is not None:
        able = able[np.argsort(-sizes[able], kind="stable")[:wanted]]
    elif sample is not None:
        able = np.random.default_rng(seed).choice(able, wanted, replace=False)
    able = np.sort(able)
    runs = np.split(np.argsort(place, kind="stable"), np.cumsum(sizes)[:-1])
    asked = {"owners": mark(owners), "who": names[able].tolist(), "min_size": min_size}
    asked |= {"most": most, "sample": sample, "seed": seed}
    return make("natural", asked, [runs[i] for i in able])
