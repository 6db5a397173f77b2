"""Splits made from splits: clients that keep less, and parts that are held out."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from fedlab_core.arguments import Fraction, Labels, Seed, Within, checked
from fedlab_core.errors import require
from fedlab_core.partition.record import Partition, each, make, origin

Part = Annotated[float, Within(0, 1, above=True, below=True)]


@checked
def keep(
    made: Partition,
    labels: Labels,
    fraction_per_client: Fraction | Sequence[Fraction],
    *,
    seed: Seed = 0,
) -> Partition:
    """Large and small clients: each keeps floor(q n + 0.49) of its n samples a label.

    q is the client's fraction; fewer fractions than clients stand for equal groups of
    them. With the same seed, a smaller q keeps a part of what a larger one keeps.

    Paper: FedCollab Sec. 5.1 (quantity shift).
    """
    fractions = each("fraction_per_client", fraction_per_client, len(made))
    made.within(len(labels))
    rng = np.random.default_rng([seed, 1])  # not the stream of the split itself
    kept = []
    for q, held in zip(fractions, made.indices, strict=True):
        mine = [held[:0]]
        for c in np.unique(labels[held]):
            same = rng.permutation(held[labels[held] == c])
            mine.append(same[: int(q * len(same) + 0.49)])
        kept.append(np.concatenate(mine))
    asked = {"fraction_per_client": fractions.astype(float).tolist(), "seed": seed}
    return make("keep", {"of": origin(made), **asked}, kept)


@checked
def hold_out(
    made: Partition, labels: Labels, share: Part, *, seed: Seed = 0
) -> tuple[Partition, Partition]:
    """Two splits: the samples each client keeps, and the `share` that is held out.

    A client of m samples gives up `share * m`, rounded, but at least one and never
    all; of each label it gives up its share rounded up or down.
    """
    made.within(len(labels))
    rng = np.random.default_rng([seed, 2])  # not the stream of the split itself
    kept, out = [], []
    for k, held in enumerate(made.indices):
        few = f"client {k} has {len(held)} sample(s): holding one out takes two"
        require(len(held) >= 2, few)
        mixed = rng.permutation(held)
        mixed = mixed[np.argsort(labels[mixed], kind="stable")]
        sizes = np.unique(labels[mixed], return_counts=True)[1]
        parts = np.split(mixed, np.cumsum(sizes)[:-1])
        taken = _shares(sizes, float(share))
        out.append(np.concatenate([p[:n] for p, n in zip(parts, taken, strict=True)]))
        kept.append(np.concatenate([p[n:] for p, n in zip(parts, taken, strict=True)]))
    asked = {"of": origin(made), "share": float(share), "seed": seed}
    return (
        make("hold_out", {**asked, "part": "kept"}, kept),
        make("hold_out", {**asked, "part": "held"}, out),
    )


def _shares(sizes: np.ndarray, share: float) -> np.ndarray:
    """Samples to take of each label: rounded down, then up where most is missing."""
    total = min(max(int(share * sizes.sum() + 0.5), 1), sizes.sum() - 1)
    taken = np.floor(share * sizes).astype(int)
    missing = np.argsort(taken - share * sizes, kind="stable")
    taken[missing[: total - taken.sum()]] += 1
    return taken
