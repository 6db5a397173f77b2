"""Splits made from splits, and one client for each owner."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedlab_core.errors import InputError
from fedlab_core.partition import dirichlet, hold_out, iid, keep, natural
from tests.partition_cases import OWNERS, Y, labels, some_labels

# -- splits made from splits -------------------------------------------------------


@given(
    some_labels, st.lists(st.floats(0, 1), min_size=3, max_size=3), st.integers(0, 9)
)
def test_keep_rounds_each_label_of_each_client(y, q, seed):
    made = iid(y, 3, seed=seed)
    kept = keep(made, y, q, seed=seed)
    want = np.floor(np.array(q)[:, None] * made.counts(y, 5) + 0.49)
    assert kept.counts(y, 5).tolist() == want.tolist()
    for few, all_of_it in zip(kept.indices, made.indices, strict=True):
        assert np.isin(few, all_of_it).all()


@given(st.floats(0, 1), st.floats(0, 1))
def test_who_keeps_less_keeps_a_part(p, q):
    made = dirichlet(Y, 3, 1.0)
    few, more = (keep(made, Y, f, seed=1) for f in sorted((p, q)))
    for a, b in zip(few.indices, more.indices, strict=True):
        assert np.isin(a, b).all()
    assert keep(made, Y, 1).indices[0].tolist() == made.indices[0].tolist()


@given(some_labels, st.integers(1, 5), st.floats(0.001, 0.999), st.integers(0, 9))
def test_hold_out_parts_each_client_label_by_label(y, clients, share, seed):
    made = iid(y, clients, seed=seed)
    kept, held = hold_out(made, y, share, seed=seed)
    for k, whole in enumerate(made.indices):
        both = np.concatenate([kept.indices[k], held.indices[k]])
        assert np.sort(both).tolist() == whole.tolist()
        rounded = math.floor(share * len(whole) + 0.5)
        assert len(held.indices[k]) == min(max(rounded, 1), len(whole) - 1)
    exact = share * made.counts(y, 5)
    assert (np.abs(held.counts(y, 5) - exact) <= 1 + 1e-9).all()


def test_fedlaws_validation_sets_are_thirty_per_cent():
    made = dirichlet(labels(700), 5, 0.5, capacity=False, min_size=0)
    kept, held = hold_out(made, labels(700), 0.3)
    assert held.sizes == pytest.approx(0.3 * made.sizes, abs=0.5)
    assert (kept.sizes + held.sizes).tolist() == made.sizes.tolist()


# -- one client for each owner -----------------------------------------------------


@given(
    st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=60),
    st.integers(1, 5),
    st.integers(1, 8),
)
def test_natural_is_a_client_for_each_owner_large_enough(owners, least, some):
    able = {o: n for o, n in Counter(owners).items() if n >= least}
    if not able:
        with pytest.raises(InputError, match="0 owners wanted; there are 0 with at"):
            natural(np.array(owners), min_size=least)
        return
    made = natural(np.array(owners), min_size=least)
    assert made.asked["who"] == sorted(able)
    for who, held in zip(made.asked["who"], made.indices, strict=True):
        assert held.tolist() == [i for i, o in enumerate(owners) if o == who]
    if some <= len(able):
        large = natural(np.array(owners), min_size=least, most=some)
        by_size = sorted(able, key=lambda o: (-able[o], o))[:some]
        assert large.asked["who"] == sorted(by_size)
        drawn = natural(np.array(owners), min_size=least, sample=some)
        assert len(drawn) == some and set(drawn.asked["who"]) <= set(able)


def test_the_same_people_can_be_asked_for_elsewhere():
    some = natural(np.array(["b", "a", "c", "b"]), min_size=2, who=["b"])
    assert some.asked["who"] == ["b"] and some.indices[0].tolist() == [0, 3]
    made = natural(OWNERS, most=5)
    again = natural(OWNERS[::-1], who=made.asked["who"])
    assert again.asked["who"] == made.asked["who"]
    for a, b in zip(made.indices, again.indices, strict=True):
        assert a.tolist() == (599 - b)[::-1].tolist()


def test_every_owner_can_be_drawn():
    drawn = [tuple(natural(OWNERS, sample=3, seed=s).asked["who"]) for s in range(60)]
    assert len(set(drawn)) > 50 and len({o for who in drawn for o in who}) == 30
