"""The splits of the papers beyond the first four: sizes, anchors, records, misuse."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedlab_core.errors import InputError
from fedlab_core.partition import (
    FEDCOLLAB_LABEL_SHIFT,
    Partition,
    clusters,
    designed,
    dirichlet,
    hold_out,
    hybrid,
    iid,
    keep,
    long_tail,
    long_tail_sizes,
    natural,
    similarity,
    stratified,
)
from tests.partition_cases import EVERY, OWNERS, Y, labels, some_labels, together

# -- every split -------------------------------------------------------------------


@pytest.mark.parametrize("kind", EVERY)
def test_a_split_is_seeded_recorded_and_survives_a_file(kind, tmp_path):
    make, path = EVERY[kind], tmp_path / "who.json"
    assert make(seed=3) == make(seed=3) != make(seed=4)
    assert sorted(map(tuple, make(seed=3).indices)) != sorted(
        map(tuple, make(seed=4).indices)
    )
    made = make(seed=np.int64(3))
    assert made == make(seed=3) and made.kind == kind and made.asked["seed"] == 3
    made.save(path)
    again = Partition.read(path)
    assert again == made and again.asked == made.asked


@pytest.mark.parametrize("kind", EVERY)
def test_a_split_draws_on_no_generator_but_its_own(kind):
    before = np.random.get_state(legacy=False)["state"]["key"].copy()
    EVERY[kind]()
    assert (np.random.get_state(legacy=False)["state"]["key"] == before).all()


@pytest.mark.parametrize(
    "one, other",
    [
        (dirichlet(Y, 5, 1), dirichlet(Y, 5, 1.0)),
        (similarity(Y, 5, 1), similarity(Y, 5, 1.0)),
        (hybrid(Y, 6, 10, 1), hybrid(Y, 6, 10.0, 1.0)),
        (long_tail_sizes(Y, 5, 2), long_tail_sizes(Y, 5, 2.0)),
        (keep(iid(Y, 5), Y, 1), keep(iid(Y, 5), Y, [1.0] * 5)),
        (clusters(Y, np.eye(10, dtype=int), 1), clusters(Y, np.eye(10), 1)),
        (clusters(Y, np.eye(10), 1), clusters(Y, np.eye(10).tolist(), 1)),
    ],
)
def test_the_same_number_written_otherwise_is_the_same_split(one, other):
    assert one.digest == other.digest


def test_a_record_tells_pools_owners_and_origins_apart():
    pools = [long_tail(Y, 10, seed=s) for s in (1, 2)]
    asked = [dirichlet(Y, 5, 0.5, pool=pool).asked for pool in pools]
    assert asked[0]["pool"] != asked[1]["pool"]
    again = dirichlet(Y, 5, 0.5, pool=pools[0].tolist())  # type: ignore[arg-type]
    assert again.asked == asked[0]
    assert "pool" not in dirichlet(Y, 5, 0.5).asked
    assert natural(OWNERS).asked["owners"] != natural(OWNERS[::-1]).asked["owners"]
    made = iid(Y, 5, seed=8)
    want = {"kind": "iid", "asked": made.asked, "digest": made.digest}
    assert (
        keep(made, Y, 0.5).asked["of"] == want == hold_out(made, Y, 0.5)[0].asked["of"]
    )


# -- similarity --------------------------------------------------------------------


@given(some_labels, st.integers(1, 12), st.floats(0, 1), st.integers(0, 99))
def test_similar_clients_are_equal_and_drop_less_than_one_sample_each(
    y, clients, s, seed
):
    made = similarity(y, clients, s, seed=seed)
    assert set(made.sizes) == {len(y) // clients}
    assert len(y) - len(together(made)) == len(y) % clients


def test_full_similarity_is_the_random_deal():
    made = similarity(Y, 6, 1.0, seed=4)
    assert [i.tolist() for i in made.indices] == [
        i.tolist() for i in iid(Y, 6, seed=4).indices
    ]


@given(some_labels, st.integers(1, 6), st.integers(0, 9))
def test_no_similarity_is_the_sorted_deal(y, clients, seed):
    y = y[: len(y) // clients * clients]
    made = similarity(y, clients, 0.0, seed=seed)
    chunks = np.split(np.sort(y), clients)
    for held, chunk in zip(made.indices, chunks, strict=True):
        assert np.sort(y[held]).tolist() == chunk.tolist()


def test_ties_are_dealt_in_random_order():
    held = similarity(labels(600), 20, 0.0).indices[0]  # half of class 0
    assert 220 < held.mean() < 380 and held.max() > 550


def test_ten_per_cent_similarity_of_mnist():
    """60,000 / 20 = 3000: 300 from all classes, 2700 from a stretch of the sorted."""
    y = labels(6000)
    counts = similarity(y, 20, 0.1).counts(y)
    assert (counts.sum(1) == 3000).all()
    neighbours = counts[:, :-1] + counts[:, 1:]
    assert (neighbours.max(1) >= 2700).all()
    assert (counts > 0).all() and counts.min() < 45  # 30 expected of each class


# -- Dirichlet ---------------------------------------------------------------------


def test_fedlaws_split_cuts_each_class_at_the_floors_of_its_shares():
    made = dirichlet(Y, 6, 0.3, capacity=False, min_size=0, seed=5)
    rng, want = np.random.default_rng(5), [[] for _ in range(6)]
    for c in range(10):
        mine = rng.permutation(np.flatnonzero(Y == c)).tolist()
        ends = np.floor(np.cumsum(rng.dirichlet([0.3] * 6)) * 60 + 1e-9).astype(int)
        for k, (a, b) in enumerate(zip([0, *ends], [*ends[:-1], 60], strict=False)):
            want[k] += mine[a:b]
    assert [i.tolist() for i in made.indices] == [sorted(w) for w in want]


@given(st.integers(2, 15), st.integers(0, 3), st.integers(0, 99))
def test_a_hybrid_covers_and_begins_like_the_first_draw(clients, least, seed):
    made = hybrid(Y, clients, seed=seed, min_size=least)
    assert len(together(made)) == len(Y) and made.sizes.min() >= least
    if made.asked["moved"] == 0:
        first = dirichlet(Y, clients, 10, capacity=False, min_size=0, seed=seed)
        for k in range(clients // 2):
            assert made.indices[k].tolist() == first.indices[k].tolist()


def test_only_the_second_half_of_a_hybrid_is_skewed():
    y = labels(2000)
    counts = hybrid(y, 20, seed=1).counts(y)
    shares = counts / counts.sum(1, keepdims=True)
    assert shares[:10].max() < 0.25 < 0.4 < np.median(shares[10:].max(1))


def test_a_hybrid_with_both_alphas_large_is_even():
    y = labels(2000)
    counts = hybrid(y, 4, 1e7, 1e7).counts(y)
    assert counts == pytest.approx(np.full((4, 10), 500), abs=5)


# -- equal composition, and clusters -----------------------------------------------


@given(some_labels, st.integers(1, 12), st.integers(0, 99))
def test_stratified_is_even_in_sizes_and_in_classes(y, clients, seed):
    made = stratified(y, clients, seed=seed)
    assert len(together(made)) == len(y)
    assert np.ptp(made.sizes) <= 1
    assert (np.ptp(made.counts(y, 5), axis=0) <= 1).all()


def variation(one, other):
    return np.abs(one / one.sum() - other / other.sum()).sum() / 2


def test_fedcollabs_label_shift_has_the_papers_sizes():
    """7,000 a class: 1750 / 5 = 350 and 3500 / 5 = 700; one seventh is for testing."""
    y = labels(7000)
    made = clusters(y, FEDCOLLAB_LABEL_SHIFT, 5)
    assert made.counts(y)[0].tolist() == [350, 700, 700, 700] + [0] * 6
    kept, held = hold_out(made, y, 1 / 7)
    assert set(kept.sizes) == {2100} and set(held.sizes) == {350}
    assert kept.counts(y)[0].tolist() == [300, 600, 600, 600] + [0] * 6
    small = keep(kept, y, (1, math.exp(-5)))
    assert small.sizes.tolist() == [2100] * 10 + [14] * 10
    assert small.counts(y)[19].tolist() == [0] * 6 + [4, 4, 4, 2]
    types = kept.counts(y)[::5]
    for a, b, far in [(0, 1, 1 / 7), (2, 3, 1 / 7), (0, 2, 1), (1, 2, 1), (0, 3, 1)]:
        assert variation(types[a], types[b]) == pytest.approx(far)


@pytest.mark.parametrize(
    "classes, per_class, q, small", [(10, 6000, -2, 340), (20, 3000, -3, 120)]
)
def test_fedcollabs_other_two_have_the_papers_sizes(classes, per_class, q, small):
    """60,000 / 20 = 3000, a sixth for testing: 2500 / 500 of 10 or of 20 classes."""
    y = labels(per_class, classes)
    kept, held = hold_out(stratified(y, 20), y, 1 / 6)
    assert set(kept.sizes) == {2500} and set(held.sizes) == {500}
    assert set(held.counts(y).ravel()) == {500 // classes}
    less = keep(kept, y, (1.0, math.exp(q)))
    assert less.sizes.tolist() == [2500] * 10 + [small] * 10


@given(
    st.lists(st.lists(st.integers(0, 20), min_size=10, max_size=10), min_size=1).filter(
        lambda rows: max(np.sum(rows, axis=0)) <= 60
    ),
    st.integers(1, 4),
)
def test_clusters_get_their_shares_rounded_down(rows, each):
    made = clusters(Y, np.array(rows) / 60, each)
    want = np.repeat(np.array(rows) // each, each, axis=0)
    assert made.counts(Y, 10).tolist() == want.tolist()
    together(made)


# -- sizes -------------------------------------------------------------------------


def test_a_long_tail_of_classes_of_which_one_has_nothing_is_refused():
    with pytest.raises(InputError, match="labels: class 1 has no sample"):
        long_tail(np.array([0, 0, 2, 2]), 1.0)


def test_sizes_of_a_long_tail_by_hand():
    """rho = 4 among three: 4 : 2 : 1. Of 702, one each is left for the first two."""
    assert long_tail_sizes(labels(70), 3, 4).sizes.tolist() == [400, 200, 100]
    assert long_tail_sizes(np.zeros(702, int), 3, 4).sizes.tolist() == [402, 200, 100]
    assert long_tail_sizes(np.zeros(705, int), 3, 4).sizes.tolist() == [403, 202, 100]


@given(st.integers(1, 30), st.floats(1, 15), st.integers(0, 9))
def test_sizes_of_a_long_tail_fall_and_cover(clients, rho, seed):
    made = long_tail_sizes(Y, clients, rho, seed=seed)
    assert len(together(made)) == 600
    assert (np.diff(made.sizes) <= 0).all()
    exact = rho ** (-np.arange(clients) / max(clients - 1, 1))
    assert made.sizes == pytest.approx(600 * exact / exact.sum(), abs=1)


def test_clients_of_a_long_tail_are_alike():
    y = labels(1000)
    counts = long_tail_sizes(y, 5, 4).counts(y)
    shares = counts / counts.sum(1, keepdims=True)
    assert shares == pytest.approx(np.full((5, 10), 0.1), abs=0.035)


# -- misuse ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: similarity(Y, 5, 10), r"s must be a number from 0 to 1"),
        (lambda: similarity(Y, 5, math.nan), "s must be a number from 0 to 1, not nan"),
        (lambda: similarity(Y, 601, 0.5), "ask for fewer clients"),
        (
            lambda: stratified(Y, 0),
            "clients must be a whole number of 1 or more, not 0",
        ),
        (lambda: hybrid(Y, 1), "clients must be a whole number of 2 or more, not 1"),
        (lambda: hybrid(Y, 4, 0), "balanced_alpha must be a number above 0, not 0.0"),
        (
            lambda: hybrid(Y, 4, 1, -1),
            "skewed_alpha must be a number above 0, not -1.0",
        ),
        (
            lambda: hybrid(Y, 4, min_size=-1),
            "min_size must be a whole number of 0 or more",
        ),
        (lambda: clusters(Y, np.eye(9), 1), r"shares must be \(types, 10 classes\)"),
        (lambda: clusters(Y, np.ones(10), 1), "shares must be .*one of shape .10,."),
        (
            lambda: clusters(Y, -np.eye(10), 1),
            "shares must be .* with numbers of 0 or more",
        ),
        (
            lambda: clusters(Y, np.eye(10), 0),
            "clients_each must be a whole number of 1 or more, not 0",
        ),
        (
            lambda: clusters(Y, np.full((3, 10), 0.4), 1),
            "class 0: shares of 1.2 in all",
        ),
        (lambda: long_tail_sizes(Y, 5, 0.5), "rho must be a number of 1 or more"),
        (lambda: long_tail_sizes(Y, 5, 1e6), "leaves no sample for client 4"),
        (lambda: clusters(Y, np.zeros((0, 10)), 1), r"shares must be .* not \(0, 10\)"),
        (
            lambda: keep(iid(Y, 4), Y, 1.5),
            "fraction_per_client must be a number from 0 to 1 or a list",
        ),
        (lambda: keep(iid(Y, 4), Y, (1, 1, 0.5)), "3 entries for 4 clients: give one"),
        (
            lambda: hold_out(iid(Y, 4), Y, 1),
            "share must be a number above 0 and below 1, not 1.0",
        ),
        (
            lambda: hold_out(iid(Y, 4), Y, 0),
            "share must be a number above 0 and below 1, not 0.0",
        ),
        (lambda: hold_out(iid(Y, 600), Y, 0.5), "client 0 has 1 sample"),
        (
            lambda: natural(OWNERS, min_size=0),
            "min_size must be a whole number of 1 or more",
        ),
        (lambda: natural(OWNERS, most=31), "31 owners wanted; there are 30"),
        (
            lambda: natural(OWNERS, most=0),
            "most must be a whole number of 1 or more or None",
        ),
        (lambda: natural(OWNERS, most=2, sample=2), "give one of most, sample and who"),
        (lambda: natural(OWNERS, who=[1, 77]), "of owner 77 there are fewer than 1"),
        (
            lambda: natural(OWNERS.reshape(2, -1)),
            "owners must be an array of shape \\(samples\\)",
        ),
    ],
)
def test_what_cannot_be_split_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_keep_may_leave_nothing_and_an_empty_client_stays_empty():
    made = designed(Y, np.array([[3] + [0] * 9, [0] * 10]))
    assert keep(made, Y, 0.1).sizes.tolist() == [0, 0]
    assert keep(made, Y, 1).sizes.tolist() == [3, 0]
