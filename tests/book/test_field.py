"""Chapter 8: deals, gains by two judges, chosen rates, and the best of many."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from IPython.display import HTML

import fedlab_core as fl
from fedlab_book import advice
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.field import deals, found, recorded
from fedlab_book.chapters.field.found import ALL, BASE, OWN, Spot
from fedlab_book.findings import Unsupported, finding
from fedlab_book.pages import abreast
from fedlab_book.panels import picture
from fedlab_browser.playground import state as can
from fedlab_core.errors import InputError
from fedlab_ledger.papers import field
from tests.figure_cases import supported

WIDE = np.array([-0.1, 0.0, 0.1, 0.0])  # half an interval is .13 wide


def runs(levels: dict[str, float], own: float = 40.0, count: float = 10) -> Comparison:
    """Four seeds on every deal, each method at so many percent of all letters."""
    made = {}
    for deal in deals.DEALS:
        for arm, level in levels.items():
            for seed, off in enumerate(WIDE):
                row = {"accuracy": (level + off * (arm != BASE)) / 100}
                row |= {"own": own / 100, "count": count, "of": 10.0}
                made[deal, arm, seed] = fl.History(arm, seed, rows=[row])
    return Comparison(made, last=1)


OWN_ARMS = (BASE, "alone", "fine-tune", "Ditto", "FedCollab")
RATES = {BASE: 50.0, "half the rate": 40.0, "twice the rate": 53.0}


def test_a_deal_is_the_playgrounds():
    places = deals.places(Bench(samples=900, part="by class", sizes={"hidden": [8]}))
    assert [*places] == [*deals.DEALS] == [*deals.DEALT]
    big, two = (places[w](3).counts.sum(1).tolist() for w in (deals.BIG, deals.WORLDS))
    assert big == [130, 120, 30, 30, 30, 20, 20, 20, 20, 10]
    assert two == [63] * 5 + [21] * 5
    for state in (*deals.METHODS.values(), *deals.DEALT.values()):
        can.sound(can.parsed(state))


def test_coalitions_by_exact_distances_keep_the_worlds_apart():
    place = deals.places(Bench(samples=900, part="by class", sizes={"hidden": [8]}))
    method = deals.coalitions(fl.Training(lr=0.1), C=3)
    homes = method.groups.begin(place[deals.WORLDS](1), 1)
    assert [*homes] == [0] * 5 + [1] * 5
    assert len({*method.groups.begin(place[deals.ALIKE](1), 1)}) == 1


@pytest.mark.slow
def test_what_is_seen_is_own_letters_and_who_counts():
    sizes = {"hidden": [8], "split": 1}
    how = {"part": "by class", "sizes": sizes, "seeds": [1], "last": deals.LAST}
    bench = Bench(samples=900, tests=100, **how)
    clinic = fl.Training(lr=0.1, batch_size=32)
    arms = {"FedAvg": fl.fedavg(clinic), "alone": fl.local_only(clinic)}
    there = deals.places(bench)
    at = {where: there[where] for where in (deals.UNEVEN, deals.BIG)}
    done = deals.play(bench, at, arms, rounds=7)
    for arm, counts in (("FedAvg", (5, 10)), ("alone", (1, 1))):
        for where, of, count in zip(at, (5, 10), counts, strict=True):
            assert done.curves(arm, where, "of").tolist() == [[of] * 2]
            assert done.curves(arm, where, "count").tolist() == [[count] * 2]
            assert done.curves(arm, where).shape == (1, 3)  # rounds 3, 6 and the last
    own, every = (done.ends("alone", deals.BIG, what) for what in ("own", "accuracy"))
    assert own[0] > every[0] > 0


def test_each_half_of_the_seeds_is_told_by_the_rate_that_the_other_chose():
    """The first rate is best on seeds 0 and 1, the second on 2 and 3."""
    rates = np.array([[9.0, 7.0, 1.0, 3.0], [2.0, 4.0, 6.0, 8.0]])
    values, best = found.crossed(rates)
    np.testing.assert_array_equal(values, [2, 4, 1, 3])
    assert best == [1, 0]


def test_a_spot_has_its_gains_and_who_counts():
    done = runs(RATES | {"FedDisco": 54.0, "alone": 20.0}, count=3)
    at = found.spots(done, ["FedDisco", "alone"], ALL)
    spot = at["FedDisco", deals.BIG]
    np.testing.assert_allclose(spot.gains, 4 + WIDE)
    assert spot.told == "+4.0" and spot.count == "3 of 10" and spot.dead == 0
    assert at[found.TUNED, deals.BIG].told == "+3.0"
    assert ("alone", deals.BIG) not in at
    assert ("alone", deals.BIG) in found.spots(done, ["FedDisco", "alone"], OWN)


def test_a_method_at_chance_is_dead():
    at = found.spots(runs(RATES | {"FedLAW": 10.0}, own=12.0), ["FedLAW"], ALL)
    assert at["FedLAW", deals.ALIKE].told == "dead"
    assert Spot(np.ones(8), dead=4).told == "+1.0"


def test_a_map_says_what_it_shows():
    at = {("SCAFFOLD", "a"): Spot(2 + WIDE), ("FedLAW", "a"): Spot(-WIDE, "3 of 10", 4)}
    fig, said = picture(found.picture(at, ["SCAFFOLD", "FedLAW"], ["a"], title="All"))
    assert "SCAFFOLD: a +2.0; FedLAW: a dead, 3 of 10 count" in said
    weights = {t.get_text(): t.get_fontweight() for t in fig.axes[0].texts}
    assert weights == {"+2.0": "bold", "dead": "normal", "3 of 10": "normal"}


def test_the_answer_is_who_gains_most_on_two_big_ones():
    at = {(arm, deals.BIG): Spot(i + WIDE) for i, arm in enumerate(found.LOUD)}
    assert found.right(at) == [*found.LOUD][-1] == "FedDyn"
    assert found.right(at | {("FedImpro", deals.BIG): Spot(9 + WIDE)}) == "FedImpro"


def test_a_lead_is_told_once_more_when_they_have_played_on():
    arms = dict.fromkeys((*found.ROWS, *found.LATER), 50.0)
    early, later = (runs(arms | {"FedDyn": level}) for level in (60.0, 51.0))
    told = found.all_letters(early, later)
    row = told["rows"][-1]
    assert "played on minus before" in row.name and row.sign == -1
    np.testing.assert_allclose(row.values, -9)


def test_two_pictures_stand_abreast():
    one, two = "<figure>1</figure>", "<figure>2</figure>"
    both = f'<div class="fl-abreast">{one}{two}</div>'
    assert abreast(HTML(one), HTML(two)).data == both
    said = abreast(HTML(one), HTML(two), caption="a < b").data
    assert said == f'{both}<p class="fl-caption">a &lt; b</p>'


@pytest.mark.parametrize(("alone", "holds"), [(-1, False), (1, True)])
def test_what_is_stated_hangs_on_its_sides(alone, holds):
    """Everything else is as the sentence has it."""
    facts: dict[str, Any] = found.own_letters(runs(dict.fromkeys(OWN_ARMS, 50.0)))
    name = f"{deals.UNEVEN}: alone"
    made = [
        replace(row, values=(alone if row.name == name else row.sign or 1) + WIDE)
        for row in facts["rows"]
    ]
    try:
        finding("So.", **{**facts, "rows": made})
    except Unsupported:
        assert not holds
    else:
        assert holds


@pytest.mark.parametrize(("both", "answer"), [(7.0, 0), (8.0, 0), (4.0, 1), (3.0, 2)])
def test_gains_add_up_unless_they_clearly_do_not(both, answer, monkeypatch):
    three = [v + WIDE for v in (4.0, 3.0, both)]
    monkeypatch.setattr(recorded, "together", lambda: three)
    assert recorded.adds() == [*recorded.ADDS][answer]
    assert f"together +{both:.1f} ± 0.1" in recorded.added()


def test_the_best_of_many_has_to_be_ahead_on_new_seeds():
    scores = {
        "base": dict.fromkeys(range(6), 50.0),
        "best": {0: 60.0, 1: 61.0, 2: 62.0, 3: 55.0, 4: 56.0, 5: 57.0},
        "other": {0: 51.0, 1: 52.0, 2: 53.0},
    }
    told = found.curse(scores, "best", "base", [0, 1, 2], [3, 4, 5])
    assert supported(told) and [np.mean(r.values) for r in told["rows"]] == [11, 6]
    assert told["note"].endswith("what FedAvg has not: best.")
    level = {**scores, "best": scores["best"] | {3: 49.0, 4: 50.0, 5: 52.0}}
    assert not supported(found.curse(level, "best", "base", [0, 1, 2], [3, 4, 5]))
    # both others have a deviation of one: of a mean of three, 1 / sqrt(3) = .6
    first = {a: {s: v for s, v in of.items() if s < 3} for a, of in scores.items()}
    assert "deviation of 0.6 points" in found.bound(first, "base")
    for seen, mean, half, answer in ((9, 6, 1, 0), (9, 1, 2, 1), (9, -6, 1, 2)):
        assert found.fell([seen, mean, half]) == [*found.NEW][answer]


def test_the_fall_is_told_with_what_the_seeds_can_say():
    """By hand: 5 points of two threes with deviation 1, so ± 2.776 * sqrt(2 / 3)."""
    far = {"best": {0: 10.0, 1: 11.0, 2: 12.0, 3: 5.0, 4: 6.0, 5: 7.0}}
    plain = far | {"base": dict.fromkeys(range(6), 0.0)}
    seeds = ([0, 1, 2], [3, 4, 5])
    said = found.fall(plain, "best", "base", *seeds)
    assert said == "On the new seeds it gains 5.0 ± 2.3 points less."
    near = plain | {"best": far["best"] | {3: 9.0, 4: 10.0, 5: 11.0}}
    assert "seeds cannot say" in found.fall(near, "best", "base", *seeds)


def test_who_is_never_behind_is_neither_clearly_behind_nor_dead(monkeypatch):
    at = {
        ("SCAFFOLD", "a"): Spot(2 + WIDE),
        ("SCAFFOLD", "b"): Spot(WIDE - WIDE.mean()),
        ("FedDyn", "a"): Spot(2 + WIDE),
        ("FedDyn", "b"): Spot(WIDE / 100 - 9),
        ("FedLAW", "a"): Spot(2 + WIDE, dead=len(WIDE)),
    }
    assert found.unbeaten(at) == ["SCAFFOLD"]
    monkeypatch.setattr(
        recorded, "spots", lambda judge: {("FedDyn", "a"): at["FedDyn", "a"]}
    )
    said = recorded.never_behind(at)
    assert said.endswith(
        "four deals: SCAFFOLD. Of these, on the six fields, too: none."
    )


@pytest.mark.slow
def test_gains_at_home_stand_beside_those_away():
    at, said = recorded.spots(ALL), recorded.at_home()
    for host, where in recorded.HOME.items():
        if host in found.ONE:
            assert f"{host} {at[host, where].told} points" in said
    assert said.count("others)") == len(found.ONE)


def test_constants_at_an_end_of_what_was_tried_are_counted():
    """The usual one is the middle of three, and stands in no list of the chosen."""
    lists = [c for fields in field.CHOSEN.values() for c in fields.values()]
    there = [len(field.TRIED) for _ in lists]
    said = advice.edges()
    assert all(1.0 not in c.values() for c in lists)
    assert f"Of {sum(there)} constants chosen so, {sum(map(len, lists))} are" in said
    at_home = field.CHOSEN["for_all"]["rFedAvg's"]
    assert ("rFedAvg+" in said) == ("rFedAvg+" in at_home)
    assert "FedLAW" not in field.CHOSEN["for_all"]["FedLAW's"]
    assert "FedLAW" not in said


def test_recorded_fields_have_all_their_lines():
    for judge, ditto in ((ALL, 9), (OWN, 12)):
        at = recorded.spots(judge)
        assert len(at) == 6 * ditto and all(len(s.gains) == 8 for s in at.values())
    assert recorded.spots(ALL)["FedLAW", "rFedAvg"].told == "dead"
    assert "FedDisco by FedDyn (+5.4 ± 0.6)" in recorded.beaten()
    assert len(recorded.sixty()) == 60
    assert [len(v) for v in recorded.together()] == [8, 8, 8]
    assert "together +7.4 ± 1.8" in recorded.added()


def test_a_paper_that_no_control_beats_at_home_is_not_said_to_be(monkeypatch):
    at = {
        k: Spot(v.gains + 99 * (k[0] == "FedLAW"))
        for k, v in recorded.spots(ALL).items()
    }
    monkeypatch.setattr(recorded, "spots", lambda judge: at)
    with pytest.raises(InputError, match="FedLAW is not beaten at home"):
        recorded.beaten()


@pytest.mark.slow
def test_new_seeds_are_the_ledgers_runs():
    """A stored seed, played again, has the stored accuracy."""
    (again,) = recorded.fresh([recorded.PLAIN], [0]).values()
    stored = recorded.sixty()[recorded.PLAIN]
    assert again[0] == pytest.approx(stored[0], abs=0.3)
