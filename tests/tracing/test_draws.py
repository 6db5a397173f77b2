"""Draws of a traced function: heard wherever they are made, and in one thread alone."""

from functools import partial
from threading import Thread

import pytest
import torch

import fedlab_core as fl
from fedlab_browser.tracing import trace
from fedlab_browser.tracing.draws import Draws, drawn
from fedlab_core import keys
from fedlab_core.errors import InputError
from fedlab_core.keys import fold, normal, uniform
from fedlab_core.methods.feddisco import Disco
from fedlab_core.rounds.weigh import Members

KEY = torch.tensor(12345)
HELD = partial(uniform, n=4)  # before anybody listens


def test_draws_are_heard_by_whatever_name_they_were_imported():
    seen = Draws()
    with seen.listening():
        HELD(KEY)
        keys.normal(fold(fold(KEY, 7), 1), n=3)
        (lambda draw=normal: draw(fold(KEY, 8), 2))()
    assert seen.asked == [
        ["uniform", 4, []], ["normal", 3, [7, 1]], ["normal", 2, [8]]
    ]  # fmt: skip
    for kind, how in zip((uniform, normal), seen.asked[:2], strict=True):
        key = keys.fold(keys.fold(KEY, 7), 1) if how[2] else KEY
        assert torch.equal(drawn(KEY, how), kind(key, how[1]))


def test_numbers_are_handed_in_in_their_order():
    given = [torch.tensor([1.0, 2.0]), torch.tensor([3.0])]
    with Draws(given).listening():
        assert uniform(KEY, 2) is given[0] and normal(fold(KEY, 1), 1) is given[1]


def test_afterwards_everything_is_as_before_even_after_an_error():
    before = [f.__code__ for f in (fold, uniform, normal)]
    wanted = normal(fold(KEY, 1), 5)
    with pytest.raises(InputError, match="not known beforehand"), Draws().listening():
        fold(KEY, torch.tensor(1))
    assert [f.__code__ for f in (fold, uniform, normal)] == before
    assert torch.equal(normal(fold(KEY, 1), 5), wanted)


def test_another_thread_draws_as_ever():
    wanted, got, seen = normal(fold(KEY, 1), 5), [], Draws()
    with seen.listening():
        other = Thread(target=lambda: got.append(normal(fold(KEY, 1), 5)))
        other.start()
        other.join()
    assert torch.equal(got[0], wanted) and not seen.asked


def test_a_target_without_a_class_is_refused_by_both(small_world):
    """A program could not refuse a client that holds the class: there is none."""
    target = (0.0, *[1.0] * 9)
    with pytest.raises(InputError, match="KL is infinite"):
        Disco(target=target)(Members.holding(torch.ones(2, 10, dtype=torch.int64)))
    found = trace(fl.feddisco(target=target), small_world, [2], ["weigh"])
    assert found.refused.keys() == {"weigh"} and not found.members
    other = trace(fl.feddisco(target=target, metric="l1"), small_world, [2], ["weigh"])
    assert not other.refused and other.members["weigh"]
