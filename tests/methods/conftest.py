"""Worlds with images at the server, for the methods that train there."""

import pytest

from fedlab_core import Dataset, World, build, iid, world
from fedlab_core.rounds.worlds import Proxy


@pytest.fixture(scope="module")
def proxied(small_data: Dataset, small_world: World) -> World:
    """The small world, with three images of each class at the server."""
    w = small_world
    return world(small_data, w.partition, w.make, proxy=Proxy(per_class=3))


@pytest.fixture(scope="module")
def normed(small_data: Dataset) -> World:
    """Three clients, an MLP with BatchNorm, and two images of each class."""
    make = build("mlp", small_data.shape, 10, hidden=(8,), batch_norm=True)
    who = iid(small_data.y_train, 3)
    return world(small_data, who, make, proxy=Proxy(per_class=2))
