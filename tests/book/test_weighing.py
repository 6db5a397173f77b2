"""Chapter 2: its runs made by hand, its rows, its answers and its pictures."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.weighing import big, home, idea, scale
from fedlab_book.findings import Unsupported, finding
from fedlab_book.panels import picture
from fedlab_core.errors import InputError
from tests.figure_cases import made


def run(ends: dict[tuple[str, str], list[float]]) -> Comparison:
    """Accuracy at .4, and what else is said of it."""
    return made({at: {"accuracy": values} for at, values in ends.items()})


def course(rounds: int, **points: float) -> list[float]:
    """A course at 40 %, but in `early`, `end` and `late` rounds."""
    spans = {"early": (2, 5), "end": (16, 20), "late": (36, 40)}
    seen = np.full(rounds, 0.4)
    for name, more in points.items():
        first, last = spans[name]
        seen[first - 1 : last] += more / 100
    return seen.tolist()


def clinics(
    equal: float = 6, disco: float = 6, late: float = 2, six: float = 19
) -> Comparison:
    """With `six`, what equal weights gain at the end on the six letters."""
    two, ten = big.TWO, big.EVERY
    found = run(
        {
            (two, big.SIZE): course(40),
            (two, big.EQUAL): course(40, early=-3, end=equal, late=late),
            (two, big.DISCO): course(40, early=-3, end=disco, late=late),
            (ten, big.SIZE): course(20),
            (ten, big.EQUAL): course(20, early=-9),
            (ten, big.DISCO): course(20, early=-4),
        }
    )
    for arm, four, more in ((big.SIZE, 0.76, 0.0), (big.EQUAL, 0.64, six)):
        for history in found.of(arm, two):
            rate = 0.14 + more / 100 + 0.001 * history.seed
            for seen in history.rows:
                seen["letters"] = [four] * 4 + [rate] * 6
    return found


def pooled(end: float = 6) -> Comparison:
    return run({(big.TWO, big.POOLED): course(20, end=end)})


def six(disco: float = 0.0, half: float = -2.0, alone: float = -9.0) -> Comparison:
    return run(
        {
            ("", home.EQUAL): course(20),
            ("", home.DISCO): course(20, early=2, end=disco),
            ("", home.HALF): course(20, early=3, end=half),
            ("", home.ALONE): course(20, early=1, end=alone),
        }
    )


FULL = scale.Scale(
    end=np.array([2.4, 2.2, 1.2]),
    all=np.array([3.0, 3.1, 2.9]),
    rounds=(58.3, 56.3),
    ran="CIFAR-10",
    paper=7.32,
    paper_rounds=(58.0, 20.0),
)


def test_rows_are_means_over_rounds_in_points():
    found = clinics()
    np.testing.assert_allclose(big.ahead(found, big.EQUAL, big.TWO, big.END), 6)
    np.testing.assert_allclose(big.ahead(found, big.EQUAL, big.TWO, big.EARLY), -3)
    between = big.ahead(found, big.DISCO, big.TWO, big.LATE, big.EQUAL)
    np.testing.assert_allclose(between, 0, atol=1e-9)


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        (clinics(), 3),
        (clinics(equal=0, disco=0), 0),
        (clinics(equal=9, disco=5), 1),
        (clinics(equal=5, disco=9), 2),
    ],
)
def test_the_answer_is_what_the_intervals_say(found, answer):
    assert big.right(found) == [*big.GUESSES][answer]


def test_the_sentence_on_two_letters_holds_only_where_its_rows_do():
    told = big.two_letters(clinics(), pooled())
    says = [r.says for r in told["rows"]]
    assert says[:5] == ["loses", "gains", "loses", "gains", "gains"]
    assert "within 1" in str(finding("So.", **told).data)
    others = clinics(late=0), clinics(disco=8), clinics(six=-1)
    for found, end in (*((found, 6) for found in others), (clinics(), 12)):
        with pytest.raises(Unsupported):
            finding("So.", **big.two_letters(found, pooled(end)))


def test_letters_are_told_apart():
    """On the four .64 for .76; on the six .33 for .14."""
    found = clinics()
    np.testing.assert_allclose(big.on_letters(found, slice(4)), -12)
    np.testing.assert_allclose(big.on_letters(found, slice(4, None)), 19)


def test_the_sentence_on_other_places_holds_only_where_its_rows_do():
    told = home.elsewhere(clinics(), six())
    assert [r.says for r in told["rows"]] == [
        "gains", "within 1", "loses", "loses",
        "loses", "loses", "within 1", "within 1",
    ]  # fmt: skip
    assert finding("So.", **told).data
    for loud in (six(disco=3), six(alone=0)):
        with pytest.raises(Unsupported):
            finding("So.", **home.elsewhere(clinics(), loud))


@pytest.mark.parametrize(
    ("loud", "answer"),
    [
        (six(disco=-3), 0),
        (six(disco=3), 1),
        (six(disco=-0.1), 2),
        (six(half=2), 3),
        (six(alone=9), 4),
    ],
)
def test_the_loudest_that_reads_most_is_the_answer(loud, answer):
    assert home.right(loud) == [*home.GUESSES][answer]


def test_the_sixths_weight_is_the_one_that_is_named():
    clinic = fl.Training(lr=0.1)
    members = fl.Members.holding(torch.tensor([[4, 4, 0]] * 5 + [[3, 3, 2]]))
    weights = {n: m.weigh(members)[-1].item() for n, m in home.arms(clinic).items()}
    assert weights[home.EQUAL] == pytest.approx(1 / 6)
    assert (weights[home.HALF], weights[home.ALONE]) == (0.5, 1)
    assert 1 / 6 < weights[home.DISCO] < 0.5


def test_pictures_say_what_they_draw():
    _, alt = picture(*big.by_round(clinics(), pooled()))
    assert "by size from 40.1 to 40.1" in alt and "equal minus size" in alt
    _, alt = picture(home.louder(six()))
    assert "rounds 2 to 5: 0.0 ± 0.0 at 1/6, 2.0" in alt


def test_silent_clinics_by_hand():
    """Two with two letters of ten: .3 - .5 ln 5 + .1 < 0. An even one has d = 0."""
    counts = np.array([[15, 15] + [0] * 8, [0] * 8 + [15, 15], [4] * 10])
    assert idea.silent(counts) == 2
    _, alt = picture(idea.mixes(counts, "LTVZXHUFYK"), idea.weights(counts))
    assert "Clinic 1's mix: L 0.5, T 0.5. An even mix: 0.1 each." in alt
    assert "by size: 0.3, 0.3, 0.4; FedDisco: 0.19, 0.19, 0.62" in alt


def test_most_fall_silent_in_splits_like_the_papers():
    few = idea.silenced(splits=5)
    assert 5 < few.mean <= 10 and 0 <= few.all <= 5 == few.splits


def test_clinics_are_dealt_anew_for_every_seed():
    bench = Bench(samples=200, tests=20, sizes={"hidden": [4]})
    counts = np.array([[5] * 10, [2, 2] + [0] * 8])
    place = big.dealt(bench, counts)
    assert place(3).counts.tolist() == counts.tolist()
    assert not torch.equal(place(3).x, place(4).x)


@pytest.mark.slow
def test_the_papers_scale_is_the_ledgers():
    found = scale.measured()
    assert (found.paper, found.paper_rounds) == (pytest.approx(7.32), (58, 20))
    assert len(found.end) == len(found.all) >= 3
    assert "where the paper has +7.3" in found.said
    assert FULL.said.startswith("On CIFAR-10, 3 seeds, FedDisco gains +1.9 ± 1.6")
    for end in (FULL.end - 2, FULL.end + 9):
        with pytest.raises(InputError, match=r"the paper's \+7.3"):
            assert replace(FULL, end=end).said
