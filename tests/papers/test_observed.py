"""Observers for the figures of these papers, by hand."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from fedlab_ledger.model.observers import Watching


def trained(low: float, high: float) -> Any:
    """Two clients whose layers are so far from their mean."""
    sides = torch.tensor([-1.0, 1.0])[:, None]
    states = {"features.0.weight": low * sides, "head.2.weight": high * sides}
    states["features.1.running_mean"] = 99 * sides  # no parameter
    world = SimpleNamespace(parameters={"features.0.weight", "head.2.weight"})
    return SimpleNamespace(world=world, trained=SimpleNamespace(states=states))


def test_fading_is_over_the_largest_so_far():
    look = Watching(["fading.first"])
    assert look(trained(4, 1)) == pytest.approx(dict.fromkeys(NAMES, 1.0))
    lower = look(trained(1, 2))
    assert lower["fading.first"] == lower["fading.features"] == pytest.approx(0.25)
    assert lower["fading.last"] == lower["fading.head"] == pytest.approx(1)
    again = look(trained(0, 1))
    assert again["fading.features"] == 0 and again["fading.head"] == pytest.approx(0.5)


NAMES = [f"fading.{part}" for part in ("first", "last", "features", "head")]


def test_every_run_fades_from_its_own_peak():
    one, other = (Watching(["fading.head"]) for _ in range(2))
    one(trained(1, 8))
    assert other(trained(1, 2))["fading.head"] == pytest.approx(1)


def a_round(**seen) -> Any:
    """Only what an observer asks for."""
    return SimpleNamespace(**seen)


def test_bytes_of_mean_features_are_of_four_a_number():
    look = Watching(["deltas.all"])
    seen = look(a_round(uploads={"delta": torch.zeros(20, 512)}))
    assert seen == {"deltas.all": 20 * 512 * 4, "deltas.one": 512 * 4}
    assert look(a_round(uploads={})) == {}


def test_coalitions_are_counted():
    look = Watching(["coalitions.number"])
    seen = look(a_round(group_of=[0, 0, 3, 1, 3, 3]))
    assert seen == {"coalitions.number": 3, "coalitions.largest": 3}


class Three(SimpleNamespace):
    """A world of three clients."""

    def __len__(self) -> int:
        return 3


def test_common_accuracy_is_that_of_the_models_that_clients_are_given():
    """Two of three common samples right, or one; what is a client's own is left out."""
    model = torch.nn.Linear(1, 2, bias=False)
    world = Three(
        model=model,
        classes=("no", "yes"),
        x_test=torch.tensor([[1.0], [2.0], [3.0], [-9.0]]),
        y_test=torch.tensor([1, 1, 0, 0]),
        common=torch.arange(3),
    )
    yes, no = [[0.0], [1.0]], [[1.0], [0.0]]
    look = Watching(["common.accuracy"])
    seen = a_round(
        world=world, personal=None, after={"weight": torch.tensor([yes, no])}
    )
    seen.group_of = [0, 0, 1]
    both = 100 * (2 / 3 + 2 / 3 + 1 / 3) / 3
    assert look(seen)["common.accuracy"] == pytest.approx(both)
    seen.personal = {"weight": torch.tensor([no, no, yes])}
    assert look(seen)["common.accuracy"] == pytest.approx(100 * (1 + 1 + 2) / 9)
    world.common = torch.arange(0)
    assert look(seen) == {}
