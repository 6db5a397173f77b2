"""The chapters' bench: what is drawn, what is compared, and what is said of it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import fedlab_core as fl
from fedlab_book import bench as module
from fedlab_book.bench import SAID, Bench, Comparison, effect, pm, side, verdict
from fedlab_core import tree
from fedlab_core.errors import InputError
from fedlab_ledger.model.verdict import OPPOSITE, SAME, UNDECIDED

SMALL = Bench(samples=120, tests=60, sizes={"hidden": [8]}, seeds=range(3, 5))
REAL = replace(SMALL, dataset="digits")  # a set that needs no file
LOCAL = fl.Training(lr=0.1, epochs=1, batch_size=20)
ARMS = {"FedAvg": fl.fedavg(LOCAL), "twice": fl.fedavg(replace(LOCAL, epochs=2))}


def same(a: fl.Dataset, b: fl.Dataset) -> bool:
    names = ("x_train", "y_train", "x_test", "y_test")
    return all(np.array_equal(getattr(a, n), getattr(b, n)) for n in names)


def made(curves: dict, last: int = 5, what: str = "accuracy") -> Comparison:
    """A comparison of given curves: (place, arm, seed) -> one number a round."""
    runs = {
        (where, arm, seed): fl.History("any", seed, [{what: v} for v in curve])
        for (where, arm, seed), curve in curves.items()
    }
    return Comparison(runs, last)


# Two seeds, three rounds; fractions that are exact in binary.
TWO = made(
    {
        ("", "FedAvg", 1): [0.25, 0.5, 0.5],
        ("", "FedAvg", 2): [0.5, 0.5, 0.75],
        ("", "other", 1): [0.5, 0.75, 0.5],
        ("", "other", 2): [0.25, 1.0, 0.75],
    },
    last=2,
)


@pytest.mark.parametrize("bench", [SMALL, REAL], ids=["letters", "digits"])
@pytest.mark.parametrize("part", ["any", "by class", "even"])
def test_a_seed_draws_the_same_bytes_and_another_seed_others(bench, part):
    bench = replace(bench, part=part)
    again = replace(bench, device="cpu", sizes={"hidden": [4]})
    assert bench.task(3) is again.task(3)  # one copy of the arrays
    before = [v.copy() for v in (bench.task(3).x_train, bench.task(3).x_test)]
    module._letters.cache_clear()
    module._part.cache_clear()
    fresh = bench.task(3)
    assert np.array_equal(fresh.x_train, before[0])
    assert np.array_equal(fresh.x_test, before[1])
    assert not same(fresh, bench.task(4))


def test_the_ways_to_draw_a_part_of_a_real_set():
    for part, train, test in (
        ("any", False, False),
        ("by class", True, False),
        ("even", True, True),
    ):
        data = replace(REAL, part=part).task(7)
        assert (len(data.y_train), len(data.y_test)) == (120, 60)
        classes = [np.bincount(y, minlength=10) for y in (data.y_train, data.y_test)]
        assert (classes[0] == 12).all() == train
        assert (classes[1] == 6).all() == test


def test_a_part_is_of_the_set_and_holds_no_sample_twice(monkeypatch):
    whole = replace(REAL, part="all").task(0)
    assert same(whole, fl.load("digits"))
    x, numbers = whole.x_train.copy(), np.arange(len(whole.y_train))
    x[:, 0, 0], x[:, 0, 1] = numbers // 256, numbers % 256
    numbered = replace(whole, x_train=x)
    module._whole.cache_clear()
    monkeypatch.setattr(fl, "load", lambda *_: numbered)
    mine = replace(REAL, part="even").task(77)
    module._whole.cache_clear()
    found = mine.x_train[:, 0, 0].astype(int) * 256 + mine.x_train[:, 0, 1]
    assert (whole.y_train[found] == mine.y_train).all()
    assert len(set(found.tolist())) == 120


def test_letters_are_drawn_with_the_noise_asked_for():
    assert same(
        replace(SMALL, noise=0.1).task(5),
        fl.load("letters", n_train=120, n_test=60, noise=0.1, seed=5),
    )


def test_a_place_is_the_core_s_scenario_with_network_tests_and_proxy():
    bench = replace(SMALL, proxy=fl.Proxy(2))
    place = SMALL.place("similarity", clients=3, s=0.5, own_test="same")
    world, by_hand = place(3), SMALL.scenario(3, "similarity", clients=3, s=0.5)
    assert world is place(3)  # made once
    assert world.partition == by_hand.train
    assert world.tests is not None and len(world.tests) == 3
    assert [w.shape[0] for w in world.model.state_dict().values()][0] == 8

    common = bench.place("iid", clients=3)
    assert len(common(3).y_test) == 60 - 2 * 10  # the server took two of each class
    known = [common(s).view.proxy_set("a test")[0] for s in (3, 4)]
    drawn = fl.Proxy(2, seed=3).draw(bench.task(3).y_test)[0]
    unproxied = replace(bench, proxy=None).place("iid", clients=3)(3)
    assert torch.equal(known[0], unproxied.x_test[drawn])
    assert not torch.equal(*known)


def test_a_place_can_be_made_by_a_function_of_the_seed():
    def one_each(seed: int) -> fl.Scenario:
        data = SMALL.task(seed)
        return fl.Scenario(data, fl.designed(data.y_train, np.diag([2] * 10)))

    world = SMALL.place(one_each)(3)
    assert world.counts.tolist() == np.diag([2] * 10).tolist()
    with pytest.raises(InputError, match="takes the seed alone"):
        SMALL.place(one_each, clients=3)


@pytest.mark.slow
def test_comparing_is_running_each_arm_in_each_place_on_each_seed():
    places = {"even": SMALL.place("iid", clients=3)}
    places["uneven"] = SMALL.place("dirichlet", clients=3, alpha=0.3)
    turns = {"even": 2, "uneven": 3}
    found = SMALL.compare(places, ARMS, turns, participants=2)
    assert len(found.runs) == 8
    for (where, arm, seed), history in found.runs.items():
        alone = fl.federate(
            places[where](seed), ARMS[arm], turns[where], seed, participants=2
        )
        assert history.seed == seed
        assert len(history.rows) == turns[where]
        for name, w in alone.states.items():
            assert torch.allclose(w, history.states[name], atol=1e-5), (where, arm)
        ends = found.model(arm, seed, where)
        assert all(torch.equal(ends[n], history.states[n][0]) for n in ends)
    states = [found.model("FedAvg", s, "even") for s in (3, 4)]
    assert not torch.allclose(tree.flatten(states[0]), tree.flatten(states[1]))


def test_what_is_compared_is_scored_as_the_bench_says():
    short = replace(SMALL, last=1)
    found = short.compare(short.place("iid", clients=3), ARMS, 2)
    ends = [100 * h.rows[-1]["accuracy"] for h in found.of("twice")]
    assert found.scores("twice").tolist() == ends


def test_starts_and_other_seeds():
    place = SMALL.place("iid", clients=3)
    first = SMALL.compare(place, {"FedAvg": ARMS["FedAvg"]}, 1, seeds=[9])
    starts = {9: first.model("FedAvg", 9)}
    still = {"still": fl.fedavg(replace(LOCAL, lr=1e-12))}
    again = SMALL.compare(place, still, 1, seeds=[9], starts=starts)
    assert [*again.runs] == [("", "still", 9)]
    assert again.last == 5 and len(again.curves("still")[0]) == 1
    gap = tree.flatten(again.model("still", 9)) - tree.flatten(starts[9])
    assert gap.abs().max() < 1e-6


def test_scores_and_paired_gains_by_hand():
    # FedAvg: last two rounds 50 and 62.5 %; the other: 62.5 and 87.5 %
    assert TWO.scores("FedAvg").tolist() == [50, 62.5]
    assert TWO.gain("other").tolist() == [12.5, 25]
    assert TWO.gain("FedAvg", over="other").tolist() == [-12.5, -25]
    # all rounds: 125/3 and 175/3 against 175/3 and 200/3; best: 50, 75; 75, 100
    assert np.allclose(TWO.gain("other", report="all"), [50 / 3, 25 / 3])
    assert TWO.gain("other", report="best").tolist() == [25, 25]
    assert TWO.curves("other").tolist() == [[0.5, 0.75, 0.5], [0.25, 1, 0.75]]
    assert TWO.ends("other").tolist() == [0.625, 0.875]


def test_seeds_are_paired_whatever_the_order_they_were_run_in():
    other = made({("", "late", 2): [1, 1], ("", "late", 1): [0.5, 0.5]}, last=2)
    assert (TWO | other).gain("late").tolist() == [0, 37.5]
    some = made({("", "late", 2): [1, 1]}, last=2)
    with pytest.raises(InputError, match="late and FedAvg were not run on the same"):
        (TWO | some).gain("late")


def test_rounds_that_were_not_judged_do_not_count():
    rows = [{"loss": 1.0}, {"loss": 1.0, "accuracy": 0.5}]
    seldom = Comparison({("", "a", 1): fl.History("a", 1, 2 * rows)}, last=2)
    assert seldom.curves("a").tolist() == [[0.5, 0.5]]
    assert seldom.curves("a", what="loss").tolist() == [[1, 1, 1, 1]]


def test_the_table_of_all_rounds_names_place_arm_and_seed():
    frame = TWO.frame
    assert len(frame) == 12 and [*frame.index] == [*range(12)]
    row = frame[(frame.method == "other") & (frame.seed == 2)]
    assert row.accuracy.tolist() == [0.25, 1, 0.75]
    assert set(frame["where"]) == {""}


def test_what_is_not_there_is_refused():
    with pytest.raises(InputError, match="no run of 'FedProx' in ''"):
        TWO.scores("FedProx")
    both = TWO | made({("there", "FedAvg", 1): [0.5]}, last=2)
    with pytest.raises(InputError, match="which place. There are , there"):
        both.scores("FedAvg")
    assert both.scores("FedAvg", "there").tolist() == [50]
    with pytest.raises(InputError, match="unknown report 'first'"):
        TWO.scores("FedAvg", report="first")
    with pytest.raises(InputError, match="last: 2 and 5"):
        _ = TWO | made({("", "x", 1): [0.5]})
    with pytest.raises(InputError, match="part: any, by class, even or all, not 'b'"):
        Bench(part="b")
    with pytest.raises(InputError, match="last must be 1 or more, not 0"):
        Bench(last=0)
    with pytest.raises(InputError, match="at least one seed"):
        Bench().compare(SMALL.place("iid", clients=3), ARMS, 1)
    with pytest.raises(InputError, match=r"seeds must differ, not \[0, 0\]"):
        SMALL.compare(SMALL.place("iid", clients=3), ARMS, 1, seeds=[0, 0])
    with pytest.raises(InputError, match="samples must be 1 or more, not -5"):
        replace(REAL, samples=-5)
    with pytest.raises(InputError, match="samples=50000: digits has "):
        replace(REAL, samples=50_000).task(0)


def test_mean_and_half_interval_as_text():
    # two values a and b: mean (a + b) / 2, half 12.706 |a - b| / 2, by Student's table
    assert pm([1, 2]) == "+1.5 ± 6.4"
    assert pm([1, 2], 3) == "+1.500 ± 6.353"
    assert pm([1, 2], sign="") == "1.5 ± 6.4"
    assert pm([-1, -2], space="\u00a0") == "-1.5\u00a0±\u00a06.4"


@pytest.mark.parametrize("tiny", [-1e-9, -0.04, -0.0])
def test_what_rounds_to_zero_has_no_minus(tiny):
    assert pm([tiny, tiny]) == "+0.0 ± 0.0"
    assert pm([tiny, tiny], sign="") == "0.0 ± 0.0"
    assert pm([tiny / 10, tiny / 10], 2) == "+0.00 ± 0.00"
    assert pm([-0.06, -0.06]) == "-0.1 ± 0.0"


def test_a_side_is_that_of_the_whole_interval():
    # of m - d, m and m + d the half interval is 4.3027 d / sqrt(3) = 2.4842 d
    assert side([1 - 0.402, 1, 1 + 0.402]) == 1
    assert side([-1 - 0.402, -1, -1 + 0.402]) == -1
    assert side([1 - 0.403, 1, 1 + 0.403]) == 0
    assert side([2, 2, 2]) == 1  # no width, away from zero
    assert side([0, 0, 0]) == 0  # the interval is zero, and touches it
    assert side([2, 2]) == 0  # two seeds decide nothing


def test_a_run_that_is_no_number_counts_as_none():
    assert verdict([2.0, float("nan"), 2.1]) == UNDECIDED
    assert verdict([2.0, float("nan"), 2.1, 2.0]) == SAME


def test_a_run_that_diverged_has_no_score_and_is_counted_out():
    runs = dict(TWO.runs)
    runs["", "other", 2] = replace(runs["", "other", 2], diverged_at=3)
    lost = Comparison(runs, last=2)
    assert lost.scores("other")[0] == 62.5 and np.isnan(lost.scores("other")[1])
    assert pm(lost.gain("other")).endswith("(1 diverged)")
    assert pm([1, 2, float("nan")]) == "+1.5 ± 6.4 (1 diverged)"
    assert pm([float("nan")]) == "none"


def test_a_part_has_as_many_of_every_class_however_many_there_are(monkeypatch):
    """Of twenty, not of the first ten."""
    whole = replace(REAL, part="all").task(0)
    g = np.random.default_rng(0)
    y = [
        g.permutation(np.arange(n) % 20)
        for n in map(len, (whole.y_train, whole.y_test))
    ]
    many = replace(whole, y_train=y[0], y_test=y[1], classes=tuple(map(str, range(20))))
    monkeypatch.setattr(module, "_whole", lambda *_: many)
    for part in ("by class", "even"):
        made_ = replace(REAL, part=part, samples=100, tests=40).task(78)
        assert (np.bincount(made_.y_train, minlength=20) == 5).all()
    assert (np.bincount(made_.y_test, minlength=20) == 2).all()


def test_one_seed_has_no_verdict():
    assert side([3.0]) == 0
    assert verdict([3.0]) == verdict([3.0], -1) == UNDECIDED
    assert effect([3.0]) == SAID[2]


def test_verdicts_go_by_the_claimed_sign():
    up, down, wide = [2, 2.1, 2], [-2, -2.1, -2], [-1, 1, 3]
    assert [verdict(v) for v in (up, down, wide)] == [SAME, OPPOSITE, UNDECIDED]
    assert [verdict(v, -1) for v in (up, down, wide)] == [OPPOSITE, SAME, UNDECIDED]
    assert [verdict(v, -0.3) for v in (up, down)] == [OPPOSITE, SAME]
    assert tuple(effect(v) for v in (up, down, wide)) == SAID
    said = ("rises", "falls")
    assert [effect(v, said) for v in (up, down, wide)] == [*said, SAID[2]]
