"""Labels, and every kind of split of them, for tests."""

import numpy as np
from hypothesis import strategies as st

from fedlab_core.partition import (
    FEDCOLLAB_LABEL_SHIFT,
    Partition,
    clusters,
    hold_out,
    hybrid,
    iid,
    keep,
    long_tail_sizes,
    natural,
    similarity,
    stratified,
)


def labels(per_class, classes=10):
    return np.repeat(np.arange(classes), per_class)


Y = labels(60)
OWNERS = np.random.default_rng(0).integers(0, 30, 600)
EVERY = {
    "similarity": lambda **o: similarity(Y, 7, 0.3, **o),
    "hybrid": lambda **o: hybrid(Y, 6, **o),
    "clusters": lambda **o: clusters(Y, FEDCOLLAB_LABEL_SHIFT, 2, **o),
    "stratified": lambda **o: stratified(Y, 7, **o),
    "long_tail_sizes": lambda **o: long_tail_sizes(Y, 7, 5, **o),
    "natural": lambda **o: natural(OWNERS, sample=9, **o),
    "keep": lambda **o: keep(iid(Y, 6), Y, (0.5, 0.2), **o),
    "hold_out": lambda **o: hold_out(iid(Y, 6), Y, 0.3, **o)[1],
}
some_labels = st.lists(st.integers(0, 4), min_size=12, max_size=80).map(np.array)


def together(made: Partition) -> np.ndarray:
    """Everything that is held, after checking that nothing is held twice."""
    held = np.concatenate(made.indices)
    assert len(np.unique(held)) == len(held)
    return np.sort(held)
