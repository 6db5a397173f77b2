"""Chapter 4: who holds what, when it pays to train together, and what is said of it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from IPython.display import HTML

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.coalitions import cliff, couples, paper, worlds
from fedlab_book.chapters.coalitions.guessing import guesser, shown
from fedlab_book.findings import Unsupported
from fedlab_core.errors import InputError
from fedlab_core.methods.collab_distance import distances, halves
from tests.figure_cases import supported

POINTS = [(200, 0), (200, 2), (200, 4), (25, 2), (50, 2)]
SEEDS = (1, 2, 3)


@pytest.mark.parametrize("classes", [0, 2, 4, 8])
def test_so_many_names_differ(classes):
    names = couples.renamed(classes)
    assert (names != np.arange(10)).sum() == classes
    assert sorted(names) == list(range(10))


def test_names_are_passed_on_in_a_ring():
    assert couples.renamed(4).tolist() == [3, 0, 1, 2, 4, 5, 6, 7, 8, 9]


def test_a_pair_holds_the_same_data_and_names_a_part_of_it_differently():
    bench = Bench(noise=0.3, part="even", sizes={"hidden": [8]})
    world = couples.pairs(bench, [(30, 0), (40, 2)])(5)
    data = replace(bench, samples=couples.TRAIN, tests=2 * couples.OWN_TESTS).task(5)
    assert world.counts.sum(1).tolist() == [30, 30, 40, 40]
    assert world.tests is not None
    swapped = {0: 1, 1: 0}
    for k, (first, m) in enumerate([(0, 30), (400, 30), (0, 40), (400, 40)]):
        held, own = world.client(k), world.tests[k]
        named = data.y_train[first : first + m], data.y_test[500 * (k % 2) :][:500]
        if k == 3:  # the second client of the second pair
            named = tuple(np.array([swapped.get(c, c) for c in y]) for y in named)
        np.testing.assert_array_equal(world.y[held], named[0])
        np.testing.assert_array_equal(world.y_test[own], named[1])
        # a world scales all images alike: by one factor, after one shift
        images = world.x[held].numpy().ravel()
        theirs = data.x_train[first : first + m].ravel()
        assert np.corrcoef(images, theirs)[0, 1] == pytest.approx(1, abs=1e-6)


def test_more_samples_than_there_are_is_refused():
    with pytest.raises(InputError, match="at most 400 samples, not 401"):
        couples.pairs(Bench(), [(25, 2), (401, 2)])


def test_a_pair_is_judged_by_the_mean_of_its_two():
    """0.5 and 0.7 are 60 on average, 0.1 and 0.3 are 20; with seed 2 ten more."""
    runs = {}
    for seed in (1, 2):
        for arm, more in (("alone", 0.0), ("together", 0.2)):
            clients = np.array([0.5, 0.7, 0.1, 0.3]) + more + 0.1 * (seed - 1)
            runs["", arm, seed] = fl.History(arm, seed, clients=clients)
    two = couples.judged(Comparison(runs))
    np.testing.assert_allclose(two, [[[60, 20], [80, 40]], [[70, 30], [90, 50]]])


def test_two_series_cross_in_one_point():
    assert couples.by_distance(POINTS) == [0, 1, 2]
    assert couples.by_samples(POINTS) == [3, 4, 1]


def text(shown: HTML) -> str:
    return str(shown.data)


def accuracies(gains) -> np.ndarray:
    """Three seeds; alone 50, 51 and 52 everywhere, together by so much ahead."""
    alone = np.tile(50 + np.arange(3.0)[:, None], (1, len(POINTS)))
    wide = np.array([-0.1, 0.1, 0.0])[:, None]  # an interval of a quarter of a point
    return np.stack([alone, alone + np.array(gains) + wide], axis=1)


@pytest.mark.parametrize(
    ("at_25", "at_50", "at_200", "guess", "holds"),
    [
        (2.0, 1.0, -1.0, "It depends on m: with few samples together", True),
        (0.0, 1.0, -1.0, "It depends on m: with few samples together", False),
        (-2.0, -1.0, 1.0, "It depends on m: with few samples alone", False),
        (2.0, 1.0, 1.0, "Yes", False),
        (-2.0, -1.0, 0.0, "No", False),
    ],
)
def test_when_it_is_worth_it_is_what_intervals_decide(
    at_25, at_50, at_200, guess, holds
):
    two = accuracies([5.0, at_200, -7.0, at_25, at_50])
    assert couples.right(POINTS, two).startswith(guess)
    facts = couples.facts(POINTS, two)
    assert supported(facts) == holds
    assert [row.name for row in facts["rows"]][:2] == [
        "D = 0.2, m = 25",
        "D = 0.2, m = 50",
    ]


def test_the_picture_of_pairs_says_what_it_shows():
    said = text(couples.picture(POINTS, accuracies([5.0, 0.0, -7.0, 1.0, 2.0]), "So."))
    assert "together: 56.0 ± 2.6 at 0, 51.0 ± 2.6 at 0.2, 44.0 ± 2.6 at 0.4" in said
    assert "together: 52.0 ± 2.6 at 25, 53.0 ± 2.6 at 50, 51.0 ± 2.6 at 200" in said


def test_worlds_hold_other_letters_and_the_small_ones_fewer():
    held = worlds.dealt(4.5)
    assert held.sum(1).tolist() == [63] * 5 + [14] * 5
    assert not held[:5, 5:].any() and not held[5:, :5].any()


@pytest.mark.slow
def test_what_is_seen_is_each_clinics_own_letters():
    bench = Bench(samples=900, tests=100, part="by class", sizes={"hidden": [8]})
    spot = worlds.place(bench, worlds.dealt(4.5))
    how = {"observe": worlds.seen, "judge_every": 2, "seeds": [1]}
    found = bench.compare(spot, {worlds.ALONE: fl.local_only()}, 20, **how)
    assert spot(1).counts.sum(1).tolist() == [63] * 5 + [14] * 5
    assert found.curves(worlds.ALONE, what="own").shape == (1, worlds.LAST, 10)
    assert found.curves(worlds.ALONE, what="far").shape == (1, 1, 10, 10)


# Percent of own letters read by the large clinics and by the small ones.
LEVELS = {
    worlds.ALONE: (60, 60),
    worlds.SIZE: (70, 3),
    worlds.EQUAL: (60, 38),
    worlds.NOVA: (60, 36),
    worlds.TUNED: (62, 60),
    worlds.KINDS: (69, 68),
    worlds.SPLIT: (70, 72),
    worlds.WORLDS: (70, 72),
    worlds.ONE: (64, 52),
    worlds.ONE_EQUAL: (66, 65),
    worlds.TWO: (66, 28),
}


def runs(**changed: tuple[float, float]) -> Comparison:
    """Three seeds at these levels, each arm's a little apart in its own way."""
    made = {}
    for i, (arm, levels) in enumerate((LEVELS | changed).items()):
        for seed in SEEDS:
            small = 0.1 * ((seed + i) % 3 - 1)
            own = np.repeat(np.array(levels) + small, 5) / 100
            far = np.full((10, 10), 0.8)
            far[5:, 5:] = 0.4
            rows = [{"far": far.tolist()}] + [{"own": own.tolist()}] * 3
            made["", arm, seed] = fl.History(arm, seed, rows=rows)
    return Comparison(made)


