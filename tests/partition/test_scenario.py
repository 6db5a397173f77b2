"""Changes to clients' data: to these clients, these samples, and nothing else."""

import math
from dataclasses import replace

import numpy as np
import pytest

from fedlab_core import partition
from fedlab_core.data import Dataset
from fedlab_core.errors import InputError
from fedlab_core.partition import FEDCOLLAB_LABEL_SHIFT, Partition, dirichlet, iid
from fedlab_core.partition.scenarios import (
    FEDCOLLAB_ANGLES,
    KINDS,
    Scenario,
    corrupted,
    fedcollab_concept_shift,
    own_tests,
    pooled,
    relabelled,
    rotated,
    scenario,
    smaller,
)
from tests.scenario_cases import (
    DATA,
    EVERY,
    PLAIN,
    TESTED,
    arrays,
    dataset,
    numbers,
    same,
)

# -- every step --------------------------------------------------------------------


@pytest.mark.parametrize("step", EVERY)
def test_a_step_is_seeded_and_leaves_its_input_alone(step):
    before = [a.copy() for a in arrays(PLAIN)]
    again = [EVERY[step](PLAIN, seed) for seed in (1, 1, 2)]
    assert same(again[0], again[1])
    assert same(again[0], again[2]) == (step == "rotated")  # nothing is drawn there
    for a, b in zip(before, arrays(PLAIN), strict=True):
        assert np.array_equal(a, b)


def test_relabelling_leaves_its_input_alone():
    before = [a.copy() for a in arrays(TESTED)]
    relabelled(TESTED, fedcollab_concept_shift(10, 4))
    assert all(map(np.array_equal, before, arrays(TESTED)))


# -- pooled data and own tests -----------------------------------------------------


def test_pooled_data_are_all_data():
    made = pooled(DATA)
    assert numbers(made.x_train) == list(range(500)) and len(made.y_train) == 500
    assert made.x_test.shape == (0, 6, 6) and made.y_test.shape == (0,)
    assert made.y_train[400:].tolist() == DATA.y_test.tolist()


@pytest.mark.parametrize("data", [DATA, pooled(DATA)])
def test_own_tests_move_and_nobody_can_train_on_them(data):
    s = Scenario(data, iid(data.y_train, 4, seed=1))
    made = own_tests(s, 0.25, seed=2)
    assert made.test is not None
    pool, old = numbers(data.x_train), len(data.y_test)
    for k, whole in enumerate(s.train.indices):
        mine = numbers(made.data.x_train[made.train.indices[k]])
        held = numbers(made.data.x_test[made.test.indices[k]])
        assert sorted(mine + held) == [pool[i] for i in whole]
        assert len(held) == round(0.25 * len(whole))
        assert made.test.indices[k].min() >= old
    everything = numbers(made.data.x_train) + numbers(made.data.x_test)
    assert sorted(everything) == list(range(500))
    assert numbers(made.data.x_test)[:old] == numbers(data.x_test)


def test_labels_move_with_their_images():
    d = TESTED.data
    for x, y in ((d.x_train, d.y_train), (d.x_test, d.y_test)):
        of = np.concatenate([DATA.y_train, DATA.y_test])
        assert y.tolist() == of[numbers(x)].tolist()


# -- in one call -------------------------------------------------------------------

