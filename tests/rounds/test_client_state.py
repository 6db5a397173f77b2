"""State that clients keep after they took part, on the host or on the device."""

import torch

from fedlab_core.rounds.client_state import ClientStates


def rows(*values: float):
    return {"h": torch.tensor(values)[:, None].repeat(1, 2)}


def test_newcomers_begin_and_others_go_on():
    kept, asked = ClientStates(), []

    def first(places):
        asked.append(places)
        return rows(*[100.0 + p for p in places])

    assert kept.recall([7, 3], first)["h"][:, 0].tolist() == [100, 101]
    before, kept = kept, kept.keep([7, 3], rows(1, 2), rows(1), "cpu")
    assert before.of == {}  # which a checkpoint may still be writing
    assert kept.recall([3, 5, 7], first)["h"][:, 0].tolist() == [2, 101, 1]
    assert asked == [[0, 1], [1]] and set(kept.of) == {3, 7}
    kept.recall([3, 7], first)
    assert len(asked) == 2  # nobody new: nobody asked


def test_each_row_is_alone_in_memory():
    """A row kept must not hold on to the whole cohort's tensor."""
    kept, cohort = ClientStates(), rows(*map(float, range(50)))
    kept = kept.keep(list(range(50)), cohort, cohort, "cpu")
    assert all(m["h"].untyped_storage().nbytes() == 8 for m in kept.of.values())
    cohort["h"].zero_()
    assert kept.of[9]["h"].tolist() == [9, 9]


def test_a_state_without_anything_in_it_is_remembered_too():
    """BatchNorm's statistics of a network that has none: nothing to keep, twice."""
    kept = ClientStates()
    for _ in range(2):
        assert kept.recall([1, 2], lambda places: {}) == {}
        kept = kept.keep([1, 2], {}, {}, "cpu")


def test_what_a_rule_leaves_out_begins_anew_and_the_rest_goes_on():
    kept = ClientStates()

    def begin(places):
        return rows(*[100.0] * len(places)) | {"v": torch.zeros(len(places))}

    whole = kept.recall([1], begin)
    kept = kept.keep([1], {"v": torch.ones(1)}, whole, "cpu")
    again = kept.recall([1, 2], begin)
    assert again["h"][:, 0].tolist() == [100, 100] and again["v"].tolist() == [1, 0]
