"""Runs made by hand, for what draws them, and pictures as pages take them."""

from typing import Any

import numpy as np

import fedlab_core as fl
from fedlab_book.bench import Comparison
from fedlab_book.figures import show
from fedlab_book.findings import Facts, carried

UP, NONE = np.array([2.0, 2.2, 1.9]), np.array([0.3, -0.2, 0.0])
SEEDS = 3


def made(seen: dict[tuple[Any, str], dict[str, Any]], last: int = 2) -> Comparison:
    """Three seeds that saw nearly the same: a list a column, one entry a round.

    Accuracies differ by .001 between seeds, alike in every arm, so that gains do not.
    """
    runs = {}
    for (where, arm), columns in seen.items():
        for seed in range(SEEDS):
            each = zip(*columns.values(), strict=True)
            rows = [dict(zip(columns, v, strict=True)) for v in each]
            for row in rows:
                if "accuracy" in row:
                    row["accuracy"] += 0.001 * seed
            runs[where, arm, seed] = fl.History(arm, seed, rows)
    return Comparison(runs, last)


def drawn(picture: tuple) -> str:
    """The alternative of a picture that can be shown."""
    figure, alt, *caption = picture
    assert "<svg" in str(show(figure, alt, *caption).data)
    return alt


def supported(facts: Facts) -> bool:
    """Whether a finding of these rows, with what else it needs, can be told."""
    return carried(facts["rows"], facts.get("holds"))
