"""Worlds with images at the server, and what a test marked `equals` is held to."""

import functools
import importlib
import pkgutil

import pytest
import torch

import tests.reference as plain
from fedlab_core import METHODS, Dataset, World, build, iid, world
from fedlab_core.rounds import run
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


@pytest.fixture(autouse=True)
def does_what_its_mark_says(request, monkeypatch):
    """A test marked `equals` plays these methods, runs a plain one, and compares."""
    names = {n for mark in request.node.iter_markers("equals") for n in mark.args}
    seen = {"played": set(), "plain": 0, "compared": 0}
    if names:
        _watch(monkeypatch, seen)
    yield
    if names:
        missing = {n for n in names if METHODS[n]().name not in seen["played"]}
        assert not missing, f"marked {missing}, played {seen['played']}"
        assert seen["plain"], "no plain version gave rounds to compare with"
        assert seen["compared"], "nothing was compared"


def _watch(monkeypatch, seen: dict) -> None:
    begun, close = run.Simulation, torch.testing.assert_close

    def played(run, *how, **more):
        seen["played"].add(run.method.name)
        return begun(run, *how, **more)

    def compared(*given, **how):
        seen["compared"] += 1
        close(*given, **how)

    def watched(function):
        @functools.wraps(function)
        def gives(*given, **how):
            found = function(*given, **how)
            seen["plain"] += isinstance(found, (list, tuple)) and len(found) > 0
            return found

        return gives

    monkeypatch.setattr(run, "Simulation", played)
    monkeypatch.setattr(torch.testing, "assert_close", compared)
    for found in pkgutil.iter_modules(plain.__path__, "tests.reference."):
        if found.name.split(".")[-1].startswith("test_"):
            continue
        module = importlib.import_module(found.name)
        for name, function in list(vars(module).items()):
            if getattr(function, "__module__", "") == module.__name__ and (
                callable(function) and not isinstance(function, type)
            ):
                monkeypatch.setattr(module, name, watched(function))
