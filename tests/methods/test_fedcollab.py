"""FedCollab: the objective, its solver, the distances, and training in coalitions."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlab_core import Partition, World, build, fedavg, federate, world
from fedlab_core.errors import InputError
from fedlab_core.methods.fedcollab import (
    FedCollab,
    anchors,
    capacity_and_shift,
    collaborate,
    cost,
    descend,
    fedcollab,
    join,
    solve,
)
from fedlab_core.methods.fedprox import fedprox
from tests.methods.plainly import LOCAL, played, same, setting
from tests.reference import fedcollab as plain

# -- the objective -----------------------------------------------------------------


@st.composite
def problems(draw, most: int = 6):
    """Sizes, symmetric distances with some zeros and negative ones, C, a partition."""
    n = draw(st.integers(2, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = rng.uniform(-0.1, 1, (n, n)).round(2)
    d = np.triu(d, 1) + np.triu(d, 1).T
    sizes = rng.integers(2, 300, n).tolist()
    return sizes, d, draw(st.floats(0, 20)), rng.integers(n, size=n).tolist()


@given(problems())
def test_the_closed_form_is_the_definition(problem):
    sizes, d, c, group_of = problem
    want = plain.objective(group_of, sizes, d.tolist(), c)
    assert cost(group_of, d, sizes, c) == pytest.approx(want, rel=1e-12)
    assert cost(group_of, torch.tensor(d), torch.tensor(sizes), c) == pytest.approx(
        want
    )
    g, s = capacity_and_shift(group_of, d, sizes)
    assert c * g + s == pytest.approx(want)


@given(problems())
def test_both_ends_have_a_shorter_form(problem):
    """Alone: C mean(1/sqrt(m_i)). Together: C / sqrt(m) + mean_i sum_j beta_j D_ij."""
    sizes, d, c, _ = problem
    m, ends = np.array(sizes), anchors(len(sizes))
    alone = c * (1 / np.sqrt(m)).mean()
    together = c / math.sqrt(m.sum()) + (d @ (m / m.sum())).mean()
    assert cost(ends["local"], d, sizes, c) == pytest.approx(alone)
    assert cost(ends["everyone"], d, sizes, c) == pytest.approx(together)


def test_three_clients_by_hand():
    """Sizes 4, 12, 9 and C = 6; clients 0 and 1 together hold 16 samples.

    They pay 6/4 each, client 2 pays 6/3: G C = (1.5 + 1.5 + 2) / 3 = 5/3.
    Client 0's distance is 12/16 * .4 = .3, client 1's 4/16 * .4 = .1: S = .4/3.
    """
    d = [[0, 0.4, 0.8], [0.4, 0, 0.6], [0.8, 0.6, 0]]
    g, s = capacity_and_shift([0, 0, 1], d, [4, 12, 9])
    assert (6 * g, s) == (pytest.approx(5 / 3), pytest.approx(0.4 / 3))


@given(
    m1=st.integers(1, 3000),
    m2=st.integers(1, 3000),
    c=st.floats(0.1, 20),
    side=st.sampled_from([0.99, 1.01]),
)
def test_two_clients_merge_up_to_the_threshold(m1, m2, c, side):
    """Together if C (1/sqrt(m1) + 1/sqrt(m2) - 2/sqrt(m1 + m2)) > D."""
    edge = c * (m1**-0.5 + m2**-0.5 - 2 * (m1 + m2) ** -0.5)
    d = side * edge
    for merge in (True, False):
        got = solve([[0, d], [d, 0]], [m1, m2], c, restarts=1, merge=merge)
        assert got.group_of == ([0, 0] if side < 1 else [0, 1])


# -- the authors' matrices, as block means -----------------------------------------

THREE = [0] * 5 + [1] * 5 + [2] * 10
PARTITIONS = {
    "local": list(range(20)),
    "types": [0] * 5 + [1] * 5 + [2] * 5 + [3] * 5,
    "three": THREE,
    "large and small": [0] * 10 + [1] * 10,
    "first type": [0] * 5 + [1] * 15,
    "global": [0] * 20,
}
# Within A, B, C, D; then AB, AC, AD, BC, BD, CD; samples of large and small; C.
LABEL = (
    [0.0073, 0.0270, 0.1714, 0.1714],
    [0.1569, 1.0, 1.0, 0.9981, 0.9979, 0.2914],
    [2100] * 10 + [14] * 10,
    10,
)
FEATURE = (
    [0.0184, 0.0105, 0.0288, 0.0259],
    [0.0787, 0.2181, 0.2749, 0.2487, 0.1951, 0.0974],
    [2500] * 10 + [340] * 10,
    10,
)
CONCEPT = (
    [0.0170, 0.0151, 0.0850, 0.0433],
    [0.0879, 0.2736, 0.2916, 0.2861, 0.2484, 0.1400],
    [2500] * 10 + [120] * 10,
    8,
)
# G and S of each partition above, on the authors' own matrices.
LINES = {
    "local": [(0.144542, 0), (0.037116, 0), (0.055644, 0)],
    "types": [(0.064641, 0.07543), (0.016599, 0.01672), (0.024885, 0.03209)],
    "three": [(0.047137, 0.11400), (0.013047, 0.03560), (0.018906, 0.05426)],
    "large and small": [(0.045708, 0.14979), (0.011737, 0.05240), (0.017596, 0.07303)],
    "first type": [(0.009711, 0.50392), (0.008184, 0.11078), (0.008644, 0.13811)],
    "global": [(0.006878, 0.54257), (0.005934, 0.14053), (0.006178, 0.16368)],
}


def blocks(within, across) -> np.ndarray:
    """20 clients of four types, the same distance for all pairs of two types."""
    of_types = np.diag(within)
    of_types[np.triu_indices(4, 1)] = across
    of_types = np.maximum(of_types, of_types.T)
    types = np.repeat(np.arange(4), 5)
    d = of_types[types][:, types]
    np.fill_diagonal(d, 0)
    return d


@pytest.mark.parametrize("name", PARTITIONS)
@pytest.mark.parametrize("case", range(3))
def test_capacity_and_shift_of_the_papers_scenarios(name, case):
    within, across, sizes, _ = (LABEL, FEATURE, CONCEPT)[case]
    g, s = capacity_and_shift(PARTITIONS[name], blocks(within, across), sizes)
    assert g == pytest.approx(LINES[name][case][0], abs=5e-7)
    assert s == pytest.approx(LINES[name][case][1], abs=5e-5)  # means of 4 digits


@pytest.mark.slow
@pytest.mark.parametrize(
    "case, want", [(LABEL, 0.58538), (FEATURE, 0.16607), (CONCEPT, 0.20551)]
)
def test_merges_find_the_papers_three_coalitions(case, want):
    within, across, sizes, c = case
    found = solve(blocks(within, across), sizes, c)
    assert found.group_of == THREE
    assert found.coalitions[2] == list(range(10, 20))
    assert found.cost == pytest.approx(want, abs=5e-5)


def test_single_moves_stop_at_the_four_types():
    """On the rotated images' matrix without its noise; a merge then pays off.

    One client that leaves {10-14} for {15-19} raises the cost, so nobody does.
    """
    within, across, sizes, c = FEATURE
    d = blocks(within, across)
    for r in range(20):
        stuck = descend(d, sizes, c, np.random.default_rng(r), merge=False)
        free = descend(d, sizes, c, np.random.default_rng(r))
        assert stuck.group_of == PARTITIONS["types"] and free.group_of == THREE
        assert stuck.cost == pytest.approx(0.1827, abs=5e-5)
        assert stuck.path == free.path[: len(stuck.path)]
    one = [0] * 5 + [1] * 5 + [3] + [2] * 4 + [3] * 5
    assert cost(one, d, sizes, c) > stuck.cost > free.cost


@pytest.mark.slow
def test_more_capacity_makes_larger_coalitions():
    within, across, sizes, _ = LABEL
    d = blocks(within, across)
    got = [solve(d, sizes, c).group_of for c in (3.5, 10, 12, 14)]
    assert got == [THREE, THREE, PARTITIONS["first type"], PARTITIONS["global"]]
    assert max(solve(d, sizes, 0.1, restarts=5).group_of) == 19


def test_ablations_are_other_inputs():
    """Sizes ignored: not the small types join, which need it most, but the large ones,
    which are nearer. Distances ignored: everyone joins."""
    within, across, sizes, c = FEATURE
    d = blocks(within, across)
    alike = solve(d, [sum(sizes) / 20] * 20, c, restarts=20)
    assert alike.group_of == [0] * 10 + [1] * 5 + [2] * 5
    flat = np.where(np.eye(20), 0, d.sum() / (20 * 19))
    assert solve(flat, sizes, c, restarts=20).group_of == PARTITIONS["global"]


# -- the solver --------------------------------------------------------------------


@pytest.mark.slow
@given(problems(20), st.integers(0, 1000))
def test_the_path_is_that_of_the_plain_version(problem, seed):
    sizes, d, c, _ = problem
    got = descend(d, sizes, c, np.random.default_rng(seed), merge=False)
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(len(sizes)).tolist() for _ in range(100)]
    group_of, path = plain.solve(sizes, d.tolist(), c, orders)
    assert got.group_of == group_of
    assert got.path == pytest.approx(path, abs=1e-9)


@given(problems(), st.integers(0, 1000))
def test_the_path_goes_down_and_ends_at_the_cost(problem, seed):
    sizes, d, c, _ = problem
    got = descend(d, sizes, c, np.random.default_rng(seed))
    assert got.path[-1] == pytest.approx(got.cost, abs=1e-9)
    assert got.cost == pytest.approx(cost(got.group_of, np.maximum(d, 0), sizes, c))
    assert (np.diff(got.path) <= 0).all()
    alone = cost(anchors(len(sizes))["local"], np.maximum(d, 0), sizes, c)
    assert got.path[0] <= alone + 1e-12


@given(problems())
def test_no_partition_of_a_few_clients_is_better(problem):
    """Two samples a client or more, all partitions of up to six tried one by one."""
    sizes, d, c, _ = problem
    got = solve(d, sizes, c, restarts=60)
    assert got.cost == pytest.approx(plain.brute_force(sizes, d.tolist(), c)[1])


def test_the_same_seed_gives_the_same_solution():
    within, across, sizes, c = CONCEPT
    d = blocks(within, across)
    a, b = (solve(d, sizes, c, restarts=3, merge=False, seed=s) for s in (4, 4))
    assert a == b
    paths = {solve(d, sizes, c, restarts=1, seed=s).path for s in range(5)}
    assert len(paths) == 5


def test_unequal_distances_in_both_directions():
    """Rows are the client's own: only client 0 minds, and pays for it."""
    d = [[0, 0.5], [0.0, 0]]
    assert cost([0, 0], d, [1, 3], 2) == pytest.approx((1 + 1 + 0.75 * 0.5) / 2)
    assert solve(d, [1, 3], 2, restarts=1).cost == pytest.approx(2.375 / 2)