OPTIONS = {
    "iid": {"clients": 4},
    "dirichlet": {"clients": 4, "alpha": 0.5},
    "niid2": {},
    "similarity": {"clients": 4, "s": 0.1},
    "hybrid": {"clients": 4, "min_size": 2},
    "clusters": {"shares": FEDCOLLAB_LABEL_SHIFT, "clients_each": 1},
    "stratified": {"clients": 4},
    "long_tail_sizes": {"clients": 4, "rho": 3},
    "designed": {"counts": np.full((4, 10), 5)},
    "natural": {"owners": np.arange(400) % 7, "most": 4},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_asked_for_by_name_with_everything_done_to_it(kind):
    plain = scenario(DATA, kind, seed=3, **OPTIONS[kind])
    assert plain.train.kind == kind and plain.data is DATA and plain.test is None
    direct, more = getattr(partition, kind), dict(OPTIONS[kind])
    first = more.pop("owners", DATA.y_train)
    assert plain.train == direct(first, seed=3, **more)
    much = {"keep": 0.9, "rotate": 10, "relabel": [list(range(10))], "corrupt": 0.5}
    made = scenario(DATA, kind, own_test=0.2, **much, **OPTIONS[kind])
    again = scenario(DATA, kind, own_test=0.2, **much, **OPTIONS[kind])
    assert same(made, again) and made.test is not None
    assert len(made) == len(plain) == len(made.angles) == len(made.maps)
    assert len(made.corrupted) == math.floor(len(made) / 2 + 0.5)
    for split, samples in ((made.train, 400), (made.test, 500)):
        held = np.concatenate(split.indices)
        assert len(set(held)) == len(held) and held.max() < samples


def test_one_call_is_the_steps_in_their_order():
    maps = fedcollab_concept_shift(10, 4)
    s = Scenario(DATA, dirichlet(DATA.y_train, 4, 1.0, seed=5))
    s = smaller(own_tests(s, 0.2, seed=5), (1, 0.5), seed=5)
    s = corrupted(relabelled(rotated(s, (0, 40)), maps), 0.5, "permute", seed=5)
    asked = {"own_test": 0.2, "keep": (1, 0.5), "rotate": (0, 40), "relabel": maps}
    asked |= {"corrupt": 0.5, "how": "permute", "clients": 4, "alpha": 1}
    made = scenario(DATA, "dirichlet", seed=5, **asked)
    assert same(made, s)
    assert (made.angles, made.maps, made.corrupted) == (s.angles, s.maps, s.corrupted)


def test_test_data_divided_alike():
    """Sorted, 400 and 100 samples of ten classes: each client has the same two or
    three classes in both, and in the same proportion."""
    made = scenario(DATA, "similarity", clients=4, s=0.0, own_test="same")
    assert made.test is not None and made.data is DATA
    tests = made.test.counts(DATA.y_test)
    assert (4 * tests == made.counts).all() and made.test.sizes.tolist() == [25] * 4


# five writers in both sets, the first in the training set once
WROTE, WROTE_TEST = np.arange(400) % 4 + 1, np.arange(100) % 5
WROTE[7] = 0


def owned(**more) -> Dataset:
    return replace(DATA, owners_train=WROTE, owners_test=WROTE_TEST, **more)


def test_writers_come_with_the_data_and_are_the_same_in_both_sets():
    data = owned()
    made = scenario(data, "natural", min_size=2, own_test="same")
    assert made.test is not None
    assert made.train.asked["who"] == made.test.asked["who"] == [1, 2, 3, 4]
    for k, who in enumerate(made.train.asked["who"]):
        assert set(WROTE[made.train.indices[k]]) == {who}
        assert (
            made.test.indices[k].tolist() == np.flatnonzero(WROTE_TEST == who).tolist()
        )


def test_owners_and_targets_move_with_their_samples():
    data = owned(targets_train=np.arange(400.0), targets_test=np.arange(400.0, 500))
    every = np.concatenate([WROTE, WROTE_TEST])
    whole = pooled(data)
    for d in (whole, scenario(whole, "iid", clients=4, own_test=0.4).data):
        for x, owners, targets in (
            (d.x_train, d.owners_train, d.targets_train),
            (d.x_test, d.owners_test, d.targets_test),
        ):
            assert owners is not None and targets is not None
            assert targets.tolist() == numbers(x)
            assert owners.tolist() == every[numbers(x)].tolist()
    assert d.owners_test is not None and len(d.owners_test) == 200


def test_fedcollabs_three_scenarios_at_a_tenth():
    data = dataset(600, 100)  # 70 of each class: 3.5 and 7 of each class a client
    label = scenario(
        pooled(data), "clusters", clients_each=5, shares=FEDCOLLAB_LABEL_SHIFT,
        own_test=1 / 7, keep=(1, math.exp(-1)),
    )  # fmt: skip
    assert label.test is not None
    assert label.test.sizes.tolist() == [3] * 20  # 24 / 7 = 3.4
    # 21 = 3 + 6 + 6 + 6, or one more of the first: floor(6 / e + .49) = 2
    assert set(label.train.sizes[:10]) == {21} and set(label.train.sizes[10:]) <= {7, 8}
    feature = scenario(
        pooled(data), "stratified", clients=20, own_test=1 / 7, rotate=FEDCOLLAB_ANGLES
    )
    assert feature.angles == (-25,) * 5 + (25,) * 5 + (155,) * 5 + (205,) * 5
    assert (feature.train.sizes == 30).all()


# -- misuse ------------------------------------------------------------------------

HALF = corrupted(PLAIN, 0.5)
OF_TWO, Y_TEST = np.arange(400) % 2, DATA.y_test
ROWS = replace(
    DATA,
    x_train=np.zeros((400, 3), dtype=np.float32),
    x_test=np.zeros((100, 3), dtype=np.float32),
    targets_train=np.zeros(400),
    targets_test=np.zeros(100),
)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: Scenario(DATA, iid(np.zeros(401, int), 4)),
            "no training sample 400: there",
        ),
        (
            lambda: Scenario(DATA, PLAIN.train, iid(np.zeros(101, int), 4)),
            "no test sample 100: there are 100",
        ),
        (
            lambda: Scenario(DATA, PLAIN.train, iid(np.zeros(100, int), 3)),
            "4 clients, but 3 test sets",
        ),
        (lambda: own_tests(TESTED, 0.2), "have test sets of their own already"),
        (lambda: own_tests(HALF, 0.2), "before labels are corrupted"),
        (lambda: own_tests(PLAIN, 2), "share must be a number above 0 and below 1"),
        (lambda: rotated(rotated(PLAIN, 3), 3), "turned already"),
        (lambda: rotated(PLAIN, (1, 2, 3)), "angles: 3 entries for 4 clients"),
        (
            lambda: rotated(PLAIN, math.inf),
            "angles must be a finite number or a list, each a finite number",
        ),
        (
            lambda: rotated(PLAIN, 3, edge="grey"),  # type: ignore[arg-type]
            "edge must be black or mirror, not 'grey'",
        ),
        (lambda: relabelled(PLAIN, [list(range(10))]), "need own tests"),
        (lambda: relabelled(TESTED, [[0] * 10]), "client 0 is no permutation of 10"),
        (lambda: relabelled(TESTED, [list(range(9))]), "client 0 is no permutation"),
        (
            lambda: relabelled(TESTED, list(range(4))),  # type: ignore[arg-type]
            "maps must be an array of shape \\(maps, classes\\) with whole numbers",
        ),
        (
            lambda: relabelled(relabelled(TESTED, [range(10)]), [range(10)]),
            "permuted already",
        ),
        (lambda: fedcollab_concept_shift(5), "first must be between 2 and 5"),
        (lambda: corrupted(HALF, 0.5), "corrupted already"),
        (lambda: corrupted(PLAIN, 25), "share_of_clients must be a number from 0 to 1"),
        (
            lambda: corrupted(PLAIN, 0.5, "flip"),  # type: ignore[arg-type]
            "how must be swap or permute, not 'flip'",
        ),
        (
            lambda: corrupted(Scenario(dataset(classes=1), PLAIN.train), 0.5),
            "with one class",
        ),
        (lambda: scenario(DATA, "iidd"), "unknown split 'iidd': choose from iid, dir"),
        (lambda: scenario(DATA, "iid"), "iid needs clients"),
        (lambda: scenario(DATA, "similarity"), "similarity needs clients and s"),
        (
            lambda: scenario(DATA, "dirichlet", clients=4, beta=1),
            "no option 'beta': choose from clients, alpha, capacity, min_size, pool",
        ),
        (lambda: scenario(DATA, "natural", owners=[1, 2]), "2 owners for 400 samples"),
        (lambda: scenario(pooled(DATA), "iid", clients=4), "ask for own_test"),
        (
            lambda: scenario(DATA, "iid", clients=4, own_test="alike"),  # type: ignore[arg-type]
            "own_test must be .* below 1 or same or None, not 'alike'",
        ),
        (
            lambda: scenario(DATA, "dirichlet", clients=4, alpha=1, own_test="same"),
            "own_test='same' is for iid, stratified, similarity, niid2, clusters, nat",
        ),
        (
            lambda: scenario(DATA, "natural", owners=OF_TWO, own_test="same"),
            "nobody knows whose the test data are",
        ),
        (lambda: scenario(DATA, "natural"), "natural needs owners"),
        (
            lambda: scenario(owned(), "natural", own_test="same", who=[9]),
            "of owner 9 there are fewer than 1",
        ),
        (lambda: rotated(Scenario(ROWS, PLAIN.train), 5), "only images can be turned"),
        (lambda: corrupted(Scenario(ROWS, PLAIN.train), 1), "no labels to exchange"),
        (
            lambda: relabelled(
                Scenario(ROWS, PLAIN.train, iid(Y_TEST, 4)), [range(10)]
            ),
            "no labels to exchange",
        ),
    ],
)
def test_what_cannot_be_done_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_a_scenario_counts_every_class_of_the_data():
    some = Partition("by hand", {}, (np.array([0, 10, 1]), np.array([2])))
    s = Scenario(replace(DATA, classes=(*DATA.classes, "never")), some)
    assert s.counts.shape == (2, 11) and s.counts[0].tolist() == [2, 1] + [0] * 9
    assert len(s) == 2
