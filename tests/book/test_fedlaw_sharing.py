"""FedLAW's Figures 5 to 8 and 12: arithmetic by hand; texts name what is drawn."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.fedlaw_figures import cohort, pulling, tiny, triangle
from fedlab_book.findings import signs
from fedlab_ledger.model.landscape import Simplex
from tests.figure_cases import SEEDS, drawn, made

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


@pytest.mark.slow
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
