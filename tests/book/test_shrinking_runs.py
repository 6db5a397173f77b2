"""Chapter 4's findings and pictures: by hand, and red where a number is planted."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.shrinking import beside, gains, heart, knob, temper, wrong
from fedlab_core.methods.fedlaw import shrunk
from fedlab_ledger.book import opened
from tests.figure_cases import SEEDS, drawn, made

FIXED, DECAY, HALF, ONCE, LEARNED, BOTH = gains.CAUSES
ARMS = [*gains.CAUSES, "FedAvg", "FedLAW", "Server-FT"]


def ended(
    alike: dict[str, float],
    uneven: dict[str, float],
    own: float = 1.0,
    given_up: tuple[float, float] = (5.0, 15.0),
    decayed: float = 5.0,
    at_once: float = 0.0,
) -> Comparison:
    """All at .1, then at .5, but those named, by so many points.

    FedAvg is right on this part of its clients' `own` samples; a fixed factor has
    `given_up` so many points of it where clients are alike, and where they are not,
    and what else gains, where it is `decayed`, so many everywhere.
    """
    seen = {}
    places = (("alike", alike, given_up[0]), ("uneven", uneven, given_up[1]))
    for where, more, less in places:
        lost = {FIXED: less, **dict.fromkeys((DECAY, HALF, ONCE, LEARNED), decayed)}
        for arm in ARMS:
            seen[where, arm] = {
                "accuracy": [0.1] + [0.5 + more.get(arm, 0) / 100] * 5,
                "own": [0.2] + [own - lost.get(arm, 0) / 100] * 5,
                "at_once": [at_once] * 6,
            }
    return made(seen)


PRINTED = {
    ("hand", "alike"): {"γ = 0.93": [4.0]},
    ("why", "alike"): {
        "γ = 0.93": [4.0, 1.0],
        DECAY: [2.0],
        LEARNED: [5.0],
        BOTH: [3.5],
    },
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
    alt = drawn(gains.by_place(found, "γ = 0.93"))
    assert "uneven, γ = 0.93: -2.0 ± 0.0" in alt


def test_begun_as_learned_has_to_gain_and_to_be_as_good():
    arms = {HALF: 2.0, FIXED: 1.0, LEARNED: 2.0, ONCE: -1.0}
    said = gains.begun(ended(arms, {}), HALF, ONCE)
    assert said["holds"]
    assert [r.values[0] for r in said["rows"]] == pytest.approx([2, -1, 1, 0])
    for planted in ({HALF: 0.0}, {FIXED: 2.0}, {LEARNED: 1.0}, {ONCE: 0.0}):
        assert not gains.begun(ended(arms | planted, {}), HALF, ONCE)["holds"]


def test_the_guess_that_is_right_is_the_runs():
    lower, higher, same = gains.GUESSES
    for gain, guess in ((-1, lower), (1, higher), (0, same)):
        assert gains.right(ended({FIXED: gain}, {})) == guess


def test_decay_has_to_come_near_and_the_learned_factor_to_gain_on_top_of_it():
    right = {FIXED: 1.0, DECAY: 0.8, HALF: 0.5, LEARNED: 0.8, BOTH: 1.5}
    found, paper = ended(right, {}), PRINTED["why", "alike"]
    said = gains.causes(found, paper)
    assert said["holds"] and said["rows"][1].printed == [4.0, 1.0]
    assert [row.printed for row in said["rows"][-3:]] == [[3.0], [], [3.5]]
    aside = [row.name for row in said["rows"] if row.aside]
    assert aside == [HALF, ONCE, "GWS minus decay", "GWS minus γ = 0.93"]
    # The factor, GWS, and both together, each beside decay.
    by_hand = [0.2, 0, -0.2, 0.7]
    assert [r.values[0] for r in said["rows"][-4:]] == pytest.approx(by_hand)
    assert said["rows"][0].says == "within 0.2" and said["rows"][-4].near
    wrong = ({DECAY: 0.2}, {LEARNED: 0.0}, {FIXED: 0.0}, {DECAY: 1.6}, {BOTH: 0.8})
    for planted in wrong:
        assert not gains.causes(ended(right | planted, {}), paper)["holds"], planted
    assert not gains.causes(ended(right, {}, at_once=-0.5), paper)["holds"]
    alt = drawn(gains.by_arm(found, gains.CAUSES, "alike"))
    assert "halved once: +0.0 ± 0.0" in alt


def test_a_factor_has_to_cost_own_images_and_most_where_clients_are_uneven():
    best, worst = {FIXED: 1.0, DECAY: 1.0, LEARNED: 2.0}, {FIXED: -2.0}
    found = ended(best, worst)
    said = heart.by_heart(found)
    assert said["holds"]
    by_hand = [-5, -5, -5, -15, -10, 0]
    assert [r.values[0] for r in said["rows"]] == pytest.approx(by_hand)
    planted: list[Comparison] = [
        ended({}, worst),
        ended(best | {DECAY: 0.0}, worst),
        ended(best | {LEARNED: 1.0}, worst),
        ended(best, worst, decayed=6.0),
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


def test_the_same_images_are_compared_with_training_on_them():
    said = gains.same_images(ended({"FedLAW": 2.0, LEARNED: 2.0}, {}), PRINTED)
    assert said["holds"]
    by_name = {row.name: row for row in said["rows"]}
    assert by_name["FedLAW minus Server-FT, alike"].printed == [3.0]
    assert by_name["FedLAW minus Server-FT, uneven"].values == pytest.approx(0)
    assert said["note"].endswith("with GWS at +0.0, FedLAW is at +0.0.")
    both = {"FedLAW": 2.0, LEARNED: 2.0}
    for planted in (ended({}, {}), ended(both, both), ended({"FedLAW": 2.0}, {})):
        assert not gains.same_images(planted, PRINTED)["holds"]
    worse = ended({"FedLAW": 2.0, "Server-FT": 3.0, LEARNED: 2.0}, {})
    assert not gains.same_images(worse, PRINTED)["holds"]


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
    assert said["holds"] and said["rows"][2].values[-1] == pytest.approx(-8)
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


# -- the temperature ---------------------------------------------------------------


def factor(
    alike: float,
    uneven: float,
    first: float = 1.3,
    decayed: float = 0.98,
    steps: tuple[float, float] = (0.08, 0.05),
    back: float = 0.9,
) -> Comparison:
    """Factors of GWS, its steps, and what of them gives `back` the shrinking of .04."""
    seen: dict[tuple[str, str], dict[str, list]] = {}
    for where, end, step in zip(gains.PLACES, (alike, uneven), steps, strict=True):
        seen[where, "GWS"] = {
            "gamma": [first, end, end],
            "temper": [first**3, end**3, end],
            "step": [0.5, step, step],
            "along": [0.5, 0.04 * back, 0.04 * back],
            "pull": [0.5, 0.04, 0.04],
        }
    seen["alike", "both"] = {"gamma": [first, decayed, decayed]}
    return made(seen, last=2)


def test_the_factor_begins_above_one_and_ends_nearer_to_it_where_uneven():
    paper = {temper.NEARER[1]: [0.006]}
    said = temper.closer_to_one(factor(0.9, 0.95), "GWS", "both", paper)
    assert said["holds"] and said["rows"][-1].printed == [0.006]
    assert [r.values[0] for r in said["rows"][-2:]] == pytest.approx([0.05, 0.08])
    assert said["rows"][0].says == "above" and said["rows"][2].says == "below"
    wrong = (
        factor(0.95, 0.9),
        factor(1.1, 0.95),
        factor(0.9, 1.05),
        factor(0.9, 0.95, 0.98),
        factor(0.9, 0.95, decayed=0.9),
        factor(0.9, 0.95, decayed=1.1),
        factor(0.9, 0.95, steps=(0.05, 0.08)),
        factor(0.9, 0.95, back=0.5),
        factor(0.9, 0.95, back=1.1),
    )
    for planted in wrong:
        assert not temper.closer_to_one(planted, "GWS", "both", {})["holds"]


def test_the_two_terms_of_a_round_stand_beside_each_other():
    frame = temper.balance(factor(0.9, 0.95), "GWS").map(lambda v: v.split()[0])
    assert frame.loc["alike"].tolist() == ["8.0", "3.6", "4.0", "2.0"]
    assert frame.loc["uneven minus alike"].tolist() == ["-3.0", "+0.0", "+0.0", "-0.8"]


def test_a_temperature_is_compared_by_its_root():
    found = factor(0.9, 0.9)
    off = 0.9 ** (1 / 3) - 0.9  # of every third round; the others are cubes
    assert temper.apart(found, "GWS", 3) == pytest.approx(off / 3)
    alt = drawn(temper.learned(found, "GWS", 3, 1.308))
    assert "alike: 1.30 in round 1, 0.900 at the end" in alt and "reach 1.31" in alt


def test_the_temperature_is_the_best_factor_for_the_outputs():
    bench = Bench(samples=300, tests=60, sizes={"hidden": [8]}, proxy=fl.Proxy(3))
    world = bench.place("dirichlet", clients=4, alpha=1.0)(7)
    seen = knob.arrived(world, fl.fedavg(fl.Training(lr=0.2, epochs=3)), 3, 7)
    state = {n: v[None] for n, v in seen["begin"].items()}
    server = SimpleNamespace(metrics={"gamma": torch.tensor(1.0)})
    now: Any = SimpleNamespace(world=world, servers=[server], after=state)
    best = temper.temperature(now)["temper"]
    assert world.proxy is not None
    x, y = world.proxy
    out = torch.func.functional_call(world.model, seen["begin"], (x,))
    losses = {
        s: float(F.cross_entropy(s * out, y)) for s in (best / 1.1, best, 1.1 * best)
    }
    assert min(losses, key=lambda s: losses[s]) == best
    server.metrics = {}
    assert np.isnan(temper.temperature(now)["temper"])


def test_a_step_and_what_the_average_has_learned_are_seen():
    bench = Bench(samples=300, tests=60, sizes={"hidden": [8]})
    world = bench.place("dirichlet", clients=4, alpha=1.0)(7)
    train = fl.Training(lr=0.2, epochs=2)

    for method, gamma in ((fl.fedavg(train), 1.0), (shrunk(train, gamma=0.5), 0.5)):
        how: dict[str, Any] = {"seed": 7, "observe": heart.all_seen, "progress": False}
        history = fl.federate(world, method, 2, **how)
        seen, came = history.rows[-1], knob.arrived(world, method, 2, 7)
        model = {n: v[0] for n, v in history.states.items()}
        plain = {n: v / gamma for n, v in model.items()}
        before = torch.cat([v.flatten() for v in came["begin"].values()])
        step = gamma * (torch.cat([v.flatten() for v in plain.values()]) - before)
        length = float(before.norm())
        assert seen["step"] == pytest.approx(float(step.norm()) / length, rel=1e-3)
        along = float(step @ before) / length**2
        assert seen["along"] == pytest.approx(along, abs=1e-4)
        assert seen["pull"] == pytest.approx(1 - gamma)
        out = torch.func.functional_call(world.model, model, (world.x,))
        hit = float((out.argmax(1) == world.y).float().mean())
        assert seen["own"] == pytest.approx(hit)
        own, whole = (
            torch.func.functional_call(world.model, w, (world.x_test,)).argmax(1)
            for w in (model, plain)
        )
        more = float((own == world.y_test).sum() - (whole == world.y_test).sum())
        if gamma != 1:
            assert seen["at_once"] == pytest.approx(100 * more / 60, abs=1e-4)


# -- who is wrong, and the claims ---------------------------------------------


WHO = [np.array([False, True])] * SEEDS


def half(
    fedlaw_: float, feddf: float = 0.0, gws: float = 0.0, alone: float = 12.0
) -> Comparison:
    ends = {"FedAvg": 0, "GWS": gws, "FedLAW": fedlaw_, "FedDF": feddf}
    shares = [np.array([0.5, 0.5]), np.array([0.8, 0.2]), np.array([0.9, 0.1])]
    runs = {(wrong.CROWD, arm): more for arm, more in ends.items()}
    runs[wrong.ALONE, "FedAvg"] = alone
    return made(
        {
            key: {"accuracy": [0.1, *[0.4 + more / 100] * 2], "shares": shares}
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
    for planted in (half(0.0), *rivals):
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
    alt = drawn(wrong.in_round(found, WHO, "FedLAW", 2))
    assert "holds 20 percent together" in alt and "Of 3 clinics" in alt
    alt = drawn(wrong.in_round(found, WHO, "FedLAW", 1))
    assert "right labels 0 have less" in alt


def test_claims_stand_beside_the_papers():
    bad = half(10.0)
    found = ended({"γ = 0.93": 1}, {"γ = 0.93": -2})
    table = beside.claims(found, bad, PRINTED, opened())
    printed = ["+4.0", "+1.5, -2.0", "+5.0", "+3.0", "+3.5"]
    rest = ["+3.0", "+1.0", "+4.0", "+2.5", "+5.5", "+0.5"]
    assert table["paper"].tolist()[:-2] == [*printed, *rest]
    same = "same direction"
    told = [same, same, *["undecided"] * 7, same, "a loss"]
    assert table["can we tell?"].tolist()[:-2] == told
