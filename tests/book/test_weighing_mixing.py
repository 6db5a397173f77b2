"""The line between two clients' models: what is read off it, and what is drawn."""

import numpy as np
import pytest
import torch

import fedlab_core as fl
from fedlab_book.bench import Bench
from fedlab_book.chapters.weighing.mixing import (
    HALF,
    IMAGES,
    R,
    along_the_line,
    facts,
    leaning,
    mixing,
    pair,
    where_best,
)
from tests.figure_cases import supported

THREE = np.arange(3.0)  # what seeds differ by


def curves(a=40.0, b=20.0, half=50.0, best=60.0, at=5) -> np.ndarray:
    """Three seeds and one round: 30 % but for the ends, the middle and a best point."""
    seen = np.full((3, 1, 21), 30.0)
    for point, height in ((0, a), (20, b), (10, half), (at, best)):
        seen[:, 0, point] = height
    seen[:, 0, at] += THREE
    return seen


def test_facts_by_hand():
    """R[5] is 0.25: 60, 61 and 62 there, against 50 at one half, 40 and 20 alone."""
    found = facts(curves(), 1)
    np.testing.assert_allclose(found.best, 0.25)
    np.testing.assert_allclose(found.chosen, 0.25)
    np.testing.assert_allclose(found.gain, [10, 11, 12])
    np.testing.assert_allclose(found.over_a, [20, 21, 22])
    np.testing.assert_allclose(found.ahead, -20)


def test_a_mixture_is_judged_on_a_seed_that_did_not_choose_it():
    """Without seed 0, R[5] has 60, R[3] 30; without another, R[3] has 60, R[5] 45."""
    seen = np.full((3, 2, 21), 10.0)
    seen[:, 1, 3], seen[:, 1, 5] = [90, 30, 30], [30, 60, 60]
    found = facts(seen, 2)
    np.testing.assert_allclose(found.best, R[[3, 5, 5]])
    np.testing.assert_allclose(found.chosen, R[[5, 3, 3]])
    np.testing.assert_allclose(found.gain, 30 - 10)


@pytest.mark.parametrize(
    ("seen", "lean", "where"),
    [
        (curves(), 1, "between"),
        (curves()[:, :, ::-1], 1, "B's side"),  # B is better, and counts more
        (curves(a=20, b=40), -1, "between"),  # B is better, and A counts more
        (curves(a=40, b=40), 0, "between"),  # nobody is better
        (curves(half=61), 0, "half"),  # no mixture is clearly better than one half
        (curves(at=0), 1, "A"),  # no mixture is better than A
    ],
)
def test_a_mixture_leans_only_where_intervals_say_so(seen, lean, where):
    found = facts(seen, 1)
    assert (found.lean, where_best(found)) == (lean, where)
    assert not facts(curves(), 1).even
    assert facts(curves(at=HALF, best=60), 1).even


def test_seeds_that_choose_different_sides_lean_to_none():
    """Each chooses what the others like: 0.25, 0.75, 0.75; all gain over one half."""
    seen = np.full((3, 1, 21), 40.0)
    seen[:, 0, 0], seen[:, 0, HALF], seen[:, 0, 20] = 30, 20, 10
    seen[:, 0, 15], seen[:, 0, 5] = [90, 45, 45], [46, 60, 60]
    found = facts(seen, 1)
    np.testing.assert_allclose(found.chosen, [0.25, 0.75, 0.75])
    assert found.gain.min() > 20 and found.lean == 0


def test_the_sentence_holds_where_mixtures_lean_to_who_knows_more():
    """In both rounds; and one half is best for those who know one half each."""
    knows, even = curves().repeat(4, axis=1), curves(at=HALF).repeat(4, axis=1)
    alone = knows.copy()  # A has nearly what the mixture has
    alone[:, :, 0] = alone[:, :, 5] - 0.1
    told = {"seven and three": knows, "ten and five": alone, "five and five": even}
    found = leaning(told)
    assert supported(found) and len(found["rows"]) == 9
    says = [r.says for r in found["rows"]]
    assert says[:6] == ["gains"] * 4 + ["within 0.5"] * 2
    assert says[6:] == ["gains", "within 1", "gains"]
    level = curves(a=61.0).repeat(4, axis=1)  # but for a seed's noise
    for name, other in (("five and five", knows), ("ten and five", even)):
        assert not supported(leaning(told | {name: other}))
    for name, other in (("ten and five", knows), ("seven and three", level)):
        assert not supported(leaning(told | {name: other}))


def test_the_picture_says_what_it_shows():
    both = curves().repeat(4, axis=1)
    other = curves(best=73.0, at=15).repeat(4, axis=1)
    fig, alt = mixing({"one": both, "other": other}, "one")
    assert "clinic B, one, mean of 3 seeds. Round 1: 40.0 % at r = 0" in alt
    assert "Round 4: 40.0 % at r = 0, 50.0 % at one half, 20.0 % at r = 1" in alt
    assert alt.endswith("the best 61.0 % at 0.25.")
    assert fig.axes[0].get_title("left") == "one"
    assert fig.axes[0].get_ylim() == (20, 77)  # of both: 20 to 75, and two more


@pytest.mark.slow
def test_the_ends_of_the_line_are_the_two_clients():
    bench = Bench(samples=7200, tests=900, sizes={"hidden": [8]}, part="by class")
    counts = [[3] * 10, [6] * 5 + [0] * 5]
    world = pair(bench, counts)(5)
    assert world.counts.tolist() == [[2 * n for n in row] for row in counts]
    states = {}

    def look(now) -> dict:
        states.update(now.trained.states)
        return along_the_line(now)

    method = fl.fedavg(fl.Training(lr=0.2, epochs=2, batch_size=16))
    played = fl.federate(world, method, 1, seed=5, observe=look, progress=False)
    line = played.rows[0]["line"]
    assert line.shape == R.shape
    for k, end in enumerate((0, -1)):
        own = {name: value[k] for name, value in states.items()}
        x, y = world.x_test[:IMAGES], world.y_test[:IMAGES]
        with torch.no_grad():
            said = torch.func.functional_call(world.model, own, (x,)).argmax(1)
        assert line[end] == pytest.approx(float((said == y).float().mean()), abs=1e-6)
