"""FedLAW's Figure 12: three clients, and the loss of every average; by hand."""

import numpy as np
import pytest

import fedlab_core as fl
from fedlab_book.bench import Bench
from fedlab_book.chapters import triangle
from fedlab_book.findings import signs
from fedlab_ledger.model.landscape import Simplex
from tests.figure_cases import drawn, made


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
