"""Chapter 4's findings and pictures: by hand, and red where a number is planted."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.shrinking import causes, gains
from fedlab_core.tree import flatten
from tests.figure_cases import drawn, made
from tests.shrinking_cases import (
    DECAY,
    ELEVENTH,
    FIXED,
    HALF,
    LEARNED,
    ONCE,
    PRINTED,
    ended,
)


def test_fixed_factors_have_to_help_the_alike_and_to_hurt_the_uneven():
    paper = {where: PRINTED["hand", where] for where in ("alike", "uneven")}
    best, worst = {FIXED: 1.0, gains.MILD: 0.5}, {FIXED: -2.0, gains.MILD: -1.0}
    said = gains.helps_and_hurts(ended(best, worst), paper)
    printed = [[4.0], [3.0], [1.5, -2.0], [], []]
    assert said["holds"] and [r.printed for r in said["rows"]] == printed
    by_hand = [1, 0.5, -2, -1, 1]
    assert [r.values[0] for r in said["rows"]] == pytest.approx(by_hand)
    assert said["note"] == "FedAvg itself: 50.1 % (alike), 50.1 % (uneven)."
    planted: list[tuple[dict, dict]] = [
        (best | {FIXED: 0}, worst),
        (best | {gains.MILD: 0}, worst),
        (best, worst | {FIXED: 0}),
        (best, worst | {gains.MILD: 0}),
        (best, worst | {gains.MILD: -2}),
    ]
    for alike, uneven in planted:
        assert not gains.helps_and_hurts(ended(alike, uneven), paper)["holds"]


def test_a_factor_multiplies_the_model_of_its_round_alone():
    """Against the same rounds without it, and by hand; buffers stay as they are."""
    bench = Bench(samples=200, tests=60, sizes={"hidden": [8]}, seeds=[5])
    world = bench.place("dirichlet", clients=3, alpha=1.0)(5)
    plain = fl.fedavg(fl.Training(lr=0.2, epochs=1, batch_size=16))
    once = gains.by_round(plain, lambda t: 0.5 if t == 2 else 1.0)
    ends = {
        (name, t): fl.federate(world, method, t, seed=5, progress=False).states
        for name, method in (("plain", plain), ("once", once))
        for t in (1, 2, 3)
    }
    for name, values in ends["plain", 1].items():
        assert (ends["once", 1][name] == values).all()
    for name, values in ends["plain", 2].items():
        assert (ends["once", 2][name] == 0.5 * values).all()
    third = [flatten(ends[name, 3]) for name in ("plain", "once")]
    assert 0.5 < float(third[1].norm() / third[0].norm()) < 0.9  # it trained on


def test_a_path_is_the_mean_of_other_seeds_and_has_to_gain_without_labels():
    runs = {
        ("alike", LEARNED, seed): fl.History(
            LEARNED, seed, [{"round": t, "gamma": 1 + seed / t} for t in (1, 2)]
        )
        for seed in (1, 2, 4)
    }
    path = gains.mean_path(Comparison(runs), LEARNED, [2, 4])
    assert path == {1: pytest.approx(4.0), 2: pytest.approx(2.5)}

    def said(
        alone: float,
        learned: float = 2.0,
        start: float = 1.3,
        waited: float = 1.2,
        dip: float = -3.0,
        wavers: str = gains.STRETCHED,
    ) -> dict:
        """Gains at the end; three are so far from FedAvg in the first round."""
        ends = {"FedAvg": 0.0, FIXED: 1.0, gains.STRETCHED: alone, LEARNED: learned}
        ends[gains.WAITED] = waited
        seen = {
            ("alike", arm): {
                "accuracy": [0.5 + dip * (arm in (FIXED, wavers, LEARNED)) / 100]
                + [0.5 + more / 100] * 2,
                "gamma": [start, 1.1, 0.9],
            }
            for arm, more in ends.items()
        }
        return gains.followed(made(seen))

    right = said(2.0)
    assert right["holds"]
    by_hand = [1, 0.2, 0.8, 0, 2]
    assert [r.values[0] for r in right["rows"]] == pytest.approx(by_hand, abs=0.01)
    planted = (said(1.0), said(1.5), said(-1.0, -1.0), said(2.0, start=0.9))
    others = (said(2.0, waited=2.0), said(0.9, 0.9, waited=0.0), said(2.0, dip=1.0))
    others += (said(2.0, wavers=gains.WAITED),)
    for one in (*planted, *others):
        assert not one["holds"]


def test_a_stopped_fedavg_is_taken_at_its_best_rounds_in_a_row():
    def found(**plain: float) -> Comparison:
        """FedAvg by hand, and the rivals so many points over its best three."""
        hit = np.array([0.1, 0.5, 0.53, 0.53, 0.5, 0.5])
        over = {FIXED: 0.0, DECAY: 0.0, HALF: 0.0, LEARNED: 1.0} | plain
        seen = {
            ("alike", arm): {"accuracy": (0.52 + v / 100) + 0 * hit}
            for arm, v in over.items()
        }
        seen["alike", "FedAvg"] = {"accuracy": hit}
        return replace(made(seen), last=3)

    said = gains.stopped(found())
    assert said["holds"]
    by_hand = [0, 0, 0, 1]
    assert [r.values[0] for r in said["rows"]] == pytest.approx(by_hand, abs=0.15)
    assert "FedAvg at its best is +1.0" in said["note"]
    for planted in ({FIXED: 1.0}, {DECAY: -1.0}, {HALF: 1.0}, {LEARNED: 0.0}):
        assert not gains.stopped(found(**planted))["holds"]


def test_the_guess_that_is_right_is_the_runs():
    lower, higher, same = gains.GUESSES
    for gain, guess in ((-1, lower), (1, higher), (0, same)):
        assert gains.right(ended({FIXED: gain}, {})) == guess


def wobbling(found: Comparison, arm: str, by: float) -> Comparison:
    """The same, an arm so many points lower on the first seed, higher on the last."""
    runs = {
        (where, name, seed): replace(
            history,
            rows=[
                row | {"accuracy": row["accuracy"] + by / 100 * (seed - 1)}
                for row in history.rows
            ],
        )
        if name == arm
        else history
        for (where, name, seed), history in found.runs.items()
    }
    return replace(found, runs=runs)


def test_decay_has_to_gain_what_the_factor_gains_and_neither_pair_to_decide():
    """Half of the step and halved once are 8 long; the first knows as much as .93."""
    right = dict.fromkeys((FIXED, DECAY, HALF, ONCE), 1.0) | {LEARNED: 2.0}
    lost = {FIXED: 9.0, DECAY: 9.0, HALF: 9.0, ONCE: 3.0, LEARNED: 6.0}
    paper = PRINTED["why", "alike"]

    def suspects(wobble: float = 0.3, **how: Any) -> dict[str, Any]:
        told: dict[str, Any] = {"alike": right, "lost": lost, **how}
        found = wobbling(ended(uneven={}, **told), HALF, wobble)
        return causes.suspects(found, paper)

    found, said = ended(right, {}, lost=lost), suspects()
    assert said["holds"]
    means = [float(np.mean(row.values)) for row in said["rows"][:4]]
    assert means == pytest.approx([0, 0, 0, 1], abs=1e-6)
    assert [row.says for row in said["rows"][:3]] == [
        "within 0.5",
        "undecided",
        "undecided",
    ]
    assert said["note"].endswith("half of the step 8.0, 91 %; halved once 8.0, 97 %.")
    by_name = {row.name: row for row in said["rows"]}
    assert by_name[FIXED].printed == [4.0, 1.0]
    assert by_name["GWS minus weight decay"].printed == [3.0]
    assert by_name["GWS minus weight decay"].values[0] == pytest.approx(1.0)
    assert by_name[causes.MOMENT].says == "within 0.2"
    planted: list[dict[str, Any]] = [
        {"alike": right | {LEARNED: 1.0}},
        {"alike": right | {DECAY: 0.4}},
        {"alike": right | {HALF: 2.0, ONCE: 1.0}, "wobble": 0.0},
        {"alike": right | {ONCE: 0.0}, "wobble": 0.01},  # to know less helps
        {"alike": right | {HALF: 0.5, ONCE: 0.5}, "wobble": 0.01},  # to be short does
        {"alike": right | {FIXED: 0.0, DECAY: 0.0}},
        {"at_once": -0.5},
        {"half": 6.0},  # no pair apart in length
        {"lost": lost | {ONCE: 9.0}},  # nor in what it knows
        {"lost": lost | {HALF: 5.0}},  # nor alike in it
    ]
    for how in planted:
        assert not suspects(**how)["holds"], how
    alt = drawn(gains.by_arm(found, (FIXED, gains.MILD, LEARNED), "alike"))
    assert "GWS: +2.0 ± 0.0" in alt


def test_the_uneven_have_to_know_less_and_to_lose_more():
    def own(free: float, fixed: float, uneven: float, there: float) -> dict:
        ends = {
            ("alike", "FedAvg"): free,
            ("alike", FIXED): fixed,
            ("uneven", "FedAvg"): uneven,
            ("uneven", FIXED): there,
        }
        seen = {
            key: {"accuracy": [0.5] * 2, "own": [v / 100] * 2}
            for key, v in ends.items()
        }
        return causes.unlearned(made(seen))

    said = own(99, 91, 88, 72)
    assert (
        said["holds"] and said["note"] == "FedAvg itself: 99 % (alike), 88 % (uneven)."
    )
    by_hand = [-8, -16, -11, -8]
    assert [r.values[0] for r in said["rows"]] == pytest.approx(by_hand)
    assert said["rows"][0].says == "fewer"
    for one in (own(88, 80, 88, 72), own(99, 83, 88, 72), own(99, 99, 88, 72)):
        assert not one["holds"]


def test_learning_has_to_beat_a_client_with_the_same_images_where_all_are_alike():
    best = {FIXED: 1.0, "FedLAW": 2.0, LEARNED: 2.0, ELEVENTH: 1.0}
    more, brief = {ELEVENTH: 1.0}, ended({FIXED: -20.0, LEARNED: 1.5}, {})
    said = gains.worth(ended(best, more), brief, PRINTED)
    assert said["holds"]
    shown = [row.name for row in said["rows"] if not row.aside]
    arms = (LEARNED, "FedLAW", ELEVENTH)
    names = [f"{arm}, {w}" for w in gains.PLACES for arm in arms]
    assert shown == [*names[:3], "GWS, alike, one epoch", *names[3:]]
    by_name = {row.name: row for row in said["rows"]}
    quick = by_name["GWS, alike, one epoch"]
    assert quick.printed == [3.8] and quick.values[0] == pytest.approx(1.5)
    for one in ({FIXED: -20.0}, {LEARNED: 1.5}):
        assert not gains.worth(ended(best, more), ended(one, {}), PRINTED)["holds"]
    assert by_name["GWS, alike"].printed == [5.0]
    assert by_name["FedLAW, uneven"].printed == [2.5]
    assert by_name[f"FedLAW minus {ELEVENTH}, uneven"].values == pytest.approx(-1)
    planted: list[tuple[dict, dict]] = [
        ({}, more),
        (best, {}),
        (best, more | {"FedLAW": 1.0, LEARNED: 1.0}),
        (best, more | {LEARNED: -1.0}),
        (best | {LEARNED: 0.0}, more),
        (best | {FIXED: 2.0}, more),
        (best | {ELEVENTH: 2.0}, more),
        (best | {ELEVENTH: 0.0}, more),
        (best | {"FedLAW": 3.0}, more),
        (best, {ELEVENTH: 1.0, "FedLAW": 1.0}),
    ]
    for alike, uneven in planted:
        assert not gains.worth(ended(alike, uneven), brief, PRINTED)["holds"], alike


def test_one_client_more_holds_the_servers_images():
    bench = Bench(samples=300, tests=60, sizes={"hidden": [8]}, proxy=fl.Proxy(3))
    place = bench.place("dirichlet", clients=4, alpha=1.0)
    old, new = place(7), gains.joined(place)(7)
    assert old.proxy is not None and len(old) == 4 and len(new) == 5
    x, y = old.proxy
    held = new.client(4)
    assert (new.x[held] == x).all() and (new.y[held] == y).all()
    assert new.counts[4].tolist() == [3] * len(new.classes)
    assert (new.counts[:4] == old.counts).all() and (new.x[: len(old.x)] == old.x).all()


def test_the_harm_has_to_be_one_seeds_and_that_seed_the_one_drawn_in_black():
    def found(
        worst: float = -12.0,
        law: float = -1.0,
        low: int = 5,
        others: float = 0.0,
        added: float = 0.9,
    ) -> Comparison:
        """Six seeds of uneven clients; on the last GWS and FedLAW are so far behind."""
        runs = {}
        rest = [others + more for more in (-1.0, 0.5, -0.5, -1.0, 0.2)]
        for seed, learned in enumerate([*rest, worst]):
            last = seed == 5
            ends = {"FedAvg": 0.0, LEARNED: learned, "FedLAW": law if last else 0.0}
            for arm, more in ends.items():
                columns = {
                    "gamma": 0.85 if seed == low else 0.95,
                    "length": 9 - (arm == LEARNED) * 3,
                    "longer": added,  # .85 takes away 1.6, .95 takes .5
                }
                rows = [
                    {"round": t, "accuracy": 0.5 + more / 100} | columns
                    for t in (1, 2, 3)
                ]
                runs["uneven", arm, seed] = fl.History(arm, seed, rows)
        return Comparison(runs, last=1)

    said = gains.harm(found())
    assert said["holds"]
    rest = said["rows"][0]
    assert rest.values == pytest.approx([-1.0, 0.5, -0.5, -1.0, 0.2])
    for told in (
        "On the one: GWS -12.0, FedLAW -1.0; to keep its length it needs 0.18 of it",
        "FedAvg's clinics add 0.10 at most.",
    ):
        assert told in said["note"]
    gaining = found(others=2.0)
    never, ample = found(added=0.3), found(added=2.0)
    for planted in (
        found(worst=-2.0),
        found(law=-4.0),
        found(low=3),
        gaining,
        never,  # on the others, too, the factor takes more than is added
        ample,  # on that seed, too, more is added
    ):
        assert not gains.harm(planted)["holds"]
