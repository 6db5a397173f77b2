"""Everyone on one field: every arm runs, every combination is what it is called."""

import json
from dataclasses import replace

import pytest

from fedlab_core.errors import InputError
from fedlab_core.methods.combined import compose
from fedlab_core.rounds.play import run_all
from fedlab_ledger.build import data_of, method_of, run_of
from fedlab_ledger.cells import Setting
from fedlab_ledger.papers import field

HOME = {(c.row, c.column): c for c in field.TABLES[0].cells}
COMPOSED = {(c.row, c.column): c for c in field.TABLES[1].cells}


def test_every_method_is_on_every_field():
    assert set(HOME) == {(a, f) for a in field.ARMS for f in field.FIELDS}


def test_arms_of_a_field_differ_in_the_method_only():
    """Else a difference between arms would not be the method's."""
    of_methods = ("method", "options", "parts", "proxy")
    for name in field.FIELDS:
        worlds = set()
        for arm in field.ARMS:
            plain = HOME[arm, name].settings["small"].plain()
            rest = {k: v for k, v in plain.items() if k not in of_methods}
            worlds.add(json.dumps(rest, sort_keys=True))
        assert len(worlds) == 1, name


def test_a_combination_is_offered_or_there_is_a_reason():
    built = {names for names in field.combinations() if not field.refused(names)}
    assert {(field.row(n), f) for n in built for f in field.COMPOSED} == set(COMPOSED)
    lone = ("SGD", "FedDisco", "average", "nobody", "nothing")
    assert "leaves every client alone" in field.refused(lone)
    deaf = ("FedImpro", "size", "FedLAW", "everyone", "nothing")
    assert "which server=FedLAW does not send" in field.refused(deaf)
    idle = ("SGD", "size", "FedLAW", "nobody", "nothing")
    assert "every client is by itself" in field.refused(idle)
    with pytest.raises(InputError):
        compose(rule="fedimpro", server="fedlaw")
    slow = ("SGD", "FedDisco", "FedLAW", "FedCollab", "fine-tune")
    assert "minutes, not seconds" in field.refused(slow)
    assert not field.refused(("SGD", "FedDisco", "FedLAW", "everyone", "fine-tune"))


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (("SGD", "size", "average", "everyone", "nothing"), "FedAvg"),
        (
            ("FedImpro", "FedDisco", "average", "FedCollab", "fine-tune"),
            "FedImpro + FedDisco + FedCollab + Fine-tune",
        ),
        (("rFedAvg+", "equal", "FedLAW", "everyone", "nothing"), "rFedAvg+ + "),
    ],
)
def test_a_row_is_the_method_that_it_names(names, title):
    for place in field.COMPOSED:
        setting = COMPOSED[field.row(names), place].settings["small"]
        method = method_of(setting, data_of(replace(setting, data={"n_train": 200})))
        assert method.name.startswith(title)


SOME = [n for n in field.combinations() if not field.refused(n)][::7]


@pytest.mark.parametrize("names", SOME, ids=field.row)
@pytest.mark.parametrize("place", field.COMPOSED)
def test_combinations_run(names, place):
    setting = COMPOSED[field.row(names), place].settings["small"]
    parts = {k: dict(v) for k, v in setting.parts.items()}
    if "groups" in parts and parts["groups"]["of"] == "fedcollab":
        parts["groups"] |= {"rounds": 5, "restarts": 1}
    small: Setting = replace(setting, rounds=1, parts=parts)
    small = replace(small, data=setting.data | {"n_train": 2500})
    (seen,) = run_all([run_of(small, 3)], progress=False)
    assert 0 < seen.rows[-1]["accuracy"] <= 1 and seen.diverged_at is None
