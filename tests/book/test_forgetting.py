"""Chapter 7: the rivals, what a round costs, the law, and what a mean betrays."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import fedlab_core as fl
from fedlab_book.bench import SAID, Bench, Comparison
from fedlab_book.chapters.forgetting import arms, betrayed, found, law
from fedlab_book.chapters.forgetting.arms import MASKED, OWN, REFIT, TURN, TWICE
from fedlab_browser.playground import state as can
from fedlab_core.rounds.records import draw_participants
from tests.figure_cases import drawn, made, supported

STEPS = fl.Training(lr=0.2, epochs=1, batch_size=20)
BENCH = Bench(samples=300, tests=200, sizes={"hidden": [8, 6], "split": 1}, seeds=(7,))
PLACE = BENCH.place("niid2", biased=9, unbiased=1)
WORLD = PLACE(7)


def played(method: fl.Method, rounds: int = 1, **how) -> fl.History:
    return fl.federate(WORLD, method, rounds, seed=7, progress=False, **how)


def first() -> dict[str, torch.Tensor]:
    return {n: w.detach().clone() for n, w in WORLD.model.named_parameters()}


def test_masked_outputs_of_letters_that_nobody_here_holds_are_left_alone():
    begin, ends = first(), dict[str, torch.Tensor]()
    last = [n for n in begin if n.startswith("head")][-2:]

    def look(now):
        ends.update(now.trained.states)
        return {}

    lacks = (WORLD.counts == 0)[:9]  # the tenth has all
    for method, still in ((arms.masked(STEPS), True), (fl.fedavg(STEPS), False)):
        played(method, start=begin, observe=look)
        for n in last:
            moved = (ends[n][:9] - begin[n])[lacks].abs().sum()
            assert (moved == 0) == still


def test_who_holds_all_letters_is_not_masked_once_it_has_met_them():
    place = BENCH.place("stratified", clients=10)
    whole = replace(STEPS, batch_size=300)  # meets all at once
    ends = [
        fl.federate(place(7), m, 2, seed=7, progress=False).states
        for m in (arms.masked(whole), fl.fedavg(whole))
    ]
    assert all(torch.allclose(ends[0][n], ends[1][n], atol=1e-6) for n in ends[0])


def test_what_clinics_tell_makes_one_gaussian_of_all_their_images():
    kept = {}

    def look(now):
        kept.update(moments=now.servers[0].memory["moments"], start=now.before)
        return {}

    played(arms.refit(STEPS), observe=look)
    w = {n: v[0] for n, v in kept["start"].items()}
    held = torch.cat([WORLD.client(k) for k in range(10)])
    h, y = law.features(WORLD, w, WORLD.x[held]), WORLD.y[held]
    n, total, squares = kept["moments"].sum(0).split([1, 8, 8], 1)
    for c in range(10):
        mine = h[y == c]
        assert n[c] == len(mine)
        assert torch.allclose(total[c] / n[c], mine.mean(0), atol=1e-5)
        assert torch.allclose(squares[c] / n[c], mine.square().mean(0), atol=1e-4)


def test_a_refit_head_is_judged_and_the_average_goes_on():
    plain, refit = played(fl.fedavg(STEPS), 2), played(arms.refit(STEPS), 2)
    none = played(arms.refit(STEPS, steps=0), 2)
    for n, w in plain.states.items():
        assert torch.allclose(none.states[n], w, atol=1e-6)
        same = torch.allclose(refit.states[n], w, atol=1e-6)
        assert same == n.startswith("features")


def test_doubled_steps_are_those_of_the_head():
    whole = replace(STEPS, batch_size=300)
    ends = [played(m, start=first()) for m in (fl.fedavg(whole), arms.doubled(whole))]
    for n, w in first().items():
        one, two = (end.states[n][0] - w for end in ends)
        by = 2 if n.startswith("head") else 1
        assert torch.allclose(two, by * one, atol=1e-6)


def test_k_lies_where_the_first_screen_says_and_misses_three_rounds():
    state = can.parsed("alpha=0.1&present=0.5&lr=0.2")
    counts = can.world_of(state).counts[:, -1]
    assert can.world_of(state).classes[-1] == "K"
    assert counts[3] == 89 and counts.sum() == 90
    drawn_ = [3 in draw_participants(10, can.present(state), 0, t) for t in range(18)]
    assert [t + 1 for t in range(9, 18) if drawn_[t]] == [10, 12, 14, 18]


PRESENT = [[1, 1], [0, 1], [1, 0], [1, 1], [0, 1], [1, 1]]  # of two letters, by round
READ = [[0.6, 0.5], [0.2, 0.5], [0.6, 0.1], [0.6, 0.5], [0.2, 0.5], [0.6, 0.5]]


def runs(**more: list[float] | float) -> Comparison:
    """Six rounds of all arms; an arm is so much more accurate, in all or by round."""
    keys = ("turn", "own", "twice", "masked", "refit")
    names = dict(zip(keys, (TURN, OWN, TWICE, MASKED, REFIT), strict=True))
    present, base = [np.array(p) for p in PRESENT], np.full(6, 0.4)
    keep = [np.array([0.55, 0.45]) for _ in PRESENT]
    kept = more.pop("kept", 0.1)  # of a letter that nobody drawn holds, in turn
    part = [
        np.array(r) + kept * (np.array(p) == 0)
        for r, p in zip(READ, PRESENT, strict=True)
    ]
    reads = {"masked": keep, "turn": part}
    seen = {("", "FedAvg"): dict(accuracy=[*base], present=present)}
    seen["", "FedAvg"]["read"] = [np.array(r) for r in READ]
    for key, name in names.items():
        accuracy = [*(base + np.array(more.get(key, 0.0)))]
        read = reads.get(key, seen["", "FedAvg"]["read"])
        seen["", name] = dict(accuracy=accuracy, present=present, read=read)
    return made(seen)


def test_a_letter_is_compared_with_itself_a_round_before():
    done = runs()
    assert np.allclose(found.change(done, "FedAvg", "there", "gone"), -40)
    assert np.allclose(found.change(done, "FedAvg", "gone", "there"), 40)
    assert np.allclose(found.change(done, "FedAvg", "there", "there"), 0)
    assert np.allclose(found.read(done, "FedAvg", "gone"), (20 + 10 + 20) / 3)
    facts = found.forgetting(done)
    assert supported(facts) and "17 %" in facts["note"]
    assert found.loses(done) == list(found.LOSES)[1]


EARLY, ALL = [0, 0.05, 0, 0, 0, 0], 0.1  # early: the second of six rounds


def test_letters_in_turn_have_to_gain_early_and_own_ones_not():
    assert supported(found.whose(runs(turn=EARLY)))
    for other in (
        {"turn": 0.0},
        {"turn": 0.05},  # nothing is lost of it
        {"turn": EARLY, "own": EARLY},
        {"turn": EARLY, "twice": EARLY},
    ):
        assert not supported(found.whose(runs(**other)))


def test_rivals_are_what_the_sentence_says():
    good = {"turn": EARLY, "masked": -0.1, "refit": ALL}
    done = runs(**good)
    assert supported(found.rivals(done))
    assert found.keeps(done) == list(found.KEEPS)[1]
    assert found.keeps(runs(masked=0.1)) == list(found.KEEPS)[0]
    for other in ({"masked": 0.1}, {"refit": 0.0}, {"refit": EARLY}, {"kept": 0.0}):
        assert not supported(found.rivals(runs(**good | other)))
    for panel in (found.gains(done, [REFIT]), found.by_letter(done)):
        assert REFIT in panel.said


@pytest.mark.slow
def test_the_ledgers_gains_are_told_in_three_words():
    rows = found.beside()
    assert set(rows["can we tell?"]) <= set(SAID)
    assert len(rows) == 3


def test_what_is_the_same_for_all_drops_out_of_their_differences():
    g = law.gradients(WORLD, first(), 7)
    for ratio in law.RATIOS:
        assert np.isclose(law.left(g, law.IN_TURN, ratio), 1 / (1 + ratio) ** 2)
    assert law.left(g, law.OWN_LABELS) > 0.26
    assert "The variance itself: 0.25 in every seed" in law.told([g, g, g])
    wrong = {**g, law.IN_TURN: g[law.OWN_LABELS]}
    with pytest.raises(ValueError, match="the law is off by"):
        law.told([wrong])
    assert "0.25 is left" in drawn(law.arrows(g, law.IN_TURN, 1))


def test_gradients_are_those_of_the_loss():
    g, k = law.gradients(WORLD, first(), 7), 3
    at = WORLD.client(k)
    F = torch.nn.functional
    loss = F.cross_entropy(WORLD.model(WORLD.x[at]), WORLD.y[at])
    head = [w for n, w in WORLD.model.named_parameters() if n.startswith("head")]
    flat = torch.cat([v.flatten() for v in torch.autograd.grad(loss, head)])
    assert np.allclose(g["own"][k], flat.numpy(), atol=1e-6)
    halved = {**g, law.IN_TURN: 0 * g[law.IN_TURN]}  # and nobody agrees more
    assert np.isclose(law.left(halved, law.IN_TURN), 0.25)
    assert np.isclose(law.aimed(halved, law.IN_TURN), 1)


IMPRO = fl.fedimpro(STEPS, omega=1.0, ramp=False)


def test_rows_are_means_of_the_images_said_to_be_behind_them():
    still = fl.fedimpro(replace(STEPS, lr=1e-9), omega=1.0, ramp=False)
    run = BENCH.compare(
        PLACE, {"FedImpro": still}, 2, participants=5, observe=betrayed.sent
    )
    mu = run.of("FedImpro")[0].rows[-1]["mu"]
    w = {n: v[0] for n, v in run.of("FedImpro")[0].states.items()}
    rows = betrayed.last_batches(WORLD, 7, 2, 5, STEPS)
    assert len({p for p, *_ in rows}) == 5 and 0 <= betrayed.on_one(rows) <= 1
    for place, k, c, images in rows:
        assert (WORLD.y[images] == c).all() and {*images} <= {*WORLD.client(k).tolist()}
        mean = law.features(WORLD, w, WORLD.x[images]).mean(0)
        assert np.allclose(mu[place, c], mean.numpy(), atol=1e-4)


@pytest.mark.slow
def test_an_image_alone_is_decoded_as_its_features_are():
    place = BENCH.place("dirichlet", clients=10, alpha=0.1)
    how = {"participants": 5, "observe": betrayed.sent}
    run = BENCH.compare(place, {"FedImpro": IMPRO}, 2, **how)
    seen = betrayed.attack(run, "FedImpro", place(7), 7, STEPS)
    assert len(seen.images) == len(seen.letters) > 0
    w = {n: v[0] for n, v in run.of("FedImpro")[0].states.items()}
    x = place(7).x_test
    fitted = betrayed.with_one(law.features(place(7), w, x).double()) @ seen.decoder
    assert (fitted - x.flatten(1)).square().mean() < x.var()
    assert np.isclose(seen.near(betrayed.IMAGE), 1)
    assert seen.near(betrayed.SENT, 100.0) < seen.near(betrayed.FEATURES)
    assert "private images" in drawn(betrayed.picture(seen, 0.0))


def test_half_of_the_rows_are_not_alone_at_the_papers_scale():
    assert 0.1 < betrayed.at_paper_scale(0) < 0.6


def drowning(noisy: float, size: float = 0.1) -> dict:
    """Facts of a gain of .1 without noise, and of that with noise of 3."""
    columns = {"FedAvg": 0.4, "no noise": 0.5, "noise 3": 0.4 + noisy}
    done = made({("", arm): {"accuracy": [v] * 2} for arm, v in columns.items()})
    told = {"accuracy": [0.5] * 2, "mu": [np.zeros((5, 10, 8))] * 2}
    one = made({("", "FedImpro"): told | {"between": [size] * 2}})
    return betrayed.drowned(done, one, (3.0,))


def test_a_gain_is_drowned_only_by_noise_that_is_larger_than_what_it_hides():
    assert supported(drowning(0.08)) and "leaves 1.34" in drowning(0.08)["note"]
    assert not supported(drowning(0.0)) and not supported(drowning(0.08, size=1.0))
