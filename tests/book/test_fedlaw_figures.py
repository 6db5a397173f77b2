"""FedLAW, figure by figure: arithmetic by hand, and that texts name what is drawn."""

import numpy as np
import pandas as pd
import pytest

from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.fedlaw_figures import (
    epochs,
    sharpness,
    taking_part,
    through,
    uneven,
)
from fedlab_book.chapters.fedlaw_figures.common import late
from fedlab_book.findings import signs
from tests.figure_cases import NONE, SEEDS, drawn, made
from tests.once import the_book


def test_the_last_rounds_and_the_last_until_one():
    found = made({("", "GWS"): {"gamma": [1.0, 2.0, 3.0, 5.0]}})
    assert late(found, "GWS", None, "gamma").tolist() == [4.0] * SEEDS
    assert late(found, "GWS", None, "gamma", 3).tolist() == [2.5] * SEEDS


# -- Figure 4 ----------------------------------------------------------------------


def bent(top: float, length: float = 1.0, sure: float = 50.0) -> sharpness.Bent:
    """Loss lowest at the first factor, accuracy higher by 1 at the last one."""
    accuracy = np.full(len(sharpness.FACTORS), sure)
    accuracy[-1] += 1
    values = np.array([0.6, 0.8, 0.005, -0.001]) * length
    rise = top * sharpness.AWAY**2 / 2
    return sharpness.Bent(sharpness.FACTORS, accuracy, values, top, 2.0, rise)


def three(seed: int, control: float = 3.0) -> dict[str, sharpness.Bent]:
    tops = (10.0 + seed, 8.0 + seed, control + seed)
    return dict(zip(sharpness.NAMES, map(bent, tops), strict=True))


def test_what_is_read_off_a_model():
    one = bent(4.0)
    assert one.length == pytest.approx(1, abs=1e-4) and one.near == 50
    assert one.lowest == 0.5 and one.moved == 1 and one.right == 50
    assert one.spread == pytest.approx(0.7)


@pytest.mark.slow
def test_the_control_is_compared_with_the_shrunken_model():
    models = {seed: three(seed) for seed in range(SEEDS)}
    rows = sharpness.facts(models)
    assert list(rows["trained"].values) == [-2.0] * SEEDS
    assert list(rows["cut"].values) == [-5.0] * SEEDS
    assert (rows["trained"].says, rows["cut"].says) == ("same direction", "opposite")
    alt = drawn(sharpness.figure(models))
    assert "sharpest direction: FedAvg 5.50, shrunken 4.50" in alt
    table, caption = sharpness.numbers(models)
    assert table["largest eigenvalue"].tolist() == ["11.0", "9.0", "4.0"]
    assert "400 test images" in caption
    sharper = {seed: three(seed, control=12.0) for seed in range(SEEDS)}
    assert signs(sharpness.facts(sharper)) == [-1, 1]  # and the sentence would not hold


