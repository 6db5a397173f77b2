"""Chapter 4's findings and pictures: by hand, and red where a number is planted."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.shrinking import beside, causes, gains, heart, lengths, wrong
from fedlab_core.tree import flatten
from tests.figure_cases import SEEDS, drawn, made

FIXED, DECAY, HALF, LEARNED = gains.CAUSES
ONCE, ELEVENTH, SPREAD = gains.ONCE, gains.ELEVENTH, lengths.SPREAD
OTHERS = [ONCE, ELEVENTH, SPREAD, gains.MILD, "FedAvg", "FedLAW"]
ARMS = [*gains.CAUSES, *OTHERS]


def ended(
    alike: dict[str, float],
    uneven: dict[str, float],
    own: float = 1.0,
    given_up: tuple[float, float] = (5.0, 15.0),
    learned: float = 4.0,
    decayed: float = 5.0,
    at_once: float = 0.0,
    length: Sequence[float] = (5, 6, 6, 6, 6, 6),
    longer: float = 0.5,
    grown: Sequence[float] = (5, 9, 8, 7, 7, 6.5),
    half: float = 8.0,
    last: float = 0.9,
) -> Comparison:
    """All at .1, then at .5, but those named, by so many points.

    FedAvg is right on this part of its clients' `own` samples; a fixed factor has
    `given_up` so many points of it where clients are alike, and where they are not,
    as the `learned` one has, and what is `decayed`, everywhere. Networks are so long,
    those of the learned factor as `grown`, of half steps as `half`; FedAvg's clients
    add .2 to it in a round, others so much `longer`. Factors end at `last`.
    """
    seen = {}
    places = (("alike", alike, given_up[0]), ("uneven", uneven, given_up[1]))
    for where, more, less in places:
        long = {LEARNED: grown, HALF: [half] * 6, "FedAvg": [9.0] * 6}
        lost = {FIXED: less, LEARNED: learned, DECAY: decayed, HALF: decayed}
        for arm in ARMS:
            seen[where, arm] = {
                "accuracy": [0.1] + [0.5 + more.get(arm, 0) / 100] * 5,
                "own": [0.2] + [own - lost.get(arm, 0) / 100] * 5,
                "at_once": [at_once] * 6,
                "gamma": [1.2] + [last] * 5,
                "length": long.get(arm, length),
                "longer": [0.2 if arm == "FedAvg" else longer] * 6,
            }
    return made(seen)


PRINTED = {
    ("hand", "alike"): {"γ = 0.93": [4.0], "γ = 0.97": [3.0]},
    ("why", "alike"): {"γ = 0.93": [4.0, 1.0], DECAY: [2.0], LEARNED: [5.0]},
    ("images", "alike"): {"FedLAW": [4.0]},
    ("images", "uneven"): {"FedLAW": [2.5]},
    ("one epoch", "alike"): {LEARNED: [3.8]},
    ("hand", "uneven"): {"γ = 0.93": [1.5, -2.0]},
    ("wrong", "alike"): {"FedLAW": [5.5], "FedDF": [6.0]},
    ("learned", "all"): {"alike, at the end": [-0.053]},
}


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


def test_a_factor_has_to_gain_with_five_epochs_and_to_ruin_with_one():
    up, down = {FIXED: 1.0}, {FIXED: -20.0}
    withers = (5, 0.5, 0.5, 0.5, 0.5, 0.5)

    def said(quick: dict, found: dict, short=withers, five=0.5, one=0.1):
        brief = ended(quick, {}, length=short, longer=one)
        return lengths.one_epoch(brief, ended(found, {}, longer=five))

    right = said(down, up)
    assert right["holds"] and "one epoch, 6 rounds: 50.1 %." in right["note"]
    assert (
        "s = 0.50 to .93's length with five epochs, which makes ℓ* = 6.6; with one 0.10"
        in right["note"]
    )
    assert right["note"].endswith("which makes 1.3. To FedAvg's they add 0.20.")
    assert [r.values[0] for r in right["rows"]] == pytest.approx([1, -20, 0])
    assert right["rows"][1].name == "γ = 0.93, one epoch"
    planted = (
        said(down, {}),
        said({}, up),
        said(down | {SPREAD: 1.0}, up),
        said(down, up, five=0.2),  # no more than to FedAvg's
        said(down, up, one=0.5),  # as much as with five
        said(down, up, short=(5, 3, 3, 3, 3, 3)),  # it is long still
    )
    assert not any(one["holds"] for one in planted)
    alt = drawn(lengths.by_round(ended({}, {}), ended({}, {})))
    assert "five epochs, FedAvg: 9.0" in alt
    assert "five epochs, γ = 0.93: 6.0" in alt and f"one epoch, {SPREAD}: 6.0" in alt


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


def test_the_gain_has_to_go_with_shortness_and_the_learned_one_to_be_above():
    """Networks end at 9 (FedAvg), 8 (half), 6.5 (GWS), 6: .4 points a unit less."""
    right = dict.fromkeys((FIXED, DECAY, ONCE, gains.MILD), 1.2)
    right |= {HALF: 0.4, LEARNED: 2.0}
    found, paper = ended(right, {}), PRINTED["why", "alike"]
    said = causes.shortness(found, paper)
    assert said["holds"]
    shown = [row for row in said["rows"] if not row.aside]
    assert [row.values[0] for row in shown] == pytest.approx([0.4, 1.0, 0.0])
    by_name = {row.name: row for row in said["rows"]}
    assert by_name[FIXED].printed == [4.0, 1.0]
    assert by_name["GWS minus decay"].printed == [3.0]
    assert by_name["GWS minus decay"].values[0] == pytest.approx(0.8)
    assert by_name[causes.MOMENT].says == "within 0.2"
    planted = [
        right | {LEARNED: 1.0},  # on the line
        right | {DECAY: 0.6},
        right | {HALF: 0.0},
        right | dict.fromkeys((FIXED, DECAY, ONCE, gains.MILD), 0.1) | {HALF: 1.0},
    ]
    for one in planted:
        assert not causes.shortness(ended(one, {}), paper)["holds"], one
    assert not causes.shortness(ended(right, {}, at_once=-0.5), paper)["holds"]
    alt = drawn(causes.by_length(found))
    assert "half of the step: 8.0 and +0.4 ± 0.0" in alt and "FedAvg: 9.0" in alt
    alt = drawn(gains.by_arm(found, gains.CAUSES, "alike"))
    assert "half of the step: +0.4 ± 0.0" in alt


def test_a_factor_has_to_cost_own_images_and_most_where_clients_are_uneven():
    best, worst = {FIXED: 1.0, DECAY: 1.0, HALF: 1.0, LEARNED: 2.0}, {FIXED: -2.0}
    found = ended(best, worst)
    said = heart.by_heart(found)
    assert said["holds"]
    by_hand = [-5, -5, -5, -4, -15, -10, 1]
    assert [r.values[0] for r in said["rows"]] == pytest.approx(by_hand)
    planted: list[Comparison] = [
        ended({}, worst),
        ended(best | {DECAY: 0.0}, worst),
        ended(best | {HALF: 0.0}, worst),
        ended(best | {LEARNED: 1.0}, worst),
        ended(best, worst, learned=5.0),
        ended(best, worst, learned=0.0),
        ended(best, {}),
        ended(best, worst, given_up=(0.0, 15.0)),
        ended(best, worst, given_up=(15.0, 15.0)),
        ended(best, worst, decayed=0.0),
        ended(best, worst, own=0.9),
    ]
    for one in planted:
        assert not heart.by_heart(one)["holds"]
    alt = drawn(heart.own_and_new(found, {"FedAvg": "red", FIXED: "green"}))
    assert "uneven: FedAvg 100 and 50 %, γ = 0.93 85 and 48 %" in alt


def test_learning_has_to_beat_a_client_with_the_same_images_where_all_are_alike():
    best = {FIXED: 1.0, "FedLAW": 2.0, LEARNED: 2.0, ELEVENTH: 1.0}
    more = {ELEVENTH: 1.0}
    said = gains.worth(ended(best, more), PRINTED)
    assert said["holds"]
    shown = [row.name for row in said["rows"] if not row.aside]
    arms = (LEARNED, "FedLAW", ELEVENTH)
    assert shown == [f"{arm}, {w}" for w in gains.PLACES for arm in arms]
    by_name = {row.name: row for row in said["rows"]}
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
        assert not gains.worth(ended(alike, uneven), PRINTED)["holds"], alike


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


def test_of_the_worst_seed_it_is_said_what_it_has_that_others_have_not():
    def found(law: float) -> Comparison:
        """Six seeds of uneven clients; on the last GWS is 12 behind, FedLAW so far."""
        runs = {}
        for seed, learned in enumerate([-1.0, 0.5, -0.5, -1.0, 0.2, -12.0]):
            last = seed == 5
            ends = {"FedAvg": 0.0, LEARNED: learned, "FedLAW": law if last else 0.0}
            for arm, more in ends.items():
                columns = {"gamma": 1 + more / 100, "length": 9 - (arm == LEARNED) * 3}
                rows = [
                    {"round": t, "accuracy": 0.5 + more / 100} | columns
                    for t in (1, 2, 3)
                ]
                runs["uneven", arm, seed] = fl.History(arm, seed, rows)
        return Comparison(runs, last=1)

    def place(big: int):
        """Worlds in which a seed's largest client has half, or with `big` 70 %."""

        def world(seed: int) -> Any:
            most = 70 if seed == big else 50
            counts = torch.tensor([[most, 0], [100 - most - 10, 10]])
            return SimpleNamespace(counts=counts)

        return world

    said = gains.worst_seed(found(-1.0), place(5))
    assert "12.0 points behind" in said and "between 0.88 and 0.88 there" in said
    assert "-0.4 ± 0.9 from it" in said
    assert "a length of 6.0 (FedAvg's: 9.0)" in said
    assert "70 % of all images, more than on any other seed (up to 50 %)" in said
    assert "FedLAW, which can lower its share, ends at -1.0." in said
    other = gains.worst_seed(found(-1.0), place(3))
    assert "One clinic" not in other and "its share" not in other
    assert "FedLAW" not in gains.worst_seed(found(-9.0), place(5))


