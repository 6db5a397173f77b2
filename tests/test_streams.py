"""Draws of a seed stay as they were: stored results belong to their draws.

The words here were written down from the draws that the ledger's results were made
with. A change that moves one moves published numbers: it says so under "Numbers".
"""

import hashlib
from typing import Literal

import numpy as np
import pytest
import torch

import fedlab_core as fl
from fedlab_core.engine import Client, batch_order, count_steps
from fedlab_core.keys import derive_seed, normal, uniform
from fedlab_core.methods.fesem import FeSEM
from fedlab_core.models import initial_state
from fedlab_core.partition.scenarios import scenario
from fedlab_core.rounds.records import draw_participants
from tests import partition_cases
from tests.partition import test_partition


def word(*arrays) -> str:
    """A few letters that all of these numbers decide; reals to four digits."""
    digest = hashlib.sha256()
    for a in map(np.asarray, arrays):
        a = np.round(a, 4) + 0.0 if a.dtype.kind == "f" else a
        kind = np.float64 if a.dtype.kind == "f" else np.int64
        digest.update(a.astype(kind).tobytes())
    return digest.hexdigest()[:8]


SPLITS = test_partition.EVERY | partition_cases.EVERY
LETTERS = fl.load("letters", n_train=120, n_test=80, seed=3)
TRAINING = fl.Training(epochs=2, batch_size=7)


def spoilt(how: Literal["swap", "permute"]):
    made = scenario(LETTERS, "iid", clients=4, seed=2, corrupt=0.5, how=how)
    return made.data.y_train


def key(seed: int) -> torch.Tensor:
    return torch.tensor([derive_seed(seed, 1)])


DRAWN = {
    **{f"split: {kind}": lambda k=kind: SPLITS[k](seed=3).indices for kind in SPLITS},
    "letters": lambda: (LETTERS.y_train, LETTERS.y_test),
    "corrupted by swapping": lambda: (spoilt("swap"),),
    "corrupted by permuting": lambda: (spoilt("permute"),),
    "proxy": lambda: fl.Proxy(3, rho=2.0, seed=5).draw(LETTERS.y_test),
    "participants": lambda: [draw_participants(30, 5, 4, t) for t in range(3)],
    "mini-batches": lambda: batch_order(Client(torch.arange(40), (1, 2, 3)), TRAINING),
    "steps drawn": lambda: (
        count_steps(
            [Client(torch.arange(40), (1, 2, k)) for k in range(5)],
            fl.Training(iterations=(1, 99)),
        ),
    ),
    "uniform": lambda: (uniform(key(1), 6),),
    "normal": lambda: (normal(key(1), 6),),
    "seeds": lambda: ([derive_seed(7), derive_seed(7, 8), derive_seed(7, 8, 9)],),
    "first model": lambda: (
        initial_state(fl.build("mlp", (1, 4, 4), 3, hidden=(5,)), 11)["head.weight"],
    ),
    "FeSEM's random start": lambda: (
        FeSEM(3, start="random").begin(range(20), 6),  # type: ignore[arg-type]
    ),
}  # fmt: skip
WORDS = {
    "split: iid": "f734499c",
    "split: dirichlet": "2660644e",
    "split: niid2": "5c953163",
    "split: designed": "56bca5c3",
    "split: similarity": "960153ef",
    "split: hybrid": "fb019611",
    "split: clusters": "464ffc7c",
    "split: stratified": "319cf4a7",
    "split: long_tail_sizes": "07510421",
    "split: natural": "9ac76dd4",
    "split: keep": "135890a6",
    "split: hold_out": "35cb5d9d",
    "letters": "292a53c0",
    "corrupted by swapping": "8a4887d9",
    "corrupted by permuting": "568d6da4",
    "proxy": "a42c20a9",
    "participants": "ab9d5769",
    "mini-batches": "f26626e4",
    "steps drawn": "3d5ad793",
    "uniform": "fd0533e3",
    "normal": "0ab8ebf2",
    "seeds": "689852ab",
    "first model": "dbdefb4d",
    "FeSEM's random start": "0fdbafaf",
}


@pytest.mark.parametrize("what", DRAWN)
def test_a_seed_draws_what_it_drew(what):
    assert word(*DRAWN[what]()) == WORDS[what]
