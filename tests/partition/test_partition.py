"""Splits: covers, sizes, seeds, digests and files of every split."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedlab_core
from fedlab_core import partition
from fedlab_core.errors import InputError
from fedlab_core.partition import Partition, designed, dirichlet, iid, long_tail, niid2
from tests import partition_cases


def labels(per_class, classes=10):
    """Labels stored class after class, as the data files store them."""
    return np.repeat(np.arange(classes), per_class)


Y = labels(60)
EVERY = {
    "iid": lambda **o: iid(Y, 7, **o),
    "dirichlet": lambda **o: dirichlet(Y, 7, 0.5, **o),
    "niid2": lambda **o: niid2(Y, **o),
    "designed": lambda **o: designed(Y, np.full((3, 10), 5), **o),
}


def assert_splits(made: Partition, pool: np.ndarray, all_of_it: bool = True):
    """No sample twice, none from elsewhere, and every one if a cover is promised."""
    together = np.concatenate(made.indices)
    assert len(np.unique(together)) == len(together)
    assert np.isin(together, pool).all()
    if all_of_it:
        assert len(together) == len(pool)


# -- every split -------------------------------------------------------------------


@pytest.mark.parametrize("kind", EVERY)
def test_same_seed_same_split_other_seed_another(kind):
    make = EVERY[kind]
    assert make(seed=3) == make(seed=3)
    assert make(seed=3).digest == make(seed=3).digest
    assert make(seed=3) != make(seed=4)
    assert any(
        a.tolist() != b.tolist()
        for a, b in zip(make(seed=3).indices, make(seed=4).indices, strict=True)
    )
    assert len({make(seed=3), make(seed=3), make(seed=4)}) == 2


@pytest.mark.parametrize("kind", MORE := EVERY | partition_cases.EVERY)
def test_the_usual_seed_is_zero(kind):
    assert MORE[kind]() == MORE[kind](seed=0)


@pytest.mark.parametrize("kind", EVERY)
def test_a_split_says_what_was_asked(kind):
    made = EVERY[kind](seed=5)
    assert made.kind == kind and made.asked["seed"] == 5


@pytest.mark.parametrize("kind", EVERY)
def test_numbers_from_numpy_will_do(kind):
    assert EVERY[kind](seed=np.int64(5)).digest == EVERY[kind](seed=5).digest


@pytest.mark.parametrize("kind", EVERY)
def test_the_global_generator_is_left_alone(kind):
    before = np.random.get_state(legacy=False)["state"]["key"].copy()
    EVERY[kind]()
    assert (np.random.get_state(legacy=False)["state"]["key"] == before).all()


@pytest.mark.parametrize("kind", EVERY)
def test_what_is_saved_is_read(tmp_path, kind):
    made, path = EVERY[kind](), tmp_path / "who.json"
    made.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["who.json"]
    again = Partition.read(path)
    assert again == made and again.kind == made.kind and again.asked == made.asked
    assert [i.tolist() for i in again.indices] == [i.tolist() for i in made.indices]
    assert again.indices[0].dtype == made.indices[0].dtype == np.int64


def test_an_empty_client_survives_saving(tmp_path):
    made = designed(Y, np.array([[1] + [0] * 9, [0] * 10]))
    made.save(tmp_path / "who.json")
    assert Partition.read(tmp_path / "who.json").sizes.tolist() == [1, 0]


def test_a_file_changed_by_hand_is_refused(tmp_path):
    path = tmp_path / "who.json"
    iid(Y, 3).save(path)
    whole = json.loads(path.read_text())
    moved = whole["indices"][0][1:], whole["indices"][1] + whole["indices"][0][:1]
    for change in (
        {"kind": "dirichlet"},
        {"asked": {**whole["asked"], "seed": 1}},
        {"indices": [*moved, whole["indices"][2]]},
        {"digest": "0" * 16},
    ):
        path.write_text(json.dumps({**whole, **change}))
        with pytest.raises(InputError, match="does not match its own digest"):
            Partition.read(path)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        "[" * 100_000,
        "3",
        "{}",
        '{"kind": "iid", "asked": {}, "digest": "", "indices": 3}',
        '{"kind": "iid", "asked": {}, "digest": "", "indices": [["a"]]}',
        '{"kind": "", "asked": {}, "digest": "", "indices": [[99999999999999999999]]}',
    ],
    ids=lambda body: body[:60],
)
def test_another_file_is_refused(tmp_path, body):
    path = tmp_path / "who.json"
    path.write_text(body)
    with pytest.raises(InputError, match="is not a saved partition"):
        Partition.read(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="is not a saved partition"):
        Partition.read(tmp_path / "who.json")


def test_the_digest_sees_where_one_client_ends():
    def split(*held):
        return Partition(
            "by hand", {}, tuple(np.array(h, dtype=np.int64) for h in held)
        )

    assert split([1, 2], [3]) != split([1], [2, 3])
    assert split([1, 2], [3]) != split([3], [1, 2])
    assert split([1, 2], [3]) == split([1, 2], [3])
    assert split([1, 2]) != "something else"


def test_sizes_and_counts_are_what_is_held():
    y = np.array([0, 1, 1, 2, 0])
    held = (np.array([0, 1, 2]), np.array([4]))
    made = Partition("by hand", {}, held)
    assert len(made) == 2 and made.sizes.tolist() == [3, 1]
    assert made.counts(y).tolist() == [[1, 2, 0], [1, 0, 0]]
    assert made.counts(y, 4).tolist() == [[1, 2, 0, 0], [1, 0, 0, 0]]


# -- iid ---------------------------------------------------------------------------


@pytest.mark.slow
@given(per=st.integers(1, 30), clients=st.integers(1, 40), seed=st.integers(0, 99))
def test_iid_covers_in_equal_shares(per, clients, seed):
    y = labels(per)
    if clients > len(y):
        with pytest.raises(InputError, match="ask for fewer clients"):
            iid(y, clients, seed=seed)
        return
    made = iid(y, clients, seed=seed)
    assert_splits(made, np.arange(len(y)))
    assert made.sizes.max() - made.sizes.min() <= 1


def test_iid_mixes_data_stored_class_after_class():
    counts = iid(labels(1000), 10).counts(labels(1000))
    assert counts.min() > 60 and counts.max() < 140  # 100, standard deviation 9.5


# -- dirichlet ---------------------------------------------------------------------


@given(
    alpha=st.floats(0.01, 1000),
    clients=st.integers(1, 20),
    capacity=st.booleans(),
    min_size=st.integers(0, 10),
    seed=st.integers(0, 99),
)
def test_dirichlet_covers_and_reaches_the_minimum(
    alpha, clients, capacity, min_size, seed
):
    options = {"capacity": capacity, "min_size": min_size, "seed": seed}
    made = dirichlet(Y, clients, alpha, **options)
    assert_splits(made, np.arange(len(Y)))
    assert made.sizes.min() >= min_size


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [1e-300, 1e-12, 0.01])
def test_dirichlet_ends_where_few_draws_would_do(alpha):
    y = labels(300)
    made = dirichlet(y, 100, alpha)
    assert made.sizes.min() == 10 and made.asked["moved"] > 0
    assert_splits(made, np.arange(len(y)))


def test_dirichlet_ends_when_every_sample_is_spoken_for():
    made = dirichlet(Y, 60, 0.1, min_size=10)
    assert (made.sizes == 10).all()


def test_dirichlet_moves_nothing_when_a_draw_will_do():
    assert dirichlet(labels(500), 10, 5.0).asked["moved"] == 0


@given(seed=st.integers(0, 10_000))
def test_a_full_client_gets_no_more_of_later_classes(seed):
    """Before its last class a client was below an equal share: the capacity rule."""
    made = dirichlet(Y, 10, 0.3, seed=seed, min_size=0)
    for row in made.counts(Y):
        if row.any():
            last = np.flatnonzero(row)[-1]
            assert row[:last].sum() < len(Y) / 10


def test_without_the_capacity_rule_some_client_grows_past_it():
    def past(capacity):
        made = dirichlet(Y, 10, 0.3, capacity=capacity, min_size=0)
        return max(row[: np.flatnonzero(row)[-1]].sum() for row in made.counts(Y))

    assert past(capacity=False) > len(Y) / 10 > past(capacity=True)


def test_a_smaller_alpha_is_more_skewed():
    y = labels(500)
    top = [
        np.mean([dirichlet(y, 10, a, seed=s).counts(y).max(0) for s in range(5)])
        for a in (100, 1, 0.1)
    ]
    assert 50 < top[0] < 75 < top[1] < top[2]


def test_dirichlet_shares_a_class_like_the_distribution():
    """Without the rule a share has mean 1/K and variance (1/K)(1-1/K)/(K alpha+1)."""
    y, clients, alpha = labels(1000), 5, 0.8
    shares = np.concatenate(
        [
            dirichlet(y, clients, alpha, seed=s, capacity=False, min_size=0).counts(y)
            for s in range(100)
        ],
        axis=1,
    )
    assert shares.mean(1) / 1000 == pytest.approx(1 / clients, abs=0.03)
    variance = (1 / clients) * (1 - 1 / clients) / (clients * alpha + 1)
    assert (shares / 1000).var() == pytest.approx(variance, rel=0.1)


@pytest.mark.parametrize("alpha", [0, -1, float("nan"), float("inf")])
def test_alpha_must_be_positive(alpha):
    with pytest.raises(InputError, match="alpha must be a number above 0"):
        dirichlet(Y, 5, alpha)


def test_a_pool_is_respected():
    pool = long_tail(Y, 10, seed=2)
    made = dirichlet(Y, 5, 0.5, pool=pool, seed=1)
    assert_splits(made, pool)
    assert made.sizes.sum() == len(pool) < len(Y)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: iid(Y, 0), "clients must be a whole number of 1 or more, not 0"),
        (lambda: iid(Y, 601), "need 601 samples, but there are 600"),
        (lambda: partition.stratified(Y, 601), "need 601 samples, but there are 600"),
        (lambda: dirichlet(Y, -1, 1.0), "clients must be .* 1 or more, not -1"),
        (lambda: dirichlet(Y, 61, 1.0), "need 610 samples, but there are 600"),
        (
            lambda: dirichlet(Y, 5, 1.0, min_size=-1),
            "min_size must be a whole number of 0 or more",
        ),
        (lambda: dirichlet(Y, 5, 1.0, pool=np.arange(20)), "there are 20"),
        (lambda: dirichlet(Y, 601, 1.0, min_size=0), "ask for fewer clients"),
        (lambda: niid2(Y, biased=-1), "biased must be a whole number of 0 or more"),
        (lambda: niid2(Y, biased=0, unbiased=0), "are both 0"),
        (lambda: niid2(Y, classes_each=3), "classes_each must divide .* 10"),
        (
            lambda: niid2(Y, classes_each=0),
            "classes_each must be a whole number of 1 or more",
        ),
        (lambda: niid2(Y, biased=50, unbiased=11), "too few for 61 NIID-2 clients"),
        (lambda: long_tail(Y, 0.5), "rho must be a number of 1 or more"),
        (lambda: long_tail(Y, float("nan")), "rho must be a number"),
        (lambda: long_tail(Y, float("inf")), "rho must be a number"),
        (lambda: long_tail(Y, 61), "leaves no sample of class 9"),
        (lambda: designed(Y, np.full((2, 10), 31)), "class 0: 62 samples asked for"),
        (
            lambda: designed(Y, np.full((2, 10), -1)),
            "counts must be .* with whole numbers of 0 or more",
        ),
        (lambda: designed(Y, np.full((2, 9), 1)), "counts"),
        (lambda: designed(Y, np.full(10, 1)), "counts"),
    ],
)
def test_what_cannot_be_split_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


# -- NIID-2 ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "biased, unbiased, per_client, unit", [(5, 1, 8330, 833), (50, 10, 830, 83)]
)
def test_niid2_has_the_papers_sizes(biased, unbiased, per_client, unit):
    """CIFAR-10 has 5,000 a class: floor(50000 / 60) = 833, floor(50000 / 600) = 83."""
    y = labels(5000)
    made = niid2(y, biased=biased, unbiased=unbiased)
    assert made.sizes.tolist() == [per_client] * (biased + unbiased)
    assert_splits(made, np.arange(len(y)), all_of_it=False)
    counts = made.counts(y)
    for i in range(biased):
        want = np.zeros(10)
        want[[2 * i % 10, (2 * i + 1) % 10]] = 5 * unit
        assert (counts[i] == want).all()
    assert (counts[biased:] == unit).all()


@given(
    biased=st.integers(0, 12),
    unbiased=st.integers(0, 4),
    each=st.sampled_from([1, 2, 5, 10]),
)
def test_niid2_clients_are_equal_and_as_large_as_can_be(biased, unbiased, each):
    if biased + unbiased == 0:
        return
    made = niid2(labels(120), biased=biased, unbiased=unbiased, classes_each=each)
    counts = made.counts(labels(120), 10)
    assert_splits(made, np.arange(1200), all_of_it=False)
    assert len(set(made.sizes)) == 1
    assert ((counts[:biased] > 0).sum(1) == each).all()
    assert ((counts[biased:] > 0).sum(1) == 10).all()
    # one unit more each, and some class would run out
    unit = made.sizes[0] // 10
    assert (counts.sum(0) / unit * (unit + 1)).max() > 120


# -- global imbalance --------------------------------------------------------------


@pytest.mark.parametrize("n", [5000, 6000, 300, 1000])
@pytest.mark.parametrize("rho", [1, 2, 3, 5, 7, 10, 20, 50])
def test_long_tail_keeps_the_floor_of_the_formula(n, rho):
    """k = floor(n rho^(-c/9)) means k^9 rho^c <= n^9 < (k+1)^9 rho^c, in integers."""
    y = labels(n)
    kept = np.bincount(y[long_tail(y, rho)], minlength=10).tolist()
    for c, k in enumerate(kept):
        assert k**9 * rho**c <= n**9 < (k + 1) ** 9 * rho**c


def test_long_tail_starts_from_the_smallest_class():
    y = np.repeat(np.arange(3), [50, 40, 100])
    assert np.bincount(y[long_tail(y, 4)]).tolist() == [40, 20, 10]
    assert np.bincount(y[long_tail(y, 1)]).tolist() == [40, 40, 40]


def test_long_tail_is_seeded_and_without_repeats():
    a, b = long_tail(Y, 10, seed=1), long_tail(Y, 10, seed=2)
    assert (a == long_tail(Y, 10, seed=1)).all() and a.tolist() != b.tolist()
    assert len(np.unique(a)) == len(a)


# -- by design ---------------------------------------------------------------------


@given(
    st.lists(
        st.lists(st.integers(0, 6), min_size=10, max_size=10), min_size=1, max_size=9
    )
)
def test_designed_gives_what_was_asked(rows):
    made = designed(Y, np.array(rows))
    assert made.counts(Y, 10).tolist() == rows
    assert_splits(made, np.arange(len(Y)), all_of_it=False)


def test_every_exported_split_is_tested_here_or_beside():
    ours = [f for f in vars(fedlab_core).values() if callable(f)]
    made = {f.__name__ for f in ours if f.__module__.startswith(partition.__name__)}
    beside = Path(__file__).with_name("test_kinds.py").read_text()
    scenarios = {"Scenario", "scenario"}  # which have tests of their own
    rest = made - {*EVERY, "long_tail", "Partition", *scenarios}
    assert rest and all(f"{name}(" in beside for name in rest)
