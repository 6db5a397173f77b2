"""FedLAW, figure by figure: arithmetic by hand, and that texts name what is drawn."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.fedlaw_figures import (
    cohort,
    epochs,
    pulling,
    sharpness,
    taking_part,
    through,
    tiny,
    triangle,
    uneven,
)
from fedlab_book.chapters.fedlaw_figures.common import late, signs, stated, told
from fedlab_book.figures import show
from fedlab_book.findings import Row, Unsupported
from fedlab_core.analysis.landscape import Simplex
from fedlab_core.errors import InputError
from fedlab_ledger.book import opened

UP, NONE = np.array([2.0, 2.2, 1.9]), np.array([0.3, -0.2, 0.0])
SEEDS = 3


def made(seen: dict[tuple[Any, str], dict[str, Any]], last: int = 2) -> Comparison:
    """Three seeds that saw nearly the same: a list a column, one entry a round.

    Accuracies differ by .001 between seeds, alike in every arm, so that gains do not.
    """
    runs = {}
    for (where, arm), columns in seen.items():
        for seed in range(SEEDS):
            each = zip(*columns.values(), strict=True)
            rows = [dict(zip(columns, v, strict=True)) for v in each]
            for row in rows:
                if "accuracy" in row:
                    row["accuracy"] += 0.001 * seed
            runs[where, arm, seed] = fl.History(arm, seed, rows)
    return Comparison(runs, last)


def drawn(picture: tuple) -> str:
    """The alternative of a picture that can be shown."""
    figure, alt, *caption = picture
    assert "<svg" in str(show(figure, alt, *caption).data)
    return alt


# -- sentences ---------------------------------------------------------------------


def test_a_sentence_stands_on_the_side_of_every_row():
    rows = {"a": Row("A", UP), "b": Row("B", -UP), "c": Row("C", NONE)}
    assert signs(rows) == [1, -1, 0]
    for sides in ([1, -1, 0], [1, None, None], [None, None, None]):
        assert "It is so." in str(stated("It is so.", rows, sides).data)


@pytest.mark.parametrize("sides", [[-1, -1, 0], [1, 0, 0], [1, -1, 1]])
def test_a_planted_wrong_number_stops_the_build(sides):
    rows = {"a": Row("A", UP), "b": Row("B", -UP), "c": Row("C", NONE)}
    with pytest.raises(Unsupported, match="It is so"):
        stated("It is so.", rows, sides)
    with pytest.raises(Unsupported):
        stated("It is so.", rows, [1, -1, 0], holds=False)
    assert "read the table" in str(stated("So.", rows, sides, built_in=False).data)


def test_every_row_needs_a_side():
    with pytest.raises(InputError, match="one for every row"):
        stated("It is so.", {"a": Row("A", UP)}, [1, 1])


def test_rows_in_words_have_no_minus_before_zero():
    assert told({"a": Row("A", UP)}) == "A +2.0 ± 0.4"
    assert "-0.0" not in told({"a": Row("A", [-0.01, -0.02, 0.0])})


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


def test_the_ledger_has_what_the_page_shows():
    record = opened()
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


# -- Figures 5, 6 and 7 ------------------------------------------------------------


def test_the_mean_over_pairs_leaves_everyone_with_themselves_out():
    cosines = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, -0.2], [0.0, -0.2, 1.0]])
    assert pulling.of_pairs(cosines) == pytest.approx((0.5 + 0.0 - 0.2) / 3)


def test_pulls_of_a_round_by_hand():
    """Moves (1, 0), (1, 0), (0, 1), (0, -1): the halves' cosines are 1 and -1."""
    states = {"w": torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, -3.0]])}
    shares = torch.tensor([0.4, 0.3, 0.2, 0.1])
    now: Any = SimpleNamespace(
        before={"w": torch.zeros(1, 2)},
        trained=SimpleNamespace(states=states),
        weights=[torch.full((4,), 0.25)],
        servers=[SimpleNamespace(memory={"lambda": shares})],
    )
    seen = pulling.pulls(now)
    assert (seen["balanced"], seen["uneven"]) == pytest.approx((1, -1))
    assert seen["all"] == pytest.approx(0)  # 1 - 1 and four times 0
    assert np.allclose(seen["shares"], shares)
    now.servers[0].memory = {}
    assert np.allclose(pulling.pulls(now)["shares"], 0.25)


