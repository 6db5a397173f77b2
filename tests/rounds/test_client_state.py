"""What clients keep: of those that took part, on the host or on the device."""

import torch

from fedlab_core.rounds.client_state import Memories


def rows(*values: float):
    return {"h": torch.tensor(values)[:, None].repeat(1, 2)}


def test_newcomers_begin_and_others_go_on():
    kept, asked = Memories("cpu"), []

    def first(places):
        asked.append(places)
        return rows(*[100.0 + p for p in places])

    assert kept.recall([7, 3], first)["h"][:, 0].tolist() == [100, 101]
    kept.keep([7, 3], rows(1, 2))
    assert kept.recall([3, 5, 7], first)["h"][:, 0].tolist() == [2, 101, 1]
    assert asked == [[0, 1], [1]] and set(kept.of) == {3, 7}
    kept.recall([3, 7], first)
    assert len(asked) == 2  # nobody new: nobody asked


def test_each_row_is_alone_in_memory():
    """A row kept must not hold on to the whole cohort's tensor."""
    kept, cohort = Memories("cpu"), rows(*map(float, range(50)))
    kept.keep(list(range(50)), cohort)
    assert all(m["h"].untyped_storage().nbytes() == 8 for m in kept.of.values())
    cohort["h"].zero_()
    assert kept.of[9]["h"].tolist() == [9, 9]
