"""Chapter 1: its runs made by hand, its rows, its answers and its pictures."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.averaging import divisions, drift, frames, pace, starts, when
from fedlab_book.findings import Unsupported, finding
from fedlab_book.panels import picture
from fedlab_core.errors import InputError
from tests.figure_cases import drawn, made

ALIKE, UNEVEN, SIZES = pace.ALIKE, pace.UNEVEN, pace.SIZES


def paced(
    alike: tuple = (0, 1, 0, -10),
    uneven: tuple = (0, -5, -18, -36),
    sizes: tuple = (0, 0, -1, -8),
    more: float = -6,
) -> Comparison:
    """Ends by steps between meetings, in points from one half."""
    seen = {}
    for where, points in ((ALIKE, alike), (UNEVEN, uneven), (SIZES, sizes)):
        for steps, apart in zip(pace.STEPS, points, strict=True):
            seen[where, pace.named(steps)] = {"accuracy": [0.1, 0.5 + apart / 100]}
    seen[UNEVEN, pace.MORE] = {"accuracy": [0.5 + more / 100]}
    return made(seen)


def test_paces_are_compared_in_points():
    found = paced()
    np.testing.assert_allclose(pace.more(found, 100, 5, UNEVEN), -18)
    np.testing.assert_allclose(pace.read(found, pace.MORE, UNEVEN), [44, 44.1, 44.2])
    facts = pace.facts(found)
    assert "So." in str(finding("So.", **facts).data)
    values = [np.mean(row.values) for row in facts["rows"]]
    np.testing.assert_allclose(values, [0, -1, -10, -5, -13, -6], atol=1e-9)


@pytest.mark.parametrize(
    "found",
    [
        paced(alike=(0, 0, -3, -10)),
        paced(sizes=(0, 0, -3, -10)),
        paced(alike=(0, 0, 0, 1)),
        paced(uneven=(0, 0, 0, 0)),
        paced(more=2),
    ],
)
def test_other_paces_do_not_carry_the_sentence(found):
    with pytest.raises(Unsupported):
        finding("So.", **pace.facts(found))


@pytest.mark.parametrize(
    ("alike", "uneven", "answer"), [(0, 0, 0), (-9, -9, 1), (0, -9, 2), (0, 9, 3)]
)
def test_the_answer_is_that_of_the_runs(alike, uneven, answer):
    found = paced(alike=(0, 0, alike, 0), uneven=(0, 0, uneven, 0))
    assert pace.right(found) == [*pace.GUESSES][answer]


def test_the_picture_has_all_places():
    _, alt = picture(pace.by_pace(paced()))
    assert all(f"{where}: 50.1" in alt for where in (ALIKE, UNEVEN, SIZES))
    assert "at 400" in alt


@pytest.fixture(scope="module")
def bench() -> Bench:
    sizes = {"hidden": [8]}
    return Bench(samples=200, tests=100, part="by class", sizes=sizes, seeds=range(3))


@pytest.fixture(scope="module")
def uneven(bench: Bench):
    return bench.place("dirichlet", clients=4, alpha=0.1)


def test_a_meeting_costs_a_model_down_and_up_for_every_clinic(uneven):
    """196 x 8 + 8 + 8 x 10 + 10 = 1,666 numbers; 8 x 1,666 x 4 bytes: .053 MB."""
    told = pace.bill(uneven(0))
    assert "1,666 numbers" in told and "4 clinics: a meeting costs 0.1 MB" in told
    assert "4 cost 0.2 MB, 80 cost 4.3 MB" in told


def test_own_letters_are_those_that_a_clinic_holds(bench, uneven):
    """By hand, of models that trained alone, and of their average."""
    walk = fl.Training(lr=0.1, batch_size=16, iterations=30)
    arms = {pace.ALONE: fl.local_only(walk), pace.named(5): fl.fedavg(walk)}
    found = bench.compare({UNEVEN: uneven}, arms, 1)
    for arm in arms:
        world, (history, *_) = uneven(0), found.of(arm, UNEVEN)
        each = []
        for k, counts in enumerate(world.counts):
            w = {n: v[history.group_of[k]] for n, v in history.states.items()}
            says = torch.func.functional_call(world.model, w, (world.x_test,)).argmax(1)
            rate = [
                float((says[world.y_test == c] == c).double().mean()) for c in range(10)
            ]
            each.append(np.average(rate, weights=counts))
        mine = pace.own(found, arm, UNEVEN, uneven)
        assert mine[0] == pytest.approx(100 * np.mean(each))
    if pace.side(mine - pace.own(found, pace.ALONE, UNEVEN, uneven)) < 1:
        with pytest.raises(InputError, match="not apart as told"):
            pace.never(found | _level(found), {UNEVEN: uneven})


def _level(found: Comparison) -> Comparison:
    """The same runs, those alone in the place of those who met often."""
    often = pace.named(5)
    return Comparison(
        {
            (w, often, s): h
            for (w, a, s), h in found.runs.items()
            if (w, a) == (UNEVEN, pace.ALONE)
        }
    )


def test_an_average_needs_a_common_start(bench):
    place = bench.place("dirichlet", clients=4, alpha=100)
    one = starts.averaged(bench, place, 0, steps=20)
    assert {n: v.shape for n, v in one.items()} == {starts.ONE: (5,), starts.TEN: (5,)}
    # the first clinic starts and walks alike in both
    assert one[starts.ONE][0] == pytest.approx(one[starts.TEN][0])
    assert one[starts.ONE][1] != one[starts.TEN][1]


def walked(average: float) -> list[starts.Walked]:
    ends = [np.array([30.0, 32, average]) + 0.1 * k for k in range(3)]
    return [{starts.ONE: e, starts.TEN: e - 10} for e in ends]


@pytest.mark.parametrize(("average", "answer"), [(20, 0), (31, 1), (40, 2)])
def test_the_average_is_set_beside_the_best(average, answer):
    found = walked(average)
    assert starts.right(found) == [*starts.GUESSES][answer]
    _, alt = picture(starts.picture(found))
    assert "each of the ten, mean: 31, 21" in alt and f"average: {average}" in alt
    assert starts.told(found).startswith(f"The average from one start reads {average}")


def moved(ways: list[list[float]], number: int = 1) -> SimpleNamespace:
    """A round in which clinics of one size moved so, from one place."""
    ends = torch.tensor(ways)
    before = {"w": torch.ones(1, ends.shape[1])}
    shares = torch.full((len(ways),), 1 / len(ways))
    trained = SimpleNamespace(states={"w": ends + 1})
    seen = {"before": before, "trained": trained, "weights": [shares]}
    return SimpleNamespace(number=number, **seen)


def test_walks_are_measured_along_their_average():
    """(3, 4) and (3, -4): each of length 5, the average (3, 0)."""
    seen = drift.ways(moved([[3.0, 4.0], [3.0, -4.0]]))  # pyright: ignore
    assert seen["along"] == pytest.approx([0.6, 0.6])
    assert seen["across"] == pytest.approx([0.8, 0.8])
    assert seen["left"] == pytest.approx(0.6)
    assert seen["chance"] == pytest.approx(0.5**0.5)
    assert seen["far"] == pytest.approx(5)
    later = drift.ways(moved([[3.0, 4.0], [3.0, -4.0]], number=2))  # pyright: ignore
    assert later == {"left": pytest.approx(0.6)}


def arrows(*left: float) -> Comparison:
    """Walks of which so much is left; steps as long, whatever their number."""
    seen = {}
    for (where, steps), part in zip(drift.SHOWN, left, strict=True):
        row = {"along": [[part, part]], "across": [[0.5, 0.7]], "left": [part]}
        row |= {"chance": [0.7], "far": [0.02 * steps], "accuracy": [0.5]}
        seen[where, pace.named(steps)] = row
    found = made(seen)
    for i, history in enumerate(found.runs.values()):
        history.rows[0]["left"] += 0.001 * (i % 3)
    return found


def test_short_walks_of_the_uneven_cancel_most():
    assert drift.most_where_least(arrows(0.7, 0.5, 0.2))
    assert not drift.most_where_least(arrows(0.7, 0.5, 0.6))
    assert not drift.most_where_least(arrows(0.5, 0.5, 0.2))
    _, alt = picture(*drift.fans(arrows(0.7, 0.5, 0.2)), across=3)
    assert "uneven, 5 steps: on average 20 percent of a walk is left" in alt
    assert drift.longer(arrows(0.7, 0.5, 0.2)) == pytest.approx(20)


def alike(last: float, short: float) -> Comparison:
    """Four rounds of the alike at one half, and what they read after short walks."""
    long = {"left": [0.7, 0.6, 0.5, last], "accuracy": [0.5] * 4}
    seen = {pace.named(100): long, pace.named(5): {"accuracy": [short]}}
    found = made({(ALIKE, arm): columns for arm, columns in seen.items()})
    for history in found.of(pace.named(100), ALIKE):
        history.rows[-1]["left"] += 0.01 * history.seed
    return found


def test_later_the_alike_cancel_and_lose_nothing():
    found = alike(last=0.3, short=0.5)
    assert drift.later_too(found)
    assert drift.later(found).endswith("the alike leave 31 ± 2 %, too.")
    assert not drift.later_too(alike(last=0.8, short=0.5))
    assert not drift.later_too(alike(last=0.3, short=0.6))


def planned(
    first: float, last: float, few: float = -18, even: float = -5, only: float = -14
) -> tuple:
    found = paced(uneven=(0, even, few, -36))
    ends = {when.FIRST: first, when.LAST: last, when.ONLY: only}
    plans = made({("", n): {"accuracy": [0.5 + v / 100]} for n, v in ends.items()})
    return found, plans


def test_late_meetings_mend_most():
    facts = when.facts(*planned(first=-9, last=-4))
    assert "So." in str(finding("So.", **facts).data)
    values = [np.mean(row.values) for row in facts["rows"]]
    np.testing.assert_allclose(values, [9, 4, 5, 1, 14, 18, 10], atol=1e-9)
    _, alt = picture(when.picture(*planned(first=-9, last=-4)))
    assert "accuracy: 32, 41, 45, 46, 36" in alt


@pytest.mark.parametrize(
    "runs",
    [
        planned(-4, -9),
        planned(-9, -9),
        planned(-12, -10),
        planned(-4, -3),
        planned(-9, -4, only=-4),
    ],
)
def test_other_plans_do_not(runs):
    with pytest.raises(Unsupported):
        finding("So.", **when.facts(*runs))


@pytest.mark.parametrize(
    ("first", "last", "answer"), [(0, -5, 0), (-5, 0, 1), (0, 0, 2)]
)
def test_when_to_meet_is_answered_by_the_runs(first, last, answer):
    assert when.right(*planned(first, last)) == [*when.GUESSES][answer]


def test_images_are_one_of_each_letter():
    _, alt = picture(frames.noisy())
    assert alt == "6 noisy images, of the letters L, T, V, Z, X, H."


def test_a_round_has_four_pictures():
    _, alt = picture(*frames.four())
    assert [f"{i + 1}." in alt for i in range(4)] == [True] * 4


@pytest.mark.slow
def test_every_division_is_drawn_and_told():
    data = fl.load("letters", n_train=400, n_test=100)
    each = divisions.divisions(data)
    assert len(each) == 13
    for name, (told, s) in each.items():
        alt = drawn(divisions.picture(each, name))
        assert name in alt and told in alt and f"{len(s)} clients" in alt
    innocent = each["wrong labels"][1].counts.sum(1)
    assert innocent.max() - innocent.min() <= 10


def test_a_cap_makes_the_largest_smaller():
    labels = np.arange(600) % 10
    free, capped = (divisions.largest(labels, c, draws=5) for c in (False, True))
    assert 60 <= capped < free
