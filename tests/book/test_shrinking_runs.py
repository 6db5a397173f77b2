"""Chapter 4's findings and pictures: by hand, and red where a number is planted."""

from collections.abc import Sequence

import numpy as np
import pytest

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.shrinking import beside, gains, heart, lengths, wrong
from tests.figure_cases import SEEDS, drawn, made

FIXED, DECAY, HALF, LEARNED = gains.CAUSES
ONCE, ELEVENTH, SPREAD = gains.ONCE, gains.ELEVENTH, lengths.SPREAD
OTHERS = [
    ONCE,
    ELEVENTH,
    SPREAD,
    "γ = 1.03",
    gains.BEGUN,
    gains.WAITING,
    "FedAvg",
    "FedLAW",
    "Server-FT",
]
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
    along: float = 0.07,
    grown: Sequence[float] = (5, 9, 8, 7, 7, 6.5),
    half: float = 8.0,
) -> Comparison:
    """All at .1, then at .5, but those named, by so many points.

    FedAvg is right on this part of its clients' `own` samples; a fixed factor has
    `given_up` so many points of it where clients are alike, and where they are not,
    as the `learned` one has, and what is `decayed`, everywhere. Networks are so long,
    those of the learned factor as `grown`, of half steps as `half`; `along` is what a
    step adds to the length.
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
                "length": long.get(arm, length),
                "along": [along] * 6,
            }
    return made(seen)


PRINTED = {
    ("hand", "alike"): {"γ = 0.93": [4.0]},
    ("why", "alike"): {"γ = 0.93": [4.0, 1.0], DECAY: [2.0], LEARNED: [5.0]},
    ("images", "alike"): {"Server-FT": [1.0], "FedLAW": [4.0]},
    ("images", "uneven"): {"Server-FT": [0.5], "FedLAW": [2.5]},
    ("hand", "uneven"): {"γ = 0.93": [1.5, -2.0]},
    ("wrong", "alike"): {"FedLAW": [5.5], "FedDF": [6.0]},
}


def test_a_fixed_factor_has_to_help_the_alike_and_to_hurt_the_uneven():
    paper = {where: PRINTED["hand", where] for where in ("alike", "uneven")}
    found = ended({"γ = 0.93": 1}, {"γ = 0.93": -2})
    said = gains.helps_and_hurts(found, paper)
    assert said["holds"] and [r.printed for r in said["rows"]] == [[4.0], [1.5, -2.0]]
    assert [r.values[0] for r in said["rows"]] == pytest.approx([1, -2])
    assert said["note"] == "FedAvg itself: 50.1 % (alike), 50.1 % (uneven)."
    for planted in (ended({}, {"γ = 0.93": -2}), ended({"γ = 0.93": 1}, {})):
        assert not gains.helps_and_hurts(planted, paper)["holds"]
    alt = drawn(gains.sweep(found, [0.93, 1.03]))
    assert "alike: 0.93: +1.0 ± 0.0, 1: +0.0 ± 0.0, 1.03: +0.0 ± 0.0" in alt
    assert "uneven: 0.93: -2.0 ± 0.0" in alt


def test_a_factor_has_to_gain_with_five_epochs_and_to_ruin_with_one():
    up, down = {FIXED: 1.0}, {FIXED: -20.0}
    withers = (5, 0.5, 0.5, 0.5, 0.5, 0.5)

    def said(quick: dict, found: dict, short=withers, long=0.07, add=0.07):
        brief = ended(quick, {}, length=short, along=add)
        return lengths.one_epoch(brief, ended(found, {}, along=long))

    right = said(down, up)
    assert right["holds"] and "one epoch, 6 rounds: 50.1 %." in right["note"]
    assert right["note"].endswith("6.0 with five epochs, 0.5 with one.")
    assert [r.values[0] for r in right["rows"]] == pytest.approx([1, -20, 0])
    assert right["rows"][1].name == "γ = 0.93, one epoch"
    planted = (
        said(down, {}),
        said({}, up),
        said(down | {SPREAD: 1.0}, up),
        said(down, up, long=0.09),  # it still grows
        said(down, up, add=0.02),  # it still falls
        said(down, up, short=(5, 3, 3, 3, 3, 3)),  # it is long still
    )
    assert not any(one["holds"] for one in planted)
    alt = drawn(lengths.by_round(ended({}, {}), ended({}, {})))
    assert "five epochs, FedAvg: 9.0" in alt and "6.0 with five epochs" in alt
    assert "five epochs, γ = 0.93: 6.0" in alt and f"one epoch, {SPREAD}: 6.0" in alt


def test_begun_as_learned_has_to_gain_and_to_be_as_good():
    arms = {gains.BEGUN: 2.0, FIXED: 1.0, LEARNED: 2.0, gains.WAITING: 1.5}
    said = lengths.begun(ended(arms, {}))
    assert said["holds"]
    assert [r.values[0] for r in said["rows"]] == pytest.approx([1, 0, 0.5])
    told = "9.0 when round 2 begins, 6.5 at the end; under .93 never more than 6.0."
    assert said["note"].endswith(told)
    planted_arms = ({gains.BEGUN: 0.0}, {FIXED: 2.0}, {LEARNED: 1.0})
    for planted in (*planted_arms, {gains.WAITING: 1.0}):
        assert not lengths.begun(ended(arms | planted, {}))["holds"]
    other = ((5, 5.5, 5, 5, 5, 5), (5, 6, 7, 8, 9, 6.5), (5, 9, 9, 9, 8, 8))
    for grown in other:  # never longer; late; long in the end
        assert not lengths.begun(ended(arms, {}, grown=grown))["holds"]


def test_the_guess_that_is_right_is_the_runs():
    lower, higher, same = gains.GUESSES
    for gain, guess in ((-1, lower), (1, higher), (0, same)):
        assert gains.right(ended({FIXED: gain}, {})) == guess


def test_decay_has_to_come_near_and_the_learned_factor_to_gain_more():
    right = {FIXED: 1.0, DECAY: 0.8, HALF: 0.5, LEARNED: 2.0}
    found, paper = ended(right, {}), PRINTED["why", "alike"]
    said = gains.causes(found, paper)
    assert said["holds"] and said["rows"][0].printed == [4.0, 1.0]
    by_name = {row.name: row for row in said["rows"]}
    assert by_name["GWS minus decay"].printed == [3.0]
    aside = [row.name for row in said["rows"] if row.aside]
    assert aside == ["GWS minus decay", "GWS minus γ = 0.93"]
    assert by_name[gains.MOMENT].says == "within 0.2"
    assert by_name["γ = 0.93 minus decay"].values[0] == pytest.approx(0.2)
    assert by_name["GWS minus decay"].values[0] == pytest.approx(1.2)
    assert by_name["γ = 0.93 minus decay"].near
    wrong = [{DECAY: 0.2}, {LEARNED: 0.9}, {FIXED: 0.0}, {DECAY: 1.6}]
    wrong += [{HALF: 0.0}, {ONCE: 1.0}, {LEARNED: 0.8}]
    for planted in wrong:
        assert not gains.causes(ended(right | planted, {}), paper)["holds"], planted
    for planted in (ended(right, {}, at_once=-0.5), ended(right, {}, half=7.0)):
        assert not gains.causes(planted, paper)["holds"]
    assert "8.0 (half), 6.5 (GWS)." in said["note"]
    alt = drawn(gains.by_arm(found, gains.CAUSES, "alike"))
    assert "half of the server's step: +0.5 ± 0.0" in alt


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


def test_the_same_images_are_compared_with_other_uses_of_them():
    best = {"FedLAW": 2.0, LEARNED: 2.0, ELEVENTH: 1.0, "Server-FT": -1.0}
    more = {ELEVENTH: 1.0}
    said = gains.same_images(ended(best, more), PRINTED)
    assert said["holds"]
    by_name = {row.name: row for row in said["rows"]}
    assert by_name["FedLAW minus Server-FT, alike"].printed == [3.0]
    assert by_name["FedLAW minus Server-FT, uneven"].values == pytest.approx(0)
    assert by_name["FedLAW minus the eleventh, uneven"].values == pytest.approx(-1)
    assert said["note"].endswith("with GWS at +0.0, FedLAW is at +0.0.")
    planted: list[tuple[dict, dict]] = [
        ({}, more),
        (best, {}),
        (best, more | {"FedLAW": 1.0, LEARNED: 1.0}),
        (best, more | {LEARNED: 1.0}),
        (best | {LEARNED: 0.0}, more),
        (best | {"Server-FT": 0.0}, more),
        (best | {ELEVENTH: 3.0}, more),
        (best | {ELEVENTH: 0.0}, more),
        (best, more | {"FedLAW": -0.1, LEARNED: -0.1}),
    ]
    for alike, uneven in planted:
        assert not gains.same_images(ended(alike, uneven), PRINTED)["holds"]


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


def by_seed(learned: list[float], fixed: float = -4.0, turn: int = 1):
    """Where clients are uneven: what GWS gains, a number a seed, and the fixed factor.

    Its factor is the lower, the less it gains; or, turned, the higher.
    """
    runs = {}
    for seed, gained in enumerate(learned):
        ends = {"FedAvg": 0.0, FIXED: fixed, LEARNED: gained}
        for arm, more in ends.items():
            hit = 0.5 + (more + seed / 1000) / 100
            rows = [
                {
                    "round": t,
                    "accuracy": hit,
                    "gamma": 1 + turn * more / 100 + 0.02 * (t == 2),
                }
                for t in (1, 2, 3)
            ]
            runs["uneven", arm, seed] = fl.History(arm, seed, rows)
    return Comparison(runs, last=1)


def test_a_learned_factor_has_to_lose_less_on_most_seeds_and_much_on_one():
    usual = [-1.0, 0.5, -0.5, -1.0, 0.2]
    said = gains.harmed(by_seed([*usual, -12.0]))
    assert said["holds"] and said["rows"][1].values[-1] == pytest.approx(-8)
    each = "-8.0, +3.0, +3.0, +3.5, +4.2, +4.5. On the worst seed GWS is 12.0 behind"
    assert f"seed by seed: {each}" in said["note"]
    assert said["note"].endswith("between 0.88 and 0.90 in every round but the first.")
    planted = [
        by_seed([*usual, -0.7]),  # nothing far out
        by_seed([*usual, -12.0], fixed=-13.0),  # but .93 loses more
        by_seed([-5.0, -6.0, *usual[:3], -30.0]),  # it loses more on many seeds
        by_seed([*usual, -12.0], turn=-1),  # another seed is drawn
        by_seed([*usual, -12.0], fixed=0.0),
        by_seed([-1.0, -1.1, -0.9, -1.0, -1.1, -3.5]),  # its mean is decided
    ]
    for found in planted:
        assert not gains.harmed(found)["holds"]


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
    table = beside.claims(found, bad, PRINTED)
    printed = ["+4.0", "+1.5, -2.0", "+5.0", "it does (Figure 9)"]
    rest = ["+4.0", "+3.0", "+2.5", "+2.0", "+5.5"]
    assert table["paper"].tolist() == [*printed, *rest]
    same, mixed = "same direction", "same direction (theirs: 1 of 2)"
    told = [same, mixed, *["undecided"] * 6, same]
    assert table["can we tell?"].tolist() == told
