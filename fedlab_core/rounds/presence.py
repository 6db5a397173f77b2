"""The clients of a round, drawn from the seed or given by a rule that is held to it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedlab_core.arguments.annotations import shown
from fedlab_core.errors import require
from fedlab_core.rounds.records import Presence, Run, draw_participants


def participants_of(run: Run, t: int) -> list[int]:
    """The clients that take part in round t, ascending; nobody, if a rule says so."""
    w, asked = run.world, run.participants
    if callable(asked):
        return _given(asked, t + 1, w.partition.sizes.tolist(), run.seed)
    drawn = draw_participants(len(w.holders), asked, run.seed, t)
    return [w.holders[k] for k in drawn]


def _given(rule: Presence, number: int, sizes: list[int], seed: int) -> list[int]:
    """Clients by a rule: with samples, none twice, and the same when asked again."""
    said, again = (_plain(rule(number, list(sizes), seed)) for _ in range(2))
    text = f"clients from 0 to {len(sizes) - 1} with samples, none twice"
    text = f"participants must give a list of {text}, not {shown(said)}"
    require(_fits(said, sizes), f"{text} (round {number})")
    text = f"participants gives other clients when asked again (round {number})"
    require(bool(said == again), f"{text}: draw from the seed that it is given")
    return sorted(said)


def _plain(said: Any) -> Any:
    """A list for what NumPy gives; anything else as it is."""
    if isinstance(said, np.ndarray):
        return said.tolist()
    if isinstance(said, Sequence) and not isinstance(said, (str, bytes)):
        return [int(k) if isinstance(k, np.integer) else k for k in said]
    return said


def _fits(said: Any, sizes: list[int]) -> bool:
    if not isinstance(said, list) or not all(type(k) is int for k in said):
        return False
    known = all(0 <= k < len(sizes) and sizes[k] > 0 for k in said)
    return known and len({*said}) == len(said)
