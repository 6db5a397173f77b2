"""Cohorts that do not fit in memory: split once, with a warning, or a clear end."""

import pytest
import torch

from fedlab_core import InputError, Training, train
from fedlab_core.engine import cohort as at
from fedlab_core.engine.graphs import affordable
from fedlab_core.engine.looped import _channels_last
from fedlab_core.engine.split_on_oom import in_parts
from fedlab_core.models.network import Network
from tests.engine_cases import UNEQUAL, assert_same, problem


def device(holds: int, error=None):
    """A way of playing that runs out of memory above some clients."""
    seen = []

    def play(rows):
        seen.append(list(rows))
        if len(rows) > holds:
            raise error or torch.OutOfMemoryError("CUDA out of memory")
        return sum(rows)

    return play, seen


def test_parts_are_as_large_as_allowed():
    play, seen = device(4)
    assert in_parts(play, list(range(10)), 4, {}, "key") == [6, 22, 17]
    assert [len(rows) for rows in seen] == [4, 4, 2]


@pytest.mark.slow
@pytest.mark.parametrize(
    "error",
    [
        None,
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 9 bytes"),
    ],
)
def test_a_part_that_does_not_fit_is_halved_once_with_a_warning(error):
    play, seen = device(3, error)
    kept = {"stages": "of earlier rounds"}
    with pytest.warns(RuntimeWarning, match="5 clients do not fit .* trying 3"):
        assert in_parts(play, [1, 2, 3, 4, 5], 8, kept, "key") == [6, 9]
    assert seen == [[1, 2, 3, 4, 5], [1, 2, 3], [4, 5]]
    assert kept == {"key": 3}  # what else was kept took memory, too
    assert in_parts(play, [1, 2, 3, 4, 5], 8, kept, "key") == [6, 9]  # at once
    assert seen[3:] == [[1, 2, 3], [4, 5]]


@pytest.mark.slow
def test_what_does_not_fit_twice_ends_with_what_to_do():
    play, _ = device(1)
    with (
        pytest.warns(RuntimeWarning),
        pytest.raises(InputError, match="3 clients do not fit .*fewer participants"),
    ):
        in_parts(play, [0, 1, 2, 3, 4], 8, {}, "key")
    with pytest.raises(InputError, match="one client does not fit .*mini-batches"):
        in_parts(device(0)[0], [0], 8, {}, "key")


def test_other_errors_pass_as_they_are():
    play, seen = device(0, RuntimeError("shapes do not match"))
    with pytest.raises(RuntimeError, match="shapes do not match"):
        in_parts(play, [0, 1], 8, {}, "key")
    assert len(seen) == 1


@pytest.mark.slow
def test_training_survives_a_cohort_that_does_not_fit(monkeypatch):
    given_ = problem("mlp", UNEQUAL)
    want = train(*given_, Training())
    stage = at.StackedCohort

    class Small(stage):
        def play(self, plan, given):
            if len(plan.steps) > 3:
                raise torch.OutOfMemoryError("out of memory")
            return super().play(plan, given)

    monkeypatch.setattr(at, "StackedCohort", Small)
    with pytest.warns(RuntimeWarning, match="6 clients do not fit"):
        assert_same(train(*given_, Training(), engine="stacked"), want, 1e-9)


def test_a_device_is_filled_to_four_fifths(monkeypatch):
    """A client takes 100 bytes, all together 400: of 1,000 free and 250 set aside."""
    said = {
        "memory_allocated": 50, "mem_get_info": (1_000, 9_999), "memory_reserved": 300,
    }  # fmt: skip
    for name, value in said.items():
        monkeypatch.setattr(torch.cuda, name, lambda value=value: value)
    tried, kept = [], {}

    def peak(rows):
        tried.append(rows)
        return 400 + 100 * len(rows)

    for _ in range(2):
        assert (
            affordable(peak, [*range(7, 47)], kept, ("key",)) == 6
        )  # (0.8 x 1,250 - 400) / 100
    assert tried == [[7, 8], [7, 8, 9, 10]]  # measured once
    assert affordable(peak, [0, 1, 2], kept, ("other",)) == 4
    assert (
        affordable(lambda _: 7, [*range(40)], kept, ("flat",)) == 995
    )  # 1,000 - (7 - 2)


def test_only_convolutions_over_images_change_the_layout():
    """It is for speed alone: elsewhere it would be work for nothing."""
    for name, expected in (("small cnn", True), ("mlp", False)):
        model, x, *_ = problem(name, [3])
        network = Network(model, training=True)
        assert _channels_last(network, x) == expected
        assert not _channels_last(network, x.flatten(1))


def test_a_part_holds_one_client_or_more():
    given_ = problem("mlp", [5, 5])
    assert train(*given_, Training(), largest=1).steps.tolist() == [1, 1]
    for wrong in (0, -1):
        with pytest.raises(
            InputError, match=f"largest must be .* 1 or more.*, not {wrong}"
        ):
            train(*given_, Training(), largest=wrong)
