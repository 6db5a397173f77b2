"""The playground's choices are those of the core, and no others."""

import pytest
import torch

from fedlab_browser.playground import state as can
from fedlab_browser.playground.weights import WEIGHS
from fedlab_core.errors import InputError
from fedlab_core.methods import METHODS
from fedlab_core.rounds.weigh import Members
from tests.playground.states import drawn, one_by_one


@pytest.mark.parametrize("state", [can.USUAL, *drawn(30)], ids=can.said)
def test_an_address_is_read_back(state):
    """But for what does not matter, which goes back to the usual."""
    again = can.parsed(can.said(state))
    assert can.said(again) == can.said(state)
    for name, value in again.items():
        if name in can.CHOICES or can.matters(state, name):
            assert value == state[name]
        else:
            assert value == can.USUAL[name]


def test_the_usual_is_said_with_nothing_and_a_page_may_stand_before():
    assert can.said(can.USUAL) == ""
    assert can.parsed("") == can.USUAL
    address = "https://book.example/playground.html?rule=fedprox&alpha=0.1#stories"
    assert can.said(can.parsed(address)) == "rule=fedprox&alpha=0.1"


@pytest.mark.parametrize(
    "text, says",
    [
        ("rul=fedprox", "'rul' is no choice"),
        ("rule=adam", "rule='adam': choose from fedavg, fedprox"),
        ("alpha=0.3", "alpha='0.3': choose from 0.05, 0.1"),
        ("alpha=nan", "alpha='nan': choose from"),
        ("alpha=", "alpha='': choose from"),
        ("alpha", "NAME=VALUE, not 'alpha'"),
        ("alpha=0.1&alpha=5", "alpha is given twice"),
        ("#rule=fedprox", "#rule=fedprox: choices stand behind a [?], not a #"),
        ("rule=scaffold&server=fednova", "SCAFFOLD"),
    ],
)
def test_what_is_not_there_is_said_in_a_line(text, says):
    with pytest.raises(InputError, match=says):
        can.parsed(text)


def test_numbers_stand_on_stops_and_are_of_choices_that_there_are():
    for name, slider in can.NUMBERS.items():
        assert slider.usual in slider.stops, name
        assert list(slider.stops) == sorted(set(slider.stops)), name
        for choice, values in slider.of.items():
            assert set(values) <= set(can.CHOICES[choice]), name
    for knob in can.KNOBS:
        assert knob.partition(".")[0] in {*METHODS, *WEIGHS, "chosen"}, knob


@pytest.mark.parametrize("knob", can.KNOBS)
def test_a_knob_reaches_the_method(knob):
    """The method that is made differs from stop to stop."""
    ((choice, (name,)),) = can.KNOBS[knob].of.items()
    usual = {**can.USUAL, choice: name}
    made = set()
    for stop in can.KNOBS[knob].stops:
        state = {**usual, knob: stop}
        groups = can.group_of(state)
        made.add(f"{can.method_of(state, groups)} {groups}")
    assert len(made) > 1


@pytest.mark.parametrize(
    "state", one_by_one("rule", "weigh", "server", "groups", "personal"), ids=can.said
)
def test_every_choice_alone_can_be_played(state):
    assert can.refused(state) == ""


def test_steps_are_the_same_work_however_often_clients_meet():
    assert can.rounds_of(can.USUAL) == can.ROUNDS
    for stop in can.SLIDERS["steps"].stops:
        state = can.parsed(f"pace=steps&steps={stop:g}")
        assert can.rounds_of(state) * stop == can.WORK
        assert can.training_of(state).iterations == stop
        assert can.present(state) is None


def test_who_is_ticked_is_one_coalition_and_the_rest_another():
    ticked = can.parsed("groups=chosen&chosen.who=13&clients=6")  # 1, 3 and 4
    assert can.group_of(ticked) == [0, 1, 0, 0, 1, 1]
    others = can.parsed("groups=chosen&chosen.who=2&clients=4")
    assert can.group_of(others) == [0, 1, 0, 0]


def test_weights_by_hand():
    members = Members.holding(torch.tensor([[4, 0], [0, 1], [2, 2]]))
    assert WEIGHS["power"](0.0)(members).tolist() == pytest.approx([1 / 3] * 3)
    assert WEIGHS["power"](0.5)(members).tolist() == pytest.approx([0.4, 0.2, 0.4])
    assert WEIGHS["last"](0.5)(members).tolist() == pytest.approx([0.4, 0.1, 0.5])
    one = Members.holding(torch.tensor([[3, 1]]))
    assert WEIGHS["last"](0.5)(one).tolist() == [1.0]


def test_how_many_take_part():
    assert can.present(can.USUAL) is None
    for clients, share, many in ((10, 0.2, 2), (4, 0.2, 1), (6, 0.5, 3)):
        assert can.present({**can.USUAL, "clients": clients, "present": share}) == many