# -- a new client ------------------------------------------------------------------


@given(problems(), st.floats(0, 20))
def test_a_new_client_enters_where_everyone_pays_least(problem, c):
    sizes, d, _, group_of = problem
    old, row = group_of[:-1], d[-1, :-1]
    got = join(row, sizes[-1], old, d[:-1, :-1], sizes[:-1], c)
    assert got == plain.join(old, sizes, d.tolist(), c)


def test_a_new_client_of_a_type_joins_it_or_stays_alone():
    within, across, sizes, c = LABEL
    d = blocks(within, across)
    left = np.delete(np.arange(20), 7)  # a large client of the second type
    group_of, few = [THREE[k] for k in left], [sizes[k] for k in left]
    known = (group_of, d[np.ix_(left, left)], few, c)
    assert join(d[7, left], 2100, *known) == 1
    assert join(np.full(19, 3.0), 10**6, *known, alone=True) == 3
    assert join(np.full(19, 3.0), 10**6, *known) in (0, 1, 2)


# -- training in coalitions --------------------------------------------------------


@pytest.fixture(scope="module")
def two_kinds(small_data) -> World:
    """Four clients of letters 0 to 4 and two of 5 to 9."""
    low = np.flatnonzero(small_data.y_train < 5)
    high = np.flatnonzero(small_data.y_train >= 5)
    held = tuple(np.array_split(low, 4)) + tuple(np.array_split(high, 2))
    who = Partition("by hand", {}, held)
    return world(small_data, who, build("mlp", small_data.shape, 10, hidden=(16,)))