def pulled(learned: float) -> Comparison:
    size, other = np.full(4, 0.25), np.array([0.4, 0.3, 0.2, 0.1])
    seen = {}
    ends = {"FedAvg": -0.1, "GWS": learned, "Attentive": 0.0, "FedLAW": learned}
    for arm, end in ends.items():
        cosines = {kind: [0.3, 0.1, end] for kind in ("balanced", "all", "uneven")}
        late_on = other if arm in ("Attentive", "FedLAW") else size
        more = {"shares": [size, late_on, size], "accuracy": [0.1, 0.5, 0.5]}
        seen["", arm] = cosines | more
    return made(seen, last=1)


def test_who_pulls_the_same_way_and_when_it_ends():
    found = pulled(0.05)
    assert pulling.crossings(found, "FedAvg") == [3] * SEEDS
    assert pulling.crossings(found, "GWS") == [None] * SEEDS
    rows = pulling.facts(found)
    assert rows["GWS"].values == pytest.approx(0.15) and signs(rows) == [1, 1]
    assert "-0.10 under FedAvg and at +0.05 under GWS" in drawn(pulling.figure(found))
    table, caption = pulling.numbers(found)
    assert table["seeds"].tolist() == ["3 of 3", "0 of 3", "0 of 3"]
    assert table["in rounds"].tolist() == ["3, 3, 3", "none", "none"]
    assert "which of 3 rounds" in caption
    assert signs(pulling.facts(pulled(-0.2))) == [-1, -1]


def test_what_the_balanced_half_gets_beyond_its_data():
    found = pulled(0.05)
    assert pulling.balanced(found, "Attentive")[0] == pytest.approx([50, 70, 50])
    rows = pulling.weight_facts(found)
    assert rows["Attentive, 1"].values == pytest.approx(0)
    assert rows["Attentive, 2"].values == pytest.approx(20)
    assert signs(rows) == [0, 1, 0, 0, 1, 0, 0, 0, 0]
    alt = drawn(pulling.weights(found))
    assert "Attentive 50 in round 1, 70 in round 2, 50 at the end" in alt


def test_a_mix_of_classes_by_hand():
    """Two of three clients: all their images of one class each, weighed 3 to 1."""
    now: Any = SimpleNamespace(
        world=SimpleNamespace(counts=torch.tensor([[10, 0], [3, 3], [0, 10]])),
        ids=[0, 2],
        weights=[torch.tensor([0.75, 0.25])],
        servers=[SimpleNamespace(memory={})],
    )
    seen = cohort.mixture(now)
    assert seen["mix"].tolist() == [0.75, 0.25]
    # the cosine of (3, 1) and (1, 1)
    assert seen["alike"] == pytest.approx(4 / np.sqrt(20))


def test_the_drawn_clients_are_compared_with_fedavgs():
    mix = [np.array([0.75, 0.25])] * 3
    likes = {"FedAvg": 0.8, "Attentive": 0.82, "FedLAW": 0.79}
    seen = {
        ("", arm): {"accuracy": [0.1, 0.5, 0.5], "alike": [v] * 3, "mix": mix}
        for arm, v in likes.items()
    }
    found = made(seen)
    rows = cohort.facts(found)
    assert rows["alike, Attentive"].values == pytest.approx(2)
    assert rows["alike, FedLAW"].values == pytest.approx(-1)
    assert rows["gain, FedLAW"].values == pytest.approx(0)
    alt = drawn(cohort.figure(found, ["A", "B"]))
    assert "likeness in hundredths, Attentive +2.0 ± 0.0" in alt


# -- Figure 8, right, and Figure 12 ------------------------------------------------

TABLE6 = pd.DataFrame(
    {
        "setting": ["IID, even", "IID, tail"] * 2,
        "arms": ["FedDF", "FedDF", "FedLAW", "FedLAW"],
        "without": 70.0,
        "with_": [71.0, 69.0, 74.0, 72.0],
    }
)


