"""Cells, keys, measures and playing: what determines a number, and what comes out."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedlab_core as fl
from fedlab_core.errors import InputError
from fedlab_ledger import (
    Cell,
    Setting,
    Store,
    Table,
    again,
    jobs,
    play,
    play_all,
    player,
)
from fedlab_ledger import cells as cells_of
from fedlab_ledger.again import verify
from fedlab_ledger.build import data_of, method_of, run_of, scenario_of, training_of
from fedlab_ledger.cells import canonical, digest
from fedlab_ledger.lines import Found, check_line
from fedlab_ledger.measures import measure

LETTERS = {"n_train": 200, "n_test": 100, "noise": 0.2}
TINY = Setting(
    "letters",
    "fedavg",
    2,
    "dirichlet",
    {"clients": 4, "alpha": 1.0},
    data=LETTERS,
    network={"hidden": [8]},
    local={"lr": 0.1, "batch_size": 32},
)


def cell(setting: Setting = TINY, row="FedAvg", column="letters", **more) -> Cell:
    about: dict[str, Any] = {"lacks": "no more is needed here"} | more
    return Cell("paper", "table1", row, column, {"tiny": setting}, 50.0, **about)


# -- keys --------------------------------------------------------------------------


def test_a_key_stays_what_it_is():
    """Results are found by it: a change here loses every stored one."""
    assert Setting("letters", "fedavg", 2).key == "7375bec63548271c"
    assert cell().key("tiny") == "99ee6cde9ec4b5af"


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
    key = cell().key("tiny")
    same = {"row": "B", "column": "c", "where": "p. 7", "reading": "r", "unit": "x"}
    for name, value in (same | {"tolerance": 2.0, "paper_value": 1.0}).items():
        assert replace(cell(), **{name: value}).key("tiny") == key, name
    assert cell(metric="last").key("tiny") != key
    against = {"tiny": TINY}
    paired = cell(metric="ipr", against=against)
    assert paired.key("tiny") != cell(metric="ipr").key("tiny")


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
        cell(lacks="")
    with pytest.raises(InputError, match="unknown scale huge"):
        replace(cell(), settings={"huge": TINY})
    with pytest.raises(InputError, match="unknown metric 'top'"):
        cell(metric="top")
    with pytest.raises(InputError, match="a place is declared twice"):
        Table("paper", "table1", "t", (cell(), cell()))


# -- from plain data to a run ------------------------------------------------------


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


# -- measures ----------------------------------------------------------------------

CURVE = {"curve": [0.2, 0.6, 0.5, None, 0.4], "diverged": None, "clients": None}


def test_measures_of_a_curve():
    """By hand: the round without a test counts in no mean, but as a round."""
    assert measure("best", CURVE) == 60 and measure("last", CURVE) == 40
    assert measure("acc", CURVE) == 0.4
    assert measure("mean-2", CURVE) == 45 and measure("mean-9", CURVE) == 42.5
    assert measure("to-50", CURVE) == 2 and measure("to-61", CURVE) is None
    assert measure("to-20", CURVE) == 1


def test_a_diverged_run_has_no_number():
    assert measure("best", CURVE | {"diverged": 5}) is None
    assert measure("best", CURVE | {"curve": []}) is None


def test_gains_are_paired_client_by_client():
    """Gains .1, 0, -.1, .4: one half gains; mean .1, deviation sqrt(.14 / 4)."""
    mine = CURVE | {"clients": [0.6, 0.5, 0.4, 0.9]}
    theirs = CURVE | {"clients": [0.5, 0.5, 0.5, 0.5]}
    assert measure("ipr", mine, theirs) == 0.5
    assert measure("rsd", mine, theirs) == pytest.approx(math.sqrt(0.035), abs=1e-6)
    with pytest.raises(InputError, match="ipr compares two runs"):
        measure("ipr", mine)


# -- playing -----------------------------------------------------------------------


def test_a_line_says_what_the_run_alone_would_have_said():
    (job,) = jobs([cell()], "tiny", (0, 1), Found())
    lines = play(job)
    for line, seed in zip(lines, (0, 1), strict=True):
        check_line(line, "here")
        alone = fl.run_all([run_of(TINY, seed)], progress=False)[0]
        accuracy = [row["accuracy"] for row in alone.rows]
        assert line["curve"] == pytest.approx(accuracy, abs=0.011)  # one image
        assert line["value"] == pytest.approx(100 * max(line["curve"]))
        assert line["steps"] == sum(row["steps"] for row in alone.rows)
        assert line["bytes"] == alone.rows[-1]["bytes"] and line["together"] == [0, 1]
        assert line["seed"] == seed and line["scale"] == "tiny"


def test_a_line_says_who_trained_with_whom_if_not_everyone_with_everyone():
    together, apart = cell(), cell(replace(TINY, method="local"), row="local")
    lines = [play(job)[0] for job in jobs([together, apart], "tiny", (0,), Found())]
    assert "homes" not in lines[0]
    assert check_line(lines[1], "here")["homes"] == [0, 1, 2, 3]


def test_cells_of_one_setting_are_played_once(tmp_path):
    """Two metrics of one run, and the same cell under another name."""
    twins = [cell(), cell(row="again"), cell(column="last", metric="last")]
    (job,) = jobs(twins, "tiny", (0,), Found())
    assert len(job.cells) == 2 and job.rounds == 2
    store = Store(tmp_path)
    list(play_all([job], store))
    found = store.read()
    assert not found.notes
    assert jobs(twins, "tiny", (0,), found) == []
    assert [j.seeds for j in jobs(twins, "tiny", (0, 3), found)] == [(3,)]


def test_what_waited_longest_comes_first(tmp_path):
    old, new, never = (cell(replace(TINY, rounds=r), row=str(r)) for r in (1, 2, 3))
    store = Store(tmp_path)
    for one, date in ((new, "2026-02-01"), (old, "2026-01-01")):
        (line,) = play(jobs([one], "tiny", (0,), Found())[0])
        store.append([line | {"date": date}])
    order = jobs([new, old, never], "tiny", (0, 1), store.read())
    assert [j.cells[0].row for j in order] == ["3", "1", "2"]


def test_a_budget_begins_nothing_that_would_outlast_it(tmp_path):
    """At 10 s a job, of four only two end within 25 s."""
    several = [cell(replace(TINY, rounds=1, data=LETTERS | {"seed": k}), str(k))
               for k in range(4)]  # fmt: skip
    waiting = jobs(several, "tiny", (0,), Found())
    times = iter([0.0, 0.0, 10.0, 20.0])  # read once, then before each job
    store, clock = Store(tmp_path), lambda: next(times)
    done = list(play_all(waiting, store, budget=25, clock=clock))
    assert len(done) == 2


def test_missing_data_are_refused_and_the_next_cell_is_played(tmp_path):
    bad = cell(replace(TINY, local={"lr": -1.0}), row="bad")
    ticks = []
    waiting = jobs([bad, cell()], "tiny", (0,), Found())
    said = list(play_all(waiting, Store(tmp_path), tick=lambda: ticks.append(1)))
    assert isinstance(said[0][1], str) and "lr must be" in said[0][1]
    assert isinstance(said[1][1], list) and len(ticks) == 2


def test_a_diverged_run_is_a_line_without_a_number(tmp_path):
    wild = cell(replace(TINY, local={"lr": 1e30}, rounds=5))
    store = Store(tmp_path)
    ((_, lines),) = play_all(jobs([wild], "tiny", (0,), Found()), store)
    (line,) = lines
    assert isinstance(line, dict) and line["diverged"] and line["value"] is None
    assert "NaN" not in store.files()[0].read_text()


def test_a_paired_metric_is_of_two_runs():
    world = {"kind": "iid", "scenario": {"clients": 4, "own_test": 0.2}}
    pair = [replace(TINY, method=m, **world) for m in ("fedavg", "local")]
    both = cell(pair[0], metric="ipr", against={"tiny": pair[1]}, unit="share")
    (line,) = play(jobs([both], "tiny", (0,), Found())[0])
    mine, local = (run_of(s, 0) for s in pair)
    ends = [h.clients for h in fl.run_all([mine, local], progress=False)]
    assert ends[0] is not None and ends[1] is not None
    assert line["value"] == pytest.approx((ends[0] > ends[1]).mean())


def test_a_run_that_several_cells_compare_with_is_trained_once(tmp_path, monkeypatch):
    world = {"kind": "iid", "scenario": {"clients": 4, "own_test": 0.2}}
    pair = [replace(TINY, method=m, **world) for m in ("fedavg", "local")]
    alone = cell(pair[1], row="Local", metric="acc")
    paired = {"metric": "ipr", "against": {"tiny": pair[1]}}
    cells = [alone, cell(pair[0], metric="acc"), cell(pair[0], row="gain", **paired)]
    waiting, trained, ticks = jobs(cells, "tiny", (0, 1), Found()), [], []
    assert len(waiting) == 3

    def counted(runs, **more):
        trained.append([r.method.name for r in runs])
        return fl.run_all(runs, **more)

    monkeypatch.setattr(player, "run_all", counted)
    played = play_all(waiting, Store(tmp_path), tick=lambda: ticks.append(1))
    lines = [line for _, found in played for line in found]
    assert trained == [["Local", "Local"], ["FedAvg", "FedAvg"]]
    assert len(ticks) == sum(job.rounds for job in waiting)  # the bar gets to its end
    # what is beside it changes no bit of a line
    (other, _) = play(waiting[2])
    assert isinstance(other, dict) and isinstance(lines[-2], dict)
    same = ("value", "curve", "clients", "key", "seed", "metrics")
    assert [other[n] for n in same] == [lines[-2][n] for n in same]


def test_verify_plays_a_line_again_and_finds_a_wrong_one():
    (line, _) = play(jobs([cell()], "tiny", (0, 1), Found())[0])
    assert verify(cell(), line, "cpu", 0.5).agrees
    wrong = line | {"value": line["value"] + 0.4}
    check = verify(cell(), wrong, "cpu", 0.5)
    assert check.exact and not check.agrees and "DIFFERS" in check.text
    curve = [v + 0.004 for v in line["curve"]]
    elsewhere = wrong | {"device": "another", "curve": curve, "metrics": {}}
    assert verify(cell(), elsewhere, "cpu", 0.5).agrees
    assert verify(cell(), elsewhere, "cpu", 0.3).differs == ("value",)


STORED = {
    "value": 1.0,
    "curve": [0.5, 0.5],
    "clients": [0.1, 0.2, 0.3, 0.4],
    "steps": 7,
    "bytes": 7,
    "homes": [0, 1, 0, 1],
    "diverged": 2,
}


@pytest.mark.parametrize("name", [*STORED, "metrics", "seen"])
def test_verify_compares_everything_that_is_stored(name, verified):
    """Whatever was edited by hand is named."""
    line, again = verified
    if name in STORED:
        edited, said = line | {name: STORED[name]}, {name}
    else:
        more = {"metrics": ("train_loss", 0.25), "seen": ("drift.all", [1.0, 2.0])}
        at, value = more[name]
        edited = line | {name: line.get(name, {}) | {at: value}}
        said = {f"{name}.{at}"}
    check = again(edited)
    assert check.exact and set(check.differs) == said
    assert check.text.endswith(": " + ", ".join(said))
    # on another machine, what contradicts the line itself, or no machine changes
    check = again(edited | {"device": "another"})
    seen = {"value", "curve", "clients", "steps", "diverged"}
    assert bool(check.differs) == (name in seen), check.text


@pytest.fixture
def verified(monkeypatch):
    """A line, and what verifying an edited one says, played once for all."""
    lines = play(jobs([cell()], "tiny", (0, 1), Found())[0])
    monkeypatch.setattr(again, "play", lambda job, device: lines)
    return lines[0], lambda edited: verify(cell(), edited, "cpu", 0.5)


def test_a_method_is_made_of_plain_options():
    data = data_of(TINY)
    s = replace(TINY, method="fedcollab", options={"C": 3.0, "pooled": 4})
    assert method_of(s, data).groups.name == "fedcollab"
    assert training_of(replace(TINY, local={"cosine": 9}), data).schedule is not None