def test_the_control_is_as_long_as_the_shrunken_model_and_no_other():
    bench = Bench(samples=100, tests=60, sizes={"hidden": [8]}, seeds=[5])
    world = bench.place("dirichlet", clients=3, alpha=1.0)(5)
    state = {n: v.detach() for n, v in world.model.state_dict().items()}
    half = {n: 0.5 * v for n, v in state.items()}
    seen = sharpness.of(world, state, half, 5)
    plain, shrunken, cut = (seen[name] for name in sharpness.NAMES)
    assert shrunken.length == pytest.approx(plain.length / 2, rel=1e-5)
    assert np.allclose(cut.values, shrunken.values) and cut.top == shrunken.top
    # stretched to 1, half the model is the model at half: the first factor
    at_one = int(np.abs(sharpness.FACTORS - 1).argmin())
    assert shrunken.loss[at_one] == pytest.approx(plain.loss[0], rel=1e-5)
    assert plain.rise[len(sharpness.AWAY) // 2] == 0


# -- Figures 10, 9 and 8, from the ledger ------------------------------------------


def test_a_change_through_training_is_in_percent_of_fedavgs():
    ends = {what: np.array([[10.0, 8.0]] * SEEDS) for what in through.THREE}
    rows = through.facts(ends)
    for row in rows.values():
        assert row.values == pytest.approx(-20)
    assert {row.says for row in rows.values()} == {"same direction"}


def courses(first: float) -> dict[str, dict[str, np.ndarray]]:
    """FedAvg at 2 throughout; the learned factor from `first` down to 1."""
    plain = np.full((SEEDS, 4), 2.0)
    ours = np.array([[first, np.nan, 3.0, 1.0]] * SEEDS)
    return {w: {through.PLAIN: plain, through.LEARNED: ours} for w in through.THREE}


def test_until_when_a_learned_factor_is_higher():
    assert through.begins_higher(courses(4.0))
    assert not through.begins_higher(courses(1.5))
    table, _ = through.numbers(courses(4.0))
    assert set(table["GWS is higher"]) == {"until round 3"}
    assert set(table["seen last in round"]) == {"4"}
    assert set(table["GWS there"]) == {"1.0"}


def test_the_gain_by_skew_claims_a_gain_in_every_split():
    gains = np.array([[-2.0, 0.0, 0.1, 1.0, 1.0, 1.0]] * SEEDS)
    gains[:, 1] += NONE
    rows = uneven.facts(gains)
    assert [*rows] == [*uneven.SKEWS]
    assert rows["α=0.1"].says == "opposite" and rows["IID"].says == "same direction"
    assert signs(rows) == [-1, 0, 1, 1, 1, 1]
    factors, steps = np.linspace(0.9, 0.8, 6), np.linspace(0.1, 0.4, 6)
    both = uneven.factors_of(np.tile(factors, (3, 1)), np.tile(steps, (3, 1)))
    assert both["factor"].values == pytest.approx(-0.1)
    assert both["step"].values == pytest.approx(0.3)
    assert {row.says for row in both.values()} == {"same direction"}
    picture = uneven.figure(gains, np.tile(factors, (3, 1)), np.tile(steps, (3, 1)))
    assert ".1: -2.0 ± 0.0 points, 0.900, 0.10" in drawn(picture)


@pytest.mark.slow
def test_the_ledger_has_what_the_page_shows():
    record = the_book()
    gains, factors, steps = uneven.measured(record)
    assert {v.shape[1] for v in (gains, factors, steps)} == {len(uneven.SKEWS)}
    assert len(taking_part.facts(taking_part.gains(record))) == 5
    assert "clients in a round" in str(taking_part.picture(record).data)
    assert "adaptive shrinking" in str(through.picture(through.seen(record)).data)
    ends = through.facts(through.ended(record))
    assert [row.name for row in ends.values()] == [*through.THREE.values()]


# -- Figures 2 and 11 --------------------------------------------------------------

PAPER = pd.DataFrame(
    {
        "setting": ["IID", "α = 1"],
        "epochs": [2, 2],
        "without": [60.0, 60.0],
        "with_": [63.0, 59.0],
        "gamma": [0.95, 0.96],
    }
)


def by_epochs(gained: dict[str, float], gamma: float, step: float) -> Comparison:
    seen: dict = {}
    for where, more in gained.items():
        seen[where, "FedAvg"] = {"accuracy": [0.2, 0.5, 0.5]}
        each = {"accuracy": [0.2, 0.5 + more, 0.5 + more], "gamma": [1.0, gamma, gamma]}
        seen[where, "GWS"] = each | {"g_norm": [0.1, step, step], "r": [9.0, 8.0, 2.0]}
    return made(seen)


LEARNED = {
    2: by_epochs({"Dir 100": 0.01, "Dir 0.1": 0.04}, 0.96, 0.5),
    5: by_epochs({"Dir 100": 0.03, "Dir 0.1": 0.02}, 0.92, 0.7),
}


def test_gains_by_local_epochs_and_what_fewer_change():
    rows = epochs.facts(LEARNED)
    assert rows["Dir 100, 2"].values == pytest.approx(1.0)
    assert rows["Dir 100, fewer"].values == pytest.approx(-2.0)
    assert rows["Dir 0.1, fewer"].values == pytest.approx(2.0)
    assert signs(rows)[-2:] == [-1, 1]
    factor = epochs.factors(LEARNED, 2)
    assert factor["fewer"].values == pytest.approx(0.04)
    assert factor["step"].values == pytest.approx(0.2)
    assert factor["uneven"].values == pytest.approx(0)
    # until round 2: the mean of 1 and .92; at the end .92
    assert factor["later"].values == pytest.approx(-0.04)


@pytest.mark.slow
def test_the_picture_by_epochs_names_ours_and_the_papers():
    alt = drawn(epochs.figure(LEARNED, PAPER, 3))
    assert "Dir 100, E = 5: gain +3.0 ± 0.0, gamma 0.920, step 0.70" in alt
    assert "IID, E = 2: +3.0 and 0.950; α = 1, E = 2: -1.0 and 0.960" in alt


def test_the_balance_is_counted_after_two_rounds():
    r = epochs.balances(LEARNED)
    assert r.tolist() == [2.0] * (2 * 2 * SEEDS)
    alt = drawn(epochs.histogram(LEARNED, 20.5))
    assert "over 12 rounds" in alt and "median 2.0" in alt and "is 20.5" in alt
    table, caption = epochs.numbers(LEARNED, 20.0, 0.95)
    assert set(table["median r, last 2 rounds"]) == {"5.0"}  # of 8 and 2
    assert set(table["eight in ten of all rounds"]) == {"2.0 to 2.0"}
    assert "step 1.0 times" in caption  # 20 times .05
