"""A setting determines its number: its key, and the run that it becomes."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedlab_core as fl
from fedlab_core.errors import InputError
from fedlab_ledger import Setting, Table
from fedlab_ledger.model import cells as cells_of
from fedlab_ledger.model.cells import canonical, digest
from fedlab_ledger.run.build import data_of, method_of, run_of, scenario_of, training_of
from tests.ledger_cases import LETTERS, TINY, lettered


def test_a_key_stays_what_it_is():
    """Results are found by it: a change here loses every stored one."""
    assert Setting("letters", "fedavg", 2).key == "7375bec63548271c"
    assert lettered().key("tiny") == "99ee6cde9ec4b5af"


OTHERS = {
    "dataset": "digits",
    "method": "feddisco",
    "rounds": 3,
    "kind": "iid",
    "scenario": {"clients": 4, "alpha": 2.0},
    "data": LETTERS | {"noise": 0.3},
    "sample": 100,
    "tail": [2.0, 1.0],
    "pooled": True,
    "resize": 12,
    "normalise": [0.5, 0.5],
    "held": 0.3,
    "model": "mlp_200",
    "network": {"hidden": [9]},
    "options": {"a": 0.4},
    "weigh": {"name": "equal"},
    "parts": {"groups": {"of": "ifca"}},
    "local": {"lr": 0.2, "batch_size": 32},
    "participants": 2,
    "proxy": {"per_class": 2},
}


def test_whatever_determines_the_number_is_in_the_key():
    assert set(OTHERS) == set(Setting.__dataclass_fields__)
    changed = [replace(TINY, **{name: value}) for name, value in OTHERS.items()]
    assert len({s.key for s in [TINY, *changed]}) == len(OTHERS) + 1


def test_labels_are_not_in_the_key_but_the_metric_and_the_other_run_are():
    key = lettered().key("tiny")
    same = {"row": "B", "column": "c", "where": "p. 7", "reading": "r", "unit": "x"}
    same |= {"notes": {"tiny": "letters"}}
    for name, value in (same | {"tolerance": 2.0, "paper_value": 1.0}).items():
        assert replace(lettered(), **{name: value}).key("tiny") == key, name
    assert lettered(metric="last").key("tiny") != key
    against = {"tiny": TINY}
    paired = lettered(metric="ipr", against=against)
    assert paired.key("tiny") != lettered(metric="ipr").key("tiny")


def test_a_key_depends_on_the_recipe(monkeypatch):
    key = TINY.key
    monkeypatch.setattr(cells_of, "RECIPE", 2)
    assert TINY.key != key


def test_options_as_usual_are_as_good_as_none():
    assert Setting("letters", "fedavg", 2, sample=None, held=0.0).plain() == {
        "dataset": "letters", "method": "fedavg", "rounds": 2,
    }  # fmt: skip


@given(st.dictionaries(st.text(max_size=4), st.integers() | st.floats(-9, 9)))
def test_order_and_writing_of_numbers_do_not_matter(options):
    turned = dict(reversed(options.items()))
    floats = {
        k: float(v) if isinstance(v, int) and abs(v) < 2**50 else v
        for k, v in turned.items()
    }
    assert digest(options) == digest(floats)


def test_only_plain_data_have_a_key():
    assert canonical({"a": (1, 2.0), "b": None}) == {"a": [1, 2], "b": None}
    with pytest.raises(InputError, match="plain data, but holds <object"):
        digest({"a": object()})
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest({"a": math.nan})


def test_a_cell_says_what_it_lacks():
    with pytest.raises(InputError, match="say in lacks why"):
        lettered(lacks="")
    with pytest.raises(InputError, match="unknown scale huge"):
        replace(lettered(), settings={"huge": TINY})
    with pytest.raises(InputError, match="unknown metric 'top'"):
        lettered(metric="top")
    with pytest.raises(InputError, match="a place is declared twice"):
        Table("paper", "table1", "t", (lettered(), lettered()))


def test_choices_of_other_methods_reach_the_run():
    parts = {
        "server": {"of": "fedlaw", "server_epochs": 3},
        "groups": {"of": "fedcollab", "C": 2.0, "pooled": 2},
        "personal": {"of": "finetune", "steps": 4},
    }
    s = replace(TINY, method="moon", parts=parts, proxy={"per_class": 2})
    method = run_of(s, 5).method
    assert method.name == "MOON + FedLAW + FedCollab + Fine-tune"
    assert method.server.name == "FedLAW" and method.server.step.server_epochs == 3  # type: ignore[attr-defined]
    adapt = method.personal.adapt
    assert adapt is not None and adapt.iterations == 4


def test_settings_reach_the_run():
    s = replace(
        TINY,
        method="fedprox",
        options={"mu": 0.5},
        weigh={"name": "disco", "a": 0.3},
        local={"lr": 0.2, "decay": 0.9, "crop": 2, "iterations": [1, 3]},
        participants=3,
        proxy={"per_class": 2},
        held=0.25,
    )
    run = run_of(s, 5)
    method = run.method
    assert method.weigh == fl.Disco(a=0.3) and method.rule.loss.mu == 0.5  # type: ignore[attr-defined]
    assert method.training.iterations == (1, 3) and method.training.schedule is not None
    # black, as the network sees it, is the darkest there can be
    fill = method.training.augment.fill  # type: ignore[union-attr]
    data = data_of(s)
    assert fill == pytest.approx((-data.mean[0] / data.std[0],))
    assert (run.rounds, run.seed, run.participants, len(run.world)) == (2, 5, 3, 4)
    assert run.world.proxy is not None and len(run.world.proxy[1]) == 20
    assert int(run.world.counts.sum()) == pytest.approx(150, abs=4)


def test_data_are_thinned_resized_and_scaled():
    s = replace(TINY, sample=50, resize=7, normalise=[0.0, 1.0])
    data = data_of(s)
    assert data.x_train.shape == (50, 7, 7) and data.x_test.shape == (100, 7, 7)
    assert np.bincount(data.y_train).tolist() == [5] * 10
    assert (data.mean, data.std) == ((0.0,), (1.0,))
    assert data_of(s) is data  # shared, not drawn again
    whole = data_of(TINY)
    # every kept image is one of the originals, with its own label
    rows = {x.tobytes(): y for x, y in zip(whole.x_train, whole.y_train, strict=True)}
    thin = data_of(replace(TINY, sample=50))
    for x, y in zip(thin.x_train, thin.y_train, strict=True):
        assert rows[x.tobytes()] == y
    with pytest.raises(InputError, match="letters has 200 training samples"):
        data_of(replace(TINY, sample=201))


def test_classes_get_rarer():
    """20 and 10 of each class, times 4 ** (-c / 9) or 2 ** (-c / 9), rounded down."""
    data = data_of(replace(TINY, tail=[4.0, 2.0]))
    train, test = np.bincount(data.y_train), np.bincount(data.y_test)
    assert train.tolist() == [20, 17, 14, 12, 10, 9, 7, 6, 5, 5]
    assert test.tolist() == [10, 9, 8, 7, 7, 6, 6, 5, 5, 5]
    assert len(data.x_train) == train.sum() and len(data.x_test) == test.sum()
    assert len(data_of(replace(TINY, tail=[1.0, 2.0])).y_train) == 200
    with pytest.raises(InputError, match="tail: rho of training and of test"):
        data_of(replace(TINY, tail=[4.0]))


def test_pooled_data_are_divided_anew_and_seeds_differ():
    s = replace(TINY, pooled=True, kind="iid", scenario={"clients": 4, "own_test": 0.2})
    data = data_of(s)
    one, other = (scenario_of(s, data, seed) for seed in (0, 1))
    assert sum(one.train.sizes) == 240 and one.train != other.train
    assert one.test is not None and one.test.sizes.tolist() == [15] * 4


@pytest.mark.parametrize(
    "change, message",
    [
        ({"method": "fedsgd"}, "unknown rule='fedsgd'"),
        (
            {"options": {"mu": 1}},
            "fedavg: got an unexpected keyword argument 'mu'; it takes",
        ),
        ({"weigh": {"name": "age"}}, "unknown weigh='age'"),
        (
            {"weigh": {"name": "equal", "a": 1}},
            "got an unexpected keyword argument 'a'; it takes name, scalars",
        ),
        ({"parts": {"local": {"of": "moon"}}}, "parts: weigh, server, groups, pers"),
        ({"parts": {"groups": {"C": 5}}}, "each of a method, not 'groups'"),
        ({"local": {"speed": 1}}, "local has no speed"),
        ({"scenario": {"clients": 4}}, "dirichlet needs alpha"),
        ({"model": "rnn"}, "unknown model 'rnn'"),
        ({"dataset": "mnits"}, "unknown data set"),
    ],
)
def test_a_bad_setting_is_refused(change, message):
    if "dataset" in change:
        change = change | {"data": {}}
    with pytest.raises(InputError, match=message):
        run_of(replace(TINY, **change), 0)


def test_a_method_is_made_of_plain_options():
    data = data_of(TINY)
    s = replace(TINY, method="fedcollab", options={"C": 3.0, "pooled": 4})
    assert method_of(s, data).groups.name == "fedcollab"
    assert training_of(replace(TINY, local={"cosine": 9}), data).schedule is not None