QUICK = {"rounds": 50, "lr": 0.05, "hidden": 50, "restarts": 3}


def test_who_holds_the_same_letters_trains_together(two_kinds):
    got = collaborate(two_kinds, C=5, **QUICK)
    assert got.solution.coalitions == [[0, 1, 2, 3], [4, 5]]
    assert got.D[:4, 4:].min() > 0.8 and got.D[:4, :4].max() < 0.4
    assert got.groups.begin(two_kinds, 5) == got.solution.group_of
    far = collaborate(two_kinds, C=100, **QUICK)
    assert far.solution.coalitions == [[0, 1, 2, 3, 4, 5]]


@pytest.mark.slow
@pytest.mark.equals("fedcollab")
def test_coalitions_train_like_the_plain_versions(two_kinds):
    """Each a federation of its own, from the same start."""
    method = fedcollab(LOCAL, C=5, **QUICK)
    assert method.name == "FedCollab" and method.groups.name == "fedcollab"
    ours, s = played(two_kinds, method, None), setting(two_kinds, LOCAL, None)
    group_of = [0, 0, 0, 0, 1, 1]
    want = plain.run(s.model, s.clients, s.rounds, s.batches, *s.sgd, group_of)
    for r, states in zip(ours, want, strict=True):
        assert r.group_of == group_of
        for g, state in states.items():
            same(r.after, state, g)