def test_fedlaw_is_compared_with_training_on_the_same_images():
    ends = {"FedAvg": 0.5, "Server-FT": 0.52, "FedLAW": 0.49}
    seen: dict = {
        (name, arm): {"accuracy": [v, v]}
        for name in tiny.SETS
        for arm, v in ends.items()
    }
    seen["30 to 3", "Server-FT"] = {"accuracy": [0.4, 0.4]}
    found = made(seen)
    rows = tiny.facts(found)
    assert rows["30"].values == pytest.approx(-3)
    assert rows["30 to 3"].values == pytest.approx(9)
    assert rows["tail"].values == pytest.approx(-1)
    alt = drawn(tiny.figure(found, TABLE6))
    assert "30 to 3: Server-FT -10.0 ± 0.0, FedLAW -1.0 ± 0.0" in alt
    assert "FedDF, IID, tail: -1.0; FedLAW, IID, even: +4.0" in alt


def test_three_clients_hold_nearly_as_much_and_what_they_should():
    for name in triangle.TRIO:
        held = np.array(triangle.holdings(name, [20] * 10))
        # 2.1 times the rarest class, and what is lost by whole images
        assert held.sum(1).max() <= 42 and held.sum(1).min() >= 39
        assert (held.sum(0) <= 3 * 20).all()
    one, two = (np.array(triangle.holdings(n, [20] * 10)) for n in triangle.TRIO[1:])
    assert (one[0] > 0).all() and not one[1][5:].any() and not one[2][:7].any()
    assert (two[1] == two[2]).all() and not (two[0] * two[1]).any()


def test_the_corners_of_the_triangle():
    assert triangle.corner((1, 0, 0)) == (0, 0)
    assert triangle.corner((0, 1, 0)) == (1, 0)
    assert triangle.corner((0, 0, 1)) == pytest.approx((0.5, 3**0.5 / 2))


def valley(width: float) -> triangle.Faces:
    """Loss width (w0 - 1/2)^2: flat from client 1 to 2, and narrow across."""
    n = triangle.STEPS
    grid = [(n - j - k, j, k) for k in range(n + 1) for j in range(n + 1 - k)]
    w = np.array(grid) / n
    across, up = w[:, 1] + w[:, 2] / 2, w[:, 2] * 3**0.5 / 2
    loss = width * (w[:, 0] - 0.5) ** 2
    face = Simplex(w, across, up, loss, 1 - loss)
    seen = {"test": [face], "proxy": [face]}
    return triangle.Faces(made({(name, "FedAvg"): seen for name in triangle.TRIO}))


def test_a_valley_is_long_where_clients_replace_one_another():
    faces = valley(36.0)
    cost = triangle.costs(faces, 1)
    assert cost["along"] == pytest.approx(0) and cost["across"] == pytest.approx(1)
    assert signs(triangle.facts(faces, 1)) == [1]
    assert signs(triangle.facts(valley(-36.0), 1)) == [-1]
    assert faces.best("two alike", 1)[0] == 0.5
    assert faces.above("two alike", 1) == pytest.approx(1)  # 36 (1/3 - 1/2)^2
    assert faces.seeds("alike", 1)[0].weights[faces.at("alike", (0.5, 0.5, 0))][2] == 0


def test_the_triangle_says_where_the_best_lies():
    alt = drawn(triangle.figure(valley(36.0), "two alike", 1))
    assert "two alike, round 1" in alt and "1.00 nats above" in alt
    assert "over 3 seeds" in alt and "The best shares are 0.50" in alt
    table, caption = triangle.numbers(valley(36.0), 1)
    assert set(table["of client 0, by seed"]) == {"0.50 to 0.50"}
    assert set(table["FedAvg (%)"]) == {"0.0"} and set(table["best (%)"]) == {"100.0"}
    assert set(table["both maps alike"]) == {"1.000"}
    assert "by +0.00, moved to or from client 0 by +1.00" in caption


def test_the_triangle_of_a_round_is_seen_on_both_sets():
    bench = Bench(
        samples=300, tests=80, sizes={"hidden": [4]}, proxy=fl.Proxy(2), seeds=[5]
    )
    world = triangle.scenario(bench, "two alike", 5)
    assert len(world) == 3

    def place(seed: int) -> fl.Scenario:
        return triangle.scenario(bench, "two alike", seed)

    arms = {"FedAvg": fl.fedavg(fl.Training(lr=0.1, epochs=1, batch_size=32))}
    spots = {"two alike": bench.place(place)}
    found = bench.compare(spots, arms, 1, observe=triangle.mixtures)
    faces = triangle.Faces(found)
    points = (triangle.STEPS + 1) * (triangle.STEPS + 2) // 2
    assert faces.loss("two alike", 1).shape == (points,)
    assert faces.loss("two alike", 1, "proxy").shape == (points,)
