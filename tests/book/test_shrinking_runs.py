"""Chapter 4's findings and pictures: by hand, and red where a number is planted."""

import ast
from types import SimpleNamespace
from typing import Any

import nbformat
import numpy as np
import pytest
import torch
from torch.nn import functional as F

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.shrinking import beside, gains, knob, search, temper, wrong
from fedlab_core.methods.fedlaw import fedlaw, shrunk
from fedlab_core.rounds.weigh import Members
from fedlab_ledger.book import opened
from tests.figure_cases import SEEDS, drawn, made
from tools import paths

CHAPTER = paths.ROOT / "notebooks" / "04_shrinking_the_average.ipynb"
FIXED, DECAY, HALF, _, LEARNED = gains.CAUSES
ARMS = [*gains.CAUSES, gains.ON_TOP, "FedAvg", "FedLAW", "Server-FT"]


def ended(
    alike: dict[str, float],
    uneven: dict[str, float],
    plain: tuple[float, float] = (0.2, 2.0),
    fixed: tuple[float, float] = (0.5, 1.2),
    given_up: tuple[float, float] = (5.0, 15.0),
    at_once: float = 0.0,
) -> Comparison:
    """All at .1, then at .5, but those named, by so many points.

    Losses on clients' own samples and on new ones go from one to those of `plain`, or
    with a fixed factor to `fixed`; of the clients' own, this has `given_up` so many
    points where clients are alike, and where they are not.
    """
    seen = {}
    places = (("alike", alike, given_up[0]), ("uneven", uneven, given_up[1]))
    for where, more, less in places:
        for arm in ARMS:
            last = fixed if arm == FIXED else plain
            fitted = 0.9 - (less / 100 if arm == FIXED else 0)
            seen[where, arm] = {
                "accuracy": [0.1] + [0.5 + more.get(arm, 0) / 100] * 5,
                "fit": [1.0] * 4 + [last[0]] * 2,
                "loss": [1.0] * 4 + [last[1]] * 2,
                "fitted": [fitted] * 6,
                "at_once": [at_once] * 6,
            }
    return made(seen)