def test_what_some_clinics_read_is_their_mean():
    assert worlds.read(runs(), worlds.SIZE).mean() == pytest.approx(36.5)
    assert worlds.more(runs(), worlds.SIZE, worlds.ALONE).mean() == pytest.approx(-57)


@pytest.mark.parametrize(
    ("levels", "guess"),
    [((70, 3), "Their"), ((70, 50), "They lose"), ((65, 75), "They gain most")]
    + [((75, 65), "They gain a little")],
)
def test_the_guess_on_the_small_ones_follows_the_runs(levels, guess):
    assert worlds.right(runs(**{worlds.SIZE: levels})).startswith(guess)


def test_blame_is_shared_between_weights_and_company():
    assert "So." in text(worlds.blame(runs(), "So."))
    for arm, levels in (
        (worlds.EQUAL, (60, 3)),  # nothing comes back
        (worlds.EQUAL, (60, 61)),  # all of it does
        (worlds.WORLDS, (70, 60)),
    ):
        with pytest.raises(Unsupported):
            worlds.blame(runs(**{arm: levels}), "So.")


def test_a_stranger_costs_more_than_the_others_bring():
    assert "So." in text(worlds.stranger(runs(), "So."))
    for levels in ((64, 61), (64, 73)):
        with pytest.raises(Unsupported):
            worlds.stranger(runs(**{worlds.ONE: levels}), "So.")
    for equally in ((66, 51), (66, 73)):
        with pytest.raises(Unsupported):
            worlds.stranger(runs(**{worlds.ONE_EQUAL: equally}), "So.")
    assert "3.0 ± 0.2 at 5" in text(worlds.strangers(runs(), "So."))


def test_small_models_look_alike_or_it_is_not_said():
    assert "0.40 ± 0.00" in worlds.trap(runs())
    near = runs()
    for history in near.runs.values():
        history.rows[0]["far"] = np.ones((10, 10)).tolist()
    with pytest.raises(InputError, match="not nearer"):
        worlds.trap(near)


def test_a_plain_guesser_measures_what_the_core_measures():
    bench = Bench(samples=900, tests=20, part="by class", sizes={"hidden": [8]})
    world = worlds.place(bench, worlds.dealt(4.5))(3)
    look = {"hidden": 20, "lr": 0.1, "batch": 99, "rounds": 4, "every": 4}
    core, (mine, theirs) = distances(world, seed=3, **look), halves(world, 3)[1:3]
    net = guesser(world, 20, 3)
    x = torch.cat([shown(world, mine[0]), shown(world, theirs[0])])
    target = torch.arange(14)[:, None] >= 7
    sgd = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(4):
        sgd.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits
        loss(net(x), target.float()).backward()
        sgd.step()
    right = [net(shown(world, mine[1])) < 0, net(shown(world, theirs[1])) > 0]
    got = sum(r.double().mean().item() for r in right) - 1
    assert got == pytest.approx(core[1, 2].item(), abs=1e-6)