# -- who is wrong, and the claims ---------------------------------------------


WHO = [np.array([False, True])] * SEEDS


def half(
    fedlaw_: float,
    feddf: float = 0.0,
    gws: float = 0.0,
    alone: float = 12.0,
    shares: float | None = None,
) -> Comparison:
    ends = {"FedAvg": 0, "GWS": gws, "FedLAW": fedlaw_, "FedDF": feddf}
    ends["λ alone"] = fedlaw_ if shares is None else shares
    held = [np.array([0.5, 0.5]), np.array([0.8, 0.2]), np.array([0.9, 0.1])]
    runs = {(wrong.CROWD, arm): more for arm, more in ends.items()}
    runs[wrong.ALONE, "FedAvg"] = alone
    return made(
        {
            key: {"accuracy": [0.1, *[0.4 + more / 100] * 2], "shares": held}
            for key, more in runs.items()
        }
    )


def test_shares_have_to_rescue_and_the_others_to_stay_behind():
    paper = PRINTED["wrong", "alike"]
    clean = ended({}, {})
    said = wrong.rescued(half(10.0), paper, clean)
    assert said["holds"] and said["rows"][-2].printed == [-0.5]
    assert said["rows"][-1].values == pytest.approx(-2)
    assert said["note"].endswith("40.1 %; with all labels right, 50.1 %.")
    rivals = (half(10.0, feddf=11.0), half(10.0, gws=10.0), half(10.0, alone=10.0))
    for planted in (half(0.0), half(10.0, shares=0.0), *rivals):
        assert not wrong.rescued(planted, paper, clean)["holds"]