PRINTED = {
    ("hand", "alike"): {"γ = 0.93": [4.0]},
    ("why", "alike"): {
        "γ = 0.93": [4.0, 1.0],
        DECAY: [2.0],
        LEARNED: [5.0],
        gains.ON_TOP: [3.5],
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
    alt = drawn(gains.by_place(found, ["γ = 0.93"], ["alike", "uneven"]))
    assert "uneven, γ = 0.93: -2.0 ± 0.0" in alt


def test_decay_has_to_come_near_and_the_learned_factor_to_gain_on_top_of_it():
    right = {FIXED: 1.0, DECAY: 0.8, HALF: 0.5, LEARNED: 0.8, gains.ON_TOP: 1.5}
    found, paper = ended(right, {}), PRINTED["why", "alike"]
    said = gains.causes(found, paper)
    assert said["holds"] and said["rows"][1].printed == [4.0]
    assert [row.printed for row in said["rows"][-2:]] == [[3.0], [3.5]]
    # The factor, GWS, and both together, each beside decay.
    by_hand = [0.2, 0, 0.7]
    assert [r.values[0] for r in said["rows"][-3:]] == pytest.approx(by_hand)
    wrong = ({DECAY: 0.2}, {LEARNED: 2.0}, {FIXED: 0.0}, {DECAY: 1.6}, {HALF: 0.0})
    for planted in (*wrong, {gains.ON_TOP: 0.8}):
        assert not gains.causes(ended(right | planted, {}), paper)["holds"], planted
    more: list[dict[str, Any]] = [
        {"plain": (1.0, 2.0)},  # it does not fit its own
        {"plain": (0.2, 0.2)},  # it gets better on new ones
        {"fixed": (0.2, 1.2)},  # a factor fits as well
        {"fixed": (0.5, 2.0)},  # and is no better on new ones
        {"at_once": -0.5},
    ]
    for planted in more:
        assert not gains.causes(ended(right, {}, **planted), paper)["holds"], planted
    alt = drawn(gains.by_arm(found, gains.CAUSES, "alike"))
    assert "halved once: +0.0 ± 0.0" in alt
    assert "γ = 0.93 0.50 on own images, γ = 0.93 1.20 on new images" in alt


def test_the_same_images_are_compared_with_training_on_them():
    said = gains.same_images(ended({"FedLAW": 2.0, LEARNED: 2.0}, {}), PRINTED)
    assert said["holds"]
    by_name = {row.name: row for row in said["rows"]}
    assert by_name["FedLAW minus Server-FT, alike"].printed == [3.0]
    assert by_name["FedLAW minus Server-FT, uneven"].values == pytest.approx(0)
    both = {"FedLAW": 2.0, LEARNED: 2.0}
    for planted in (ended({}, {}), ended(both, both), ended({"FedLAW": 2.0}, {})):
        assert not gains.same_images(planted, PRINTED)["holds"]
    worse = ended({"FedLAW": 2.0, "Server-FT": 3.0, LEARNED: 2.0}, {})
    assert not gains.same_images(worse, PRINTED)["holds"]


def test_a_learned_factor_has_to_take_back_what_the_fixed_one_costs():
    cost = {FIXED: -2.0, DECAY: -3.0}
    said = gains.cured(ended({}, cost))
    assert said["holds"]
    by_hand = [-2, -3, 0, 2, -15, -5]
    assert [r.values[0] for r in said["rows"]] == pytest.approx(by_hand)
    wrong = ({FIXED: 0.0}, {LEARNED: -2.0}, {LEARNED: 1.0}, {DECAY: 0.0})
    for planted in wrong:
        assert not gains.cured(ended({}, cost | planted))["holds"], planted
    assert not gains.cured(ended({}, cost, given_up=(15.0, 15.0)))["holds"]


# -- the search --------------------------------------------------------------------


def path(*wrong_share: float) -> list[tuple[float, float, np.ndarray]]:
    """Two clients, the second wrong: its share at every step."""
    return [(2.0 - w, 0.9, np.array([1 - w, w])) for w in wrong_share]


def test_the_least_share_is_what_all_steps_together_can_do():
    """Rates .1, .1, .05: a log-share falls by .25 and the other rises by as much."""
    down, up = 0.5 * np.exp(-0.25), 0.5 * np.exp(0.25)
    assert search.least_share(0.1, 3, 2) == pytest.approx(100 * down / (down + up))
    assert search.least_share(0.1, 0, 2) == 50


def test_the_least_share_is_that_of_adam_where_the_slope_stays():
    b = torch.zeros(2, dtype=torch.double, requires_grad=True)
    adam = torch.optim.Adam([b], 0.15, betas=(0.5, 0.999))
    slower = torch.optim.lr_scheduler.StepLR(adam, 3, gamma=0.5)
    for _ in range(10):
        b.grad = torch.tensor([-1e3, 1e3], dtype=torch.double)
        adam.step()
        slower.step()
    left = 100 * float(b.detach().softmax(0)[1])
    assert left == pytest.approx(search.least_share(0.15, 10, 3), rel=1e-6)


WHO = [np.array([False, True])] * SEEDS
WAYS = {
    "ten steps": [path(0.5, 0.19)] * SEEDS,
    "published search": [path(0.5, 0.04)] * SEEDS,
}
RIGHT = {"ten steps": [35.0] * 3, "published search": [36.0] * 3}


def test_a_short_search_ends_near_its_limit_and_a_long_one_far_below():
    assert search.held_by(WAYS["ten steps"][0], WHO[0]).tolist() == [50, 19]
    said = search.stopped_short(WAYS, WHO, 17.0, RIGHT)
    assert said["holds"]
    assert [r.values[0] for r in said["rows"]] == pytest.approx([2, 4 - 19, 36 - 35])
    for way, end in (("ten steps", 0.3), ("published search", 0.2)):
        planted = WAYS | {way: [path(0.5, end)] * SEEDS}
        assert not search.stopped_short(planted, WHO, 17.0, RIGHT)["holds"]
    worse = RIGHT | {"published search": [35.0] * 3}
    assert not search.stopped_short(WAYS, WHO, 17.0, worse)["holds"]
    alt = drawn(search.long_searches(WAYS, WHO, 17.0))
    assert "ten steps: 19.0; published search: 4.0" in alt and "leave 17.0" in alt
    last = WAYS["published search"]
    assert "keeps 4.0 ± 0.0 %" in search.after_search(last, WHO)
    assert "clinic 0's share changes most, from 50 to 81" in drawn(
        search.one_round(WAYS["ten steps"][0])
    )


def test_the_largest_factor_is_that_of_full_steps():
    assert search.most_factor(0.1, 3, 2) == pytest.approx(np.exp(0.25))


def test_what_a_search_ends_with_is_tested_on_new_images():
    """Two networks: all the share to the first, and a factor of two, is twice it."""
    bench = Bench(samples=300, tests=60, sizes={"hidden": [8]}, proxy=fl.Proxy(3))
    world = bench.place("dirichlet", clients=4, alpha=1.0)(7)
    seen = knob.arrived(world, fl.fedavg(fl.Training(lr=0.2, epochs=3)), 3, 7)
    alone = [(0.0, 2.0, np.eye(4)[1])]
    twice = {n: 2 * w[1] for n, w in seen["models"].items()}
    out = torch.func.functional_call(world.model, twice, (world.x_test,))
    hit = float((out.argmax(1) == world.y_test).float().mean())
    assert search.accuracy(world, seen["models"], alone) == pytest.approx(100 * hit)


def test_the_chapters_own_lines_find_what_the_core_finds():
    """Its cells tagged `algorithm`, on another federation, and for other settings."""
    cells = nbformat.read(CHAPTER, as_version=4).cells
    whole = [c.source for c in cells if "algorithm" in c.metadata.get("tags", [])]
    names: dict[str, Any] = {"torch": torch}
    exec(compile(ast.parse("\n".join(whole)), str(CHAPTER), "exec"), names)
    bench = Bench(samples=300, tests=60, sizes={"hidden": [8]}, proxy=fl.Proxy(3))
    world = bench.place("dirichlet", clients=4, alpha=0.5, capacity=False)(7)
    local = fl.Training(lr=0.2, epochs=2, batch_size=32)
    for steps, rates, halve in ((5, (0.1, 0.02), 2), (12, (0.03, 0.2), 5)):
        how = {"server_epochs": steps, "halve_every": halve, "batch": 1000}
        method = fedlaw(local, lr=rates[0], x_lr=rates[1], **how)
        came = knob.arrived(world, method, 2, 7)
        assert world.proxy is not None
        x, y = world.proxy

        def loss_of(w, x=x, y=y):
            return F.cross_entropy(torch.func.functional_call(world.model, w, (x,)), y)

        given = loss_of, came["models"], came["shares"], steps, rates, halve
        found = names["search_round"](*given)
        seen = fl.federate(
            world, method, 2, seed=7, observe=wrong.shares, progress=False
        ).rows[-1]
        assert found[-1][1] == pytest.approx(seen["gamma"], abs=1e-5)
        assert np.allclose(found[-1][2], seen["shares"], atol=1e-5)
        assert abs(found[-1][1] - 1) > 1e-3  # it went somewhere


# -- the temperature ---------------------------------------------------------------


def factor(
    alike: float,
    uneven: float,
    first: float = 1.3,
    decayed: float = 0.98,
    steps: tuple[float, float] = (0.01, 0.03),
) -> Comparison:
    """Factors of GWS, and its steps: .08 where alike, .05 else; `steps` of FedAvg."""
    seen: dict[tuple[str, str], dict[str, list]] = {}
    places = (("alike", alike, 0.08), ("uneven", uneven, 0.05))
    for (where, end, step), plain in zip(places, steps, strict=True):
        gamma = {"gamma": [first, end, end], "temper": [first**3, end**3, end]}
        seen[where, "GWS"] = {**gamma, "moved": [0.5, step, step]}
        seen[where, "FedAvg"] = {"moved": [0.5, plain, plain]}
    seen["alike", "both"] = {"gamma": [first, decayed, decayed]}
    return made(seen, last=2)


def test_the_factor_begins_above_one_and_ends_nearer_to_it_where_uneven():
    said = temper.closer_to_one(factor(0.9, 0.95), "GWS", "both")
    assert said["holds"]
    assert [r.values[0] for r in said["rows"][-2:]] == pytest.approx([0.05, 0.08])
    assert said["rows"][0].says == "above" and said["rows"][2].says == "below"
    wrong = (
        factor(0.95, 0.9),
        factor(1.1, 0.95),
        factor(0.9, 0.95, 0.98),
        factor(0.9, 0.95, decayed=0.9),
        factor(0.9, 0.95, decayed=1.1),
        factor(0.9, 0.95, steps=(0.03, 0.01)),
    )
    for planted in wrong:
        assert not temper.closer_to_one(planted, "GWS", "both")["holds"]


def test_a_temperature_is_compared_by_its_root():
    found = factor(0.9, 0.9)
    off = 0.9 ** (1 / 3) - 0.9  # of every third round; the others are cubes
    assert temper.apart(found, "GWS", ["alike", "uneven"], 3) == pytest.approx(off / 3)
    alt = drawn(temper.learned(found, "GWS", ["alike", "uneven"], 3, 1.308))
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
        history = fl.federate(
            world, method, 2, seed=7, observe=temper.seen, progress=False
        )
        seen, came = history.rows[-1], knob.arrived(world, method, 2, 7)
        model = {n: v[0] for n, v in history.states.items()}
        plain = {n: v / gamma for n, v in model.items()}
        before = torch.cat([v.flatten() for v in came["begin"].values()])
        after = torch.cat([v.flatten() for v in plain.values()])
        step = float((after - before).norm() / before.norm())
        known = float(history.rows[-1].get("gamma", 1.0))  # as the server says it
        assert seen["moved"] == pytest.approx(known * step, rel=1e-3)
        out = torch.func.functional_call(world.model, model, (world.x,))
        assert seen["fit"] == pytest.approx(float(F.cross_entropy(out, world.y)))
        hit = float((out.argmax(1) == world.y).float().mean())
        assert seen["fitted"] == pytest.approx(hit)
        own, whole = (
            torch.func.functional_call(world.model, w, (world.x_test,)).argmax(1)
            for w in (model, plain)
        )
        more = float((own == world.y_test).sum() - (whole == world.y_test).sum())
        assert seen["at_once"] == pytest.approx(100 * more / 60, abs=1e-4)


def test_steps_are_said_in_percent():
    said = temper.steps(factor(0.9, 0.95), {"FedAvg": "plain", "GWS": "learned"})
    assert said == (
        "plain 1.0 % (alike), 3.0 % (uneven), difference +2.0 ± 0.0; "
        "learned 8.0 % (alike), 5.0 % (uneven), difference -3.0 ± 0.0"
    )


# -- who is wrong, and the six claims ---------------------------------------------


def half(
    fedlaw_: float, feddf: float = 0.0, gws: float = 0.0, alone: float = 12.0
) -> Comparison:
    ends = {"FedAvg": 0, "GWS": gws, "FedLAW": fedlaw_, "FedDF": feddf}
    ends[wrong.ALONE] = alone
    shares = [np.array([0.5, 0.5]), np.array([0.8, 0.2]), np.array([0.9, 0.1])]
    return made(
        {
            ("", arm): {"accuracy": [0.1, *[0.4 + more / 100] * 2], "shares": shares}
            for arm, more in ends.items()
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


def test_a_server_that_knows_who_is_wrong_leaves_them_out():
    members = Members.holding(torch.tensor([[3, 1], [2, 2], [0, 6]]))
    assert wrong.Without((1,))(members).tolist() == pytest.approx([0.4, 0, 0.6])


def test_what_the_wrong_half_holds():
    found = half(10.0)
    assert wrong.kept(found, WHO, "FedLAW") == pytest.approx(15)  # of 20 and 10
    alt = drawn(wrong.in_round(found, WHO, "FedLAW", 2))
    assert "holds 20 percent together" in alt and "Of 3 clinics" in alt
    alt = drawn(wrong.in_round(found, WHO, "FedLAW", 1))
    assert "right labels 0 have less" in alt


def test_six_claims_stand_beside_the_papers():
    bad = half(10.0)
    found = ended({"γ = 0.93": 1}, {"γ = 0.93": -2})
    table = beside.six_claims(found, bad, PRINTED, opened())
    assert len(table) == 6
    assert table["paper"].tolist()[:3] == ["+4.0", "+1.5, -2.0", "+3.0"]
    assert table["paper"].tolist()[3:5] == ["+2.0", "+5.5"]
    told = ["same direction", "same direction", "undecided", "undecided"]
    assert table["can we tell?"].tolist()[:4] == told