def test_exact_distances_are_the_share_to_exchange():
    """A and B share three letters of 18 in 63; 9 of 63 are others."""
    apart = cliff.exact(worlds.dealt(4.5))
    assert apart[0, 1] == 0 and apart[0, 2] == pytest.approx(1 / 7)
    assert apart[0, 5] == 1 and apart[5, 9] == pytest.approx(1 / 7)


def test_coalitions_get_coarser_as_c_grows():
    on = cliff.plateaus(worlds.dealt(4.5), [1, 2, 6, 14])
    assert list(on.values()) == [worlds.KINDS, worlds.SPLIT, worlds.WORLDS, worlds.SIZE]


def test_coalitions_that_nobody_trained_in_are_named():
    known = next(iter(cliff.NAMED))
    other = (0, 1, *known[2:])
    at = {1.0: {1: other, 2: known}, 3.0: {1: known, 2: known}}
    assert cliff.strange(at) == [1]


def test_accuracy_by_c_is_that_of_the_arm_of_each_seed():
    together, apart = (0,) * 10, (0,) * 5 + (1,) * 5
    found = cliff.accuracy(runs(), {12.0: {1: together, 2: apart, 3: apart}})
    low, high = (worlds.read(runs(), arm) for arm in (worlds.SIZE, worlds.WORLDS))
    np.testing.assert_allclose(found[12.0], [low[0], high[1], high[2]])


def test_the_guess_on_c_follows_the_runs():
    arms = [worlds.KINDS, worlds.SPLIT, worlds.WORLDS, worlds.SIZE]
    assert cliff.right(runs(), arms).startswith("It hardly changes, and then")
    peak = {worlds.KINDS: (40, 40)}
    assert cliff.right(runs(**peak), arms).startswith("It has one clear peak")
    best = {worlds.SIZE: (90, 90)}
    assert cliff.right(runs(**best), arms).startswith("It rises")
    same = dict.fromkeys(arms, (70, 70))
    assert cliff.right(runs(**same), arms).startswith("It hardly changes at all")


def test_the_picture_of_the_cliff_says_where_it_is():
    on = cliff.plateaus(worlds.dealt(4.5), [1, 2, 6, 14])
    dots = {6.0: np.array([71.0, 71.0]), 14.0: np.array([36.0, 37.0])}
    said = text(cliff.picture(runs(), on, dots, "So."))
    assert "71.0 from C = 6, two worlds; 36.5 from C = 14, all ten, by size" in said
    assert "C = 14: 36, 37" in said


def test_one_client_at_a_time_is_stuck_where_a_merge_is_missing():
    held = worlds.dealt(4.5)
    told = cliff.stuck(held, {0: cliff.exact(held)}, C=6, runs=5)
    assert "0 of 5 runs" in told and "in 0 of 1 seeds" in told
    free = cliff.stuck(held, {0: cliff.exact(held)}, C=12, runs=5)
    assert "5 of 5 runs" in free and "in 1 of 1 seeds" in free


FULL = {
    "Local": {0: 86.0, 1: 86.2, 2: 86.4},
    "FedAvg": {0: 46.5, 1: 46.6, 2: 46.4},
    "C = 8": {0: 92.0, 1: 92.1, 2: 92.5},
    "C = 10": {0: 92.0, 1: 47.4, 2: 92.5},
    "FedNova": {0: 78.0, 1: 86.0, 2: 88.0},
} | dict.fromkeys(paper.OTHERS, {0: 91.8, 1: 91.9, 2: 92.1})


def test_seeds_that_fall_are_counted_and_not_averaged():
    said = paper.said(FULL)
    assert "in 3 of 3 seeds, by +6.0 ± 0.2 points" in said
    assert "1 of 3 seeds fall to 47 %" in said


def test_rivals_are_said_as_they_are():
    assert "less than half a point" in paper.rivals(FULL)
    with pytest.raises(InputError, match="FedNova is not"):
        paper.rivals(FULL | {"FedNova": FULL["C = 8"]})
    with pytest.raises(InputError, match="further behind"):
        paper.rivals(FULL | {"IFCA": FULL["Local"]})


def test_claims_stand_beside_ours_with_a_verdict():
    told = {"Local": 0.858, "FedAvg": 0.4674, "FedCollab": 0.9247}
    table = paper.claims(FULL, told).set_index("")
    assert table.loc["FedCollab over alone", "paper"] == "+6.7"
    assert table.loc["FedCollab over alone", "can we tell?"] == "gains"
    assert table.loc["FedNova over alone", "can we tell?"] == "cannot tell"


@pytest.mark.slow
def test_the_ledger_has_every_seed_at_the_papers_size():
    full = paper.full_size()
    assert {len(full[arm]) for arm in ("Local", paper.GOOD, paper.EDGE)} == {5}
    assert all(len(full[arm]) >= 3 for arm in (*paper.OTHERS, "FedNova"))