def test_without_the_wrong_ones_the_others_hold_what_they_held():
    bench = Bench(samples=200, tests=60)
    how = {"clients": 4, "alpha": 100, "corrupt": 0.5, "how": "permute"}
    crowd = bench.scenario(7, "dirichlet", **how)
    left = wrong.without(crowd)
    stay = [k for k in range(4) if k not in crowd.corrupted]
    assert len(crowd.corrupted) == 2 and len(left) == 2 and not left.corrupted
    for held, k in zip(left.train.indices, stay, strict=True):
        assert (held == crowd.train.indices[k]).all()


def test_half_of_ten_are_wrong_and_the_others_run_alone():
    bench = Bench(samples=300, tests=60, sizes={"hidden": [8]})
    crowd, alone, who = wrong.half(bench)
    assert len(crowd(7)) == 10 and len(alone(7)) == 5 and who(7).sum() == 5
    right = [len(crowd(7).client(k)) for k in range(10) if not who(7)[k]]
    assert [len(alone(7).client(k)) for k in range(5)] == right


def test_what_the_wrong_half_holds():
    found = half(10.0)
    assert wrong.kept(found, WHO, "FedLAW") == pytest.approx(15)  # of 20 and 10
    assert wrong.right(found, WHO, "FedLAW") == list(wrong.GUESSES)[1]


def test_claims_stand_beside_the_papers():
    bad = half(10.0)
    found = ended({"γ = 0.93": 1}, {"γ = 0.93": -2})
    brief = ended({LEARNED: 2.0}, {}, last=0.95)
    table = beside.claims(found, bad, brief, PRINTED)
    printed = ["+4.0", "+1.5, -2.0", "+5.0", "it does (Figure 9)", "+4.0", "+2.5"]
    rest = ["+3.0", "+5.5", "+3.8", "-5.3"]
    told = [f"it does (Figure {n})" for n in (2, 9, 2)]
    assert table["paper"].tolist() == [*printed, *rest[:3], told[0], rest[3], *told[1:]]
    same, mixed = "same direction", "same direction (theirs: 1 of 2)"
    words = [same, mixed, *["undecided"] * 5, same, same, same, same, "undecided", same]
    assert table["can we tell?"].tolist() == words
    ends = ["+2.0 ± 0.0", "-10.0 ± 0.0", "+0.0 ± 0.0", "+5.0 ± 0.0"]
    assert table["here"].tolist()[-4:] == ends