@pytest.mark.slow
def test_with_partial_participation_absent_members_keep_their_coalition(
    two_kinds, small_local
):
    """The coalition of nobody who takes part keeps its model for the round."""
    seen = played(two_kinds, fedcollab(small_local, C=5, **QUICK), 2, rounds=8)
    assert all(r.group_of == [0, 0, 0, 0, 1, 1] for r in seen)
    without = [r for r in seen if max(r.ids) < 4]
    assert without
    for r in without:
        for name, v in r.after.items():
            assert torch.equal(v[1], r.before[name][1])
            assert not torch.equal(v[0], r.before[name][0])


@pytest.mark.slow
def test_any_method_trains_in_coalitions(two_kinds, small_local):
    groups = FedCollab(C=5, **QUICK)
    for method in (fedavg(small_local), fedprox(small_local)):
        h = federate(two_kinds, replace(method, groups=groups), 2)
        assert h.group_of == [0, 0, 0, 0, 1, 1] and not h.diverged


# -- misuse ------------------------------------------------------------------------


def test_what_cannot_be_solved_is_refused():
    d = [[0, 1], [1, 0]]
    with pytest.raises(InputError, match="sizes must be .* above 0"):
        solve(d, [3, 0], 1)
    with pytest.raises(InputError, match="sizes must be .*, as clients is 2 here"):
        cost([0, 1, 2], d, [3, 3, 3], 1)
    with pytest.raises(InputError, match="D must be .*, not one with (nan|inf)"):
        solve([[0, float("nan")], [1, 0]], [1, 1], 1)
    with pytest.raises(InputError, match="group_of: 1 numbers for 2 clients"):
        cost([0], d, [3, 3], 1)
    with pytest.raises(InputError, match="group_of must be .* 0 or more"):
        cost([0, -1], d, [3, 3], 1)
    with pytest.raises(InputError, match="C must be a number of 0 or more"):
        solve(d, [3, 3], -1)
    with pytest.raises(InputError, match="restarts must be .* 1 or more, not 0"):
        solve(d, [3, 3], 1, restarts=0)
    with pytest.raises(InputError, match="as clients is . here"):
        join([1.0], 3, [0, 1], d, [3, 3], 1)
