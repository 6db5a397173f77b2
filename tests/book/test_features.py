"""Chapter 6: what is noted of features, what findings need, what pictures say."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

import fedlab_core as fl
from fedlab_book.bench import SAID, Bench, Comparison
from fedlab_book.chapters.features import arms, beside, looks, lost, pulls, seen
from fedlab_book.chapters.features.arms import ALIKE, APART, EACH, HARDER, SURE, ZERO
from tests.figure_cases import drawn, made, supported

LOCAL = fl.Training(lr=0.1, epochs=1, batch_size=30)
BENCH = Bench(samples=300, tests=200, sizes={"hidden": [8, 6]}, seeds=(7,))
STEPS = replace(LOCAL, batch_size=5)  # one step is not corrected
PLAIN = fl.fedavg(LOCAL, fl.Equal())


def test_apart_is_the_mean_squared_distance_to_the_middle():
    rows = torch.tensor([[0.0, 0.0], [2.0, 4.0]])  # from (1, 2), each 1 + 4 away
    assert seen.apart(rows) == 5


def test_nine_hold_two_letters_and_the_tenth_all():
    places = arms.places(BENCH)
    held = (places[APART](7).counts > 0).sum(1)
    assert held.tolist() == [2] * 9 + [10]
    assert ((places[ALIKE](7).counts > 0).sum(1) == 10).all()


def test_pulled_to_zero_by_nothing_is_fedavg_and_else_shrinks_the_mean():
    world = arms.places(BENCH)[APART](7)
    ends = []
    for method in (PLAIN, arms.to_zero(LOCAL, 0.0), arms.to_zero(LOCAL, 1.0)):
        run = fl.federate(world, method, 2, seed=7, progress=False)
        state = {n: v[0] for n, v in run.states.items()}
        ends.append(seen.phi(world, state, world.x).mean(0).square().sum())
    assert torch.isclose(ends[0], ends[1]) and ends[2] < 0.5 * ends[0]


def rows_of(place: str = APART, **how) -> list[dict]:
    world = arms.places(BENCH)[place]
    run = BENCH.compare({place: world}, {"FedAvg": PLAIN}, 1, **how)
    return run.of("FedAvg", place)[0].rows


def test_a_round_says_who_looks_and_what_is_missing():
    (row,) = rows_of(observe=seen.inside, participants=2)
    assert 0 < row["looks"] < 1 and row["vary"] > 0 and 0.1 < row["sure"] < 1
    held = row["present"], row["missing"]
    assert all(0 <= part <= 1 for part in held if np.isfinite(part))
    (all_there,) = rows_of(observe=seen.inside)
    assert np.isnan(all_there["missing"])
    assert np.isclose(all_there["present"], all_there["accuracy"], atol=1e-6)


def test_one_network_twice_leaves_nothing_to_who_looks():
    frozen = fl.fedavg(replace(LOCAL, lr=1e-9), fl.Equal())
    world = {APART: arms.places(BENCH)[APART]}
    run = BENCH.compare(world, {"FedAvg": frozen}, 1, observe=seen.inside)
    assert run.of("FedAvg")[0].rows[0]["looks"] < 1e-6


def test_a_plane_has_the_two_longest_directions():
    points = np.array([[3.0, 0, 0], [-3, 0, 0], [0, 1, 0], [0, -1, 0]])
    middle, ways = seen.plane(points)
    assert np.allclose(middle, 0) and np.allclose(ways, [[1, 0, 0], [0, 1, 0]])


@pytest.mark.slow
def test_pictures_say_who_looks_and_how_far():
    places = arms.places(BENCH)
    arms_ = {"FedAvg": PLAIN, "λ = 1": fl.rfedavg_plus(LOCAL, lam=1.0)}
    done = BENCH.compare({APART: places[APART]}, arms_, 2, observe=seen.drawn)
    held = places[APART](7).counts.numpy()
    alt = drawn(looks.three(done, BENCH.task(7), held, APART, 2))
    assert "One X is framed" in alt and "clinic 3, which holds X and H" in alt
    for scale in looks.SCALES:
        alt = drawn(looks.inside(done, BENCH.task(7), held, "λ = 1", scale))
        assert scale in alt and "The letters reach" in alt


def courses(**more: dict[str, list[float]]) -> Comparison:
    """Runs of two rounds; an arm has what FedAvg has, but what is named."""
    plain = {"accuracy": [0.5, 0.5], "looks": [0.8, 0.2], "vary": [9.0, 9.0]}
    plain |= {"sure": [0.7, 0.7], "present": [0.6, 0.6], "missing": [0.3, 0.3]}
    names = ("FedAvg", EACH, HARDER, ZERO, SURE, pulls.rate(0.1), pulls.rate(0.4))
    keys = ("plain", "each", "harder", "zero", "sure", "slow", "fast")
    pairs = zip(keys, names, strict=True)
    seen_ = {(APART, name): plain | more.get(k, {}) for k, name in pairs}
    return made(seen_ | {(ALIKE, "FedAvg"): plain})


def test_what_becomes_of_the_disagreement_is_read_off_the_runs():
    guesses = list(pulls.HEALS)
    for end, right in ((0.9, 0), (0.2, 2)):
        found = courses(plain={"looks": [0.8, end]})
        assert pulls.heals(found) == guesses[right]
    assert np.allclose(pulls.looking(courses())[APART], [80, 20])


WORSE = {"accuracy": [0.46, 0.46], "looks": [0.8, 0.1], "vary": [4.0, 4.0]}
APARTER = {"looks": [0.8, 0.3], "vary": [4.0, 4.0]}


def test_agreement_is_no_reason_where_the_one_that_agrees_is_worse():
    facts = pulls.all_take_part(courses(harder=WORSE, zero=APARTER))
    assert supported(facts) and "pulled to zero 44 %" in facts["note"]
    for other in (
        {"harder": WORSE, "zero": APARTER | {"looks": [0.8, 0.1]}},
        {"harder": WORSE | {"accuracy": [0.5, 0.5]}, "zero": APARTER},
        {"harder": WORSE, "zero": APARTER | {"accuracy": [0.46, 0.46]}},
    ):
        assert not supported(pulls.all_take_part(courses(**other)))


GAIN, LOSS = {"accuracy": [0.52, 0.52]}, {"accuracy": [0.48, 0.48]}


def test_the_pull_to_zero_has_to_beat_the_other_and_fedavg_its_other_rates():
    rates = (0.1, 0.4)
    facts = pulls.few_take_part(courses(zero=GAIN, slow=LOSS, fast=LOSS), rates)
    assert supported(facts)
    assert not supported(pulls.few_take_part(courses(zero=GAIN, fast=GAIN), rates))
    assert not supported(pulls.few_take_part(courses(zero=GAIN, each=GAIN), rates))
    each, zero, neither = pulls.PULLS
    assert pulls.best_pull(courses(zero=GAIN)) == zero
    assert pulls.best_pull(courses(each=GAIN)) == each
    assert pulls.best_pull(courses()) == neither


def test_the_reason_is_where_the_gain_is():
    there = {"missing": [0.34, 0.34]}
    loud = LOSS | {"vary": [27.0, 27.0]}
    facts = pulls.reason(courses(sure=loud, zero=there))
    assert supported(facts) and "FedAvg 70 %" in facts["note"]
    assert "vary 3 times as much" in facts["note"]
    for other in ({"sure": loud | GAIN, "zero": there}, {"sure": loud}):
        assert not supported(pulls.reason(courses(**other)))


def test_rounds_without_missing_letters_are_left_out():
    gaps = {"missing": [float("nan"), 0.34]}
    found = courses(sure=LOSS, zero=gaps, plain={"missing": [float("nan"), 0.3]})
    assert np.allclose(pulls.reason(found)["rows"][2].values, 4)


def test_fedavg_is_kept_as_sure_as_the_other_was():
    place = arms.places(BENCH)[APART]
    both = {"FedAvg": PLAIN, ZERO: arms.to_zero(LOCAL, 1.0)}
    found = BENCH.compare({APART: place}, both, 2, observe=seen.inside)
    loud, unsure = arms.less_sure(found, PLAIN, place)
    kept = BENCH.compare({APART: loud}, unsure, 2, observe=seen.inside)
    sure = [
        run.curves(arm, APART, "sure") for run, arm in ((found, ZERO), (kept, SURE))
    ]
    assert np.allclose(*sure, atol=1e-3)


@pytest.mark.slow
def test_the_ledgers_gains_are_told_in_three_words():
    rows = beside.gains()
    assert set(rows["can we tell?"]) <= set(SAID)
    assert {"all 20", "100 of 500"} == set(rows["in a round"])
    assert len(rows) == len(beside.claims()) and "Ours: " in beside.ran()


def test_a_lost_correction_is_fedavg():
    assert isinstance(lost.printed(), pd.DataFrame) and len(lost.printed()) == 12
    three = {"FedAvg": PLAIN, "lost": PLAIN, "SCAFFOLD": fl.scaffold(STEPS)}
    found = BENCH.compare(arms.places(BENCH)[APART], three, 2)
    assert lost.away(found, "lost").max() == 0
    assert "they are one method" in lost.said(found)
    swapped = {"FedAvg": PLAIN, "lost": fl.scaffold(STEPS), "SCAFFOLD": PLAIN}
    with pytest.raises(ValueError, match="not FedAvg's model any more"):
        lost.said(BENCH.compare(arms.places(BENCH)[APART], swapped, 2))
