"""The playground's letters, and who holds them."""

import numpy as np
import pytest

from fedlab_browser.playground import state as can
from fedlab_browser.playground import task
from fedlab_browser.playground.export import splits
from fedlab_core.partition.designs import FEDCOLLAB_LABEL_SHIFT

SIZES = (4, 6, 8, 10)


@pytest.mark.parametrize("clients", SIZES)
@pytest.mark.parametrize("kind", can.CHOICES["split"])
def test_every_client_holds_letters_that_nobody_else_has(kind, clients):
    given = {"sizes": 10, "dirichlet": 0.05, "wrong": 0.05, "worlds": 9}
    number = given.get(kind, 0)
    for draw in (0, 1, 2):
        held = task.divided(kind, clients, number, draw).train.indices
        assert len(held) == clients and all(len(ids) for ids in held)
        every = np.concatenate(held)
        assert len(set(every)) == len(every) and every.max() < task.TRAIN


def test_divisions_are_what_they_are_called():
    held = task.divided("two", 10, 0, 0).counts > 0
    assert list(held.sum(1)) == [2] * 9 + [10]
    sizes = task.divided("sizes", 10, 10, 0).counts.sum(1)
    assert sizes.max() / sizes.min() == pytest.approx(10, rel=0.15)
    big = task.divided("big", 10, 0, 0).counts
    assert list(big.sum(1)) == [130, 120, 30, 30, 30, 20, 20, 20, 20, 10]
    assert list((big > 0).sum(1)) == [2, 2] + [10] * 8
    for ratio, small in ((1, 63), (3, 21), (4.5, 14), (9, 7)):
        worlds = task.divided("worlds", 10, ratio, 0).counts
        assert list(worlds.sum(1)) == [63] * 5 + [small] * 5
        assert not worlds[:5, 5:].any() and not worlds[5:, :5].any()
    kinds = task.divided("kinds", 8, 0, 0).counts
    assert len({tuple(row > 0) for row in kinds}) == 4
    assert {tuple(r > 0) for r in kinds} == {
        tuple(np.array(r) > 0) for r in FEDCOLLAB_LABEL_SHIFT
    }


def test_one_is_wrong_and_the_others_are_not():
    s = task.divided("wrong", 10, 0.5, 0)
    (wrong,) = s.corrupted
    true = task.letters().y_train
    for k, ids in enumerate(s.train.indices):
        same = (s.data.y_train[ids] == true[ids]).mean()
        assert same < 0.5 if k == wrong else same == 1


def test_the_server_has_letters_that_nobody_else_has():
    data, own = task.letters(), task.proxy()
    held = task.placed("dirichlet", 10, 0.5, 0).view.proxy_set("a test")
    assert list(np.bincount(held[1])) == [task.PROXY // 10] * 10
    assert len(held[0]) == len(own.x_train) == task.PROXY
    theirs = {x.tobytes() for part in (data.x_train, data.x_test) for x in part}
    assert not theirs & {x.tobytes() for x in own.x_train}


def test_the_solver_finds_who_shares_letters():
    groups = task.coalitions(("kinds", 8, 0.0, 0), 10.0)
    assert groups[:4] == [groups[0]] * 4 and groups[4:] == [groups[4]] * 4
    assert groups[0] != groups[4]
    assert len(set(task.coalitions(("dirichlet", 4, 100.0, 0), 30.0))) == 1


@pytest.mark.slow
def test_what_the_page_is_told_of_a_division_is_the_division():
    found = splits(4)
    for kind, number in (("dirichlet", 0.1), ("wrong", 5), ("two", 0), ("sizes", 30)):
        s = task.divided(kind, 4, float(number), 2)
        told = found[f"{kind} {number:g} 2"]
        owner = np.array(list(told["owner"]))
        for k, ids in enumerate(s.train.indices):
            assert set(np.flatnonzero(owner == str(k))) == set(ids)
        if kind == "wrong":
            held = s.train.indices[told["wrong"]]
            assert told["labels"] == "".join(map(str, s.data.y_train[held]))
