"""Observers of a round, and the metrics of what they see, by hand."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import fedlab_core as fl
from fedlab_core.errors import InputError
from fedlab_ledger import Cell, Setting, Store, jobs, play, play_all
from fedlab_ledger.model.lines import Found, check_line
from fedlab_ledger.model.measures import check_metric, column, measure
from fedlab_ledger.model.observers import OBSERVERS, Watching
from fedlab_ledger.run.build import run_of
from fedlab_ledger.run.verify import verify

TINY = Setting(
    "letters",
    "fedavg",
    2,
    "dirichlet",
    {"clients": 4, "alpha": 1.0},
    data={"n_train": 200, "n_test": 100, "noise": 0.2},
    network={"hidden": [8]},
    local={"lr": 0.1, "batch_size": 32},
)


def cell(metric: str, setting: Setting = TINY, row: str = "FedAvg") -> Cell:
    settings = {"tiny": setting}
    more: dict[str, Any] = {"metric": metric, "lacks": "no more is needed here"}
    return Cell("paper", "table1", row, metric, settings, 50.0, **more)


# -- metrics -----------------------------------------------------------------------

SEEN = [4.0, None, 1.0, 2.0, 6.0, 8.0, 3.0, 3.0, 5.0, 9.0]
LINE: dict[str, Any] = {"curve": [0.2, 0.6, None, 0.4], "diverged": None}
LINE |= {"clients": None, "seen": {"model.b": SEEN, "none": [None]}}


def test_measures_of_a_column():
    """As it is, not in %; rounds without a number count as rounds, but in no mean."""
    assert measure("last:model.b", LINE) == 9 and measure("max:model.b", LINE) == 9
    assert measure("min:model.b", LINE) == 1
    assert measure("at-3:model.b", LINE) == 1 and measure("at-11:model.b", LINE) is None
    assert measure("at-2:model.b", LINE) is None
    assert measure("mean-2:model.b", LINE) == 7 and measure("std-2:model.b", LINE) == 2
    assert measure("middle:model.b", LINE) == 7  # rounds 5 and 6 of 10
    assert measure("last:none", LINE) is None
    assert measure("last:model.b", LINE | {"diverged": 3}) is None


def test_the_middle_of_200_rounds_is_90_to_110():
    rounds = {"seen": {"r": [float(t) for t in range(1, 201)]}}
    assert measure("middle:r", LINE | rounds) == 100
    gone = [v if 90 <= v <= 110 else -1e9 for v in rounds["seen"]["r"]]
    assert measure("middle:r", LINE | {"seen": {"r": gone}}) == 100
    for few in (1, 2, 3):
        assert measure("middle:r", LINE | {"seen": {"r": [5.0] * few}}) == 5


def test_measures_of_the_accuracy_of_one_round_and_of_its_steadiness():
    assert measure("at-2", LINE) == 60 and measure("at-9", LINE) is None
    assert measure("std-2", LINE) == pytest.approx(10)  # of 60 and 40
    assert measure("mean-2", LINE) == 50


@pytest.mark.parametrize(
    "metric", ["at", "top:gamma", "to-5:gamma", "mean:gamma", "last-3:gamma", "last:"]
)
def test_a_strange_metric_is_refused(metric):
    with pytest.raises(InputError, match="unknown metric"):
        check_metric(metric)


def test_an_observer_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="no observer 'klasses': classes, "):
        cell("last:klasses.tail")


# -- playing -----------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_seen_is_stored_beside_the_curve_and_read_again(tmp_path):
    law = replace(TINY, method="gws", options={"server_epochs": 2})
    law = replace(law, proxy={"per_class": 2})
    cells = [cell("last:gamma", law), cell("mean-2:model.norm", law), cell("last", law)]
    (job,) = jobs(cells, "tiny", (0, 1), Found())
    store = Store(tmp_path)
    ((_, lines),) = play_all([job], store)
    assert isinstance(lines, list) and len(lines) == 6
    found = store.read()
    alone = fl.run_all([run_of(law, k) for k in (0, 1)], progress=False)
    for seed, h in enumerate(alone):
        gamma, norm, last = (found.of(c.key("tiny"))[seed] for c in cells)
        said = [row["gamma"] for row in h.rows]
        assert gamma["seen"]["gamma"] == pytest.approx(said, rel=1e-4)
        assert gamma["value"] == gamma["seen"]["gamma"][-1]
        assert list(norm["seen"]) == ["model.norm"] and "seen" not in last
        assert norm["value"] == np.mean(norm["seen"]["model.norm"])
    assert verify(cells[1], found.of(cells[1].key("tiny"))[1], "cpu", 0.0).agrees


def test_observing_does_not_change_the_key_of_a_setting():
    """Cells that look at different things of one setting are trained once."""
    both = [cell("last"), cell("last:classes.tail")]
    assert len(jobs(both, "tiny", (0,), Found())) == 1
    assert both[0].key("tiny") != both[1].key("tiny")


def test_a_column_that_no_round_has_is_refused():
    h = fl.run_all([run_of(TINY, 0)], progress=False)[0]
    with pytest.raises(InputError, match="no round of this run has 'gama': it has acc"):
        column(h, "gama")
    with pytest.raises(InputError, match="no round of this run has 'classes.top'"):
        play(jobs([cell("last:classes.top")], "tiny", (0,), Found())[0])
    h.diverged_at = 1  # and its first round may have no number
    assert column(h, "gama") == [None, None]


def test_the_schema_reads_what_is_seen():
    (line,) = play(jobs([cell("last:classes.tail")], "tiny", (0,), Found())[0])
    check_line(line, "here")
    with pytest.raises(InputError, match="here: seen is 3"):
        check_line(line | {"seen": 3}, "here")


# -- observers ---------------------------------------------------------------------

COUNTS = torch.tensor([[8, 0, 0, 0], [0, 6, 2, 0], [0, 0, 0, 4], [4, 2, 0, 2]])


class World(SimpleNamespace):
    def __len__(self) -> int:
        return 4


def round_of(**more) -> Any:
    """A round of 4 clients and 4 classes: only what an observer asks for."""
    network = torch.nn.Linear(2, 1, bias=False)
    world = World(counts=COUNTS, parameters={"weight"}, model=network)
    moves = torch.tensor([[1.0, 0], [0, 2], [-3, 0], [0, 4]])
    usual = {
        "world": world,
        "ids": [0, 1, 2, 3],
        "before": {"weight": torch.zeros(1, 1, 2)},
        "trained": SimpleNamespace(states={"weight": moves[:, None]}),
        "weights": [torch.tensor([0.4, 0.3, 0.2, 0.1])],
        "after": {"weight": torch.tensor([[[3.0, 0.004]]])},
        "scores": SimpleNamespace(per_class=torch.tensor([[0.8, 0.6, 0.4, 0.2]])),
        "servers": [SimpleNamespace(memory={})],
    }
    return SimpleNamespace(**usual | more)


def seen(name: str, **more) -> dict[str, float]:
    return Watching([f"{name}.all"])(round_of(**more))


def test_classes_by_how_frequent_they_are():
    """12, 8, 2, 6 samples: the first two are the head, the rarest the tail."""
    found = seen("classes")
    assert found["classes.head"] == pytest.approx(70)
    assert found["classes.middle"] == pytest.approx(20)
    assert found["classes.tail"] == pytest.approx(40)
    assert found["classes.mean"] == pytest.approx(50)
    assert found["classes.deviation"] == pytest.approx(100 * 0.05**0.5)
    assert seen("classes", scores=None) == {}


def test_clients_by_the_labels_that_they_have():
    """80; 6 of 8 at 60 and 2 at 40; 20; half at 80, a quarter each at 60 and 20."""
    found = seen("clients")
    assert found["clients.worst"] == pytest.approx(20)
    own = [80, 55, 20, 60]
    assert found["clients.variance"] == pytest.approx(np.var(own))


def test_updates_by_halves():
    """Updates to the right, up, to the left, up: cosines 0, -1, 0; 0, 1; 0."""
    found = seen("updates")
    assert found["updates.first"] == pytest.approx(0)
    assert found["updates.all"] == pytest.approx(0)
    other = seen("updates", ids=[1, 3, 0, 2])  # up, left after right, up
    assert other["updates.first"] == pytest.approx(-1)
    assert other["updates.second"] == pytest.approx(1)
    assert set(seen("updates", ids=[1, 2, 3, 3])) == {"updates.all", "updates.second"}


def test_shares_are_the_learnt_ones_where_there_are_any():
    assert seen("shares")["shares.first"] == pytest.approx(0.7)
    learnt = [SimpleNamespace(memory={"lambda": torch.tensor([0.0, 0.0, 0.5, 0.5])})]
    found = seen("shares", servers=learnt)
    assert found["shares.first"] == 0 and found["shares.most"] == 0.5
    # half of class 3, half as the last client has them
    mix, every = np.array([0.25, 0.125, 0, 0.625]), np.array([12, 8, 2, 6])
    like = mix @ every / np.linalg.norm(mix) / np.linalg.norm(every)
    assert found["shares.coherence"] == pytest.approx(like)


def test_the_model_and_how_far_clients_are_from_each_other():
    found = seen("model")
    assert found == pytest.approx({"model.norm": 3.0, "model.small": 50.0}, abs=1e-4)
    # the mean is (-1/2, 3/2)
    away = np.hypot([1.5, 0.5, 2.5, 0.5], [1.5, 0.5, 1.5, 2.5]).mean()
    assert seen("drift")["drift.all"] == pytest.approx(away)


@pytest.mark.parametrize("name", OBSERVERS)
def test_every_observer_sees_numbers_of_a_real_round(name):
    setting = replace(
        TINY, method="rfedavg-plus", scenario={"clients": 3, "alpha": 5.0}
    )
    look = Watching([f"{name}.x"])
    run = run_of(setting, 0, observe=look)
    (h,) = fl.run_all([run], progress=False)
    mine = {n: v for n, v in h.rows[-1].items() if n.startswith(f"{name}.")}
    assert mine and all(isinstance(v, float) for v in mine.values())


# -- probes ------------------------------------------------------------------------


def test_favour_sums_the_weights_of_all_rounds():
    """Two rounds of two clients each; client 3 was never there."""
    look = Watching(["favour.size"])
    first = round_of(ids=[0, 1], weights=[torch.tensor([0.9, 0.1])])
    second = round_of(ids=[0, 2], weights=[torch.tensor([0.7, 0.3])])
    look(first)
    sizes = COUNTS.sum(1).numpy()
    expected = np.corrcoef([1.6, 0.1, 0.3, 0], sizes)[0, 1]
    assert look(second)["favour.size"] == pytest.approx(expected)


def line_world(**more) -> Any:
    """Two classes told apart by the sign of w x; client models are numbers w."""

    class Sign(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(()))

        def forward(self, x):
            return torch.stack([-self.weight * x[:, 0], self.weight * x[:, 0]], 1)

    x = torch.tensor([[1.0], [2.0], [3.0], [-1.0]])
    y = torch.tensor([1, 1, 1, 1])
    counts = torch.tensor([[3, 3], [6, 0], [10, 90]])
    world = World(model=Sign().eval(), x_test=x, y_test=y, counts=counts)
    world.classes, world.parameters = ("a", "b"), {"weight"}
    return round_of(world=world, ids=[0, 1, 2], **more)


def test_the_mixture_of_two_clients_of_like_size():
    """Worse -1 (a quarter right), better 3 (three quarters): right from w > 0 on.

    w = -1 + 4 r is above 0 from r = .3 on in steps of .05, and a tie at .25.
    """
    models = {"weight": torch.tensor([3.0, -1.0, 9.0])}
    now = line_world(trained=SimpleNamespace(states=models))
    found = Watching(["mixture.best"])(now)
    assert found["mixture.best"] == pytest.approx(0.3)
    assert found["mixture.gain"] == 0  # at one half, w = 1 is as good


def test_the_clients_accuracy_beside_size_and_balance():
    models = {"weight": torch.tensor([3.0, -1.0, 9.0])}
    now = line_world(trained=SimpleNamespace(states=models))
    found = Watching(["local.size"])(now)
    right, size = [0.75, 0.25, 0.75], [6, 6, 100]
    assert found["local.size"] == pytest.approx(np.corrcoef(right, size)[0, 1])
    away = [0, np.hypot(0.5, 0.5), np.hypot(0.4, 0.4)]
    expected = -np.corrcoef(right, away)[0, 1]
    assert found["local.balance"] == pytest.approx(expected)


def test_the_triangle_of_three_clients():
    """The loss of w = l0 0 + l1 (-1) + l2 1 falls with w up to some positive w."""
    models = {"weight": torch.tensor([0.0, -1.0, 0.1])}
    weights = [torch.tensor([0.25, 0.5, 0.25])]
    scores = SimpleNamespace(loss=torch.tensor([5.0]))
    now = line_world(
        trained=SimpleNamespace(states=models), weights=weights, scores=scores
    )
    found = Watching(["triangle.away"])(now)
    assert found["triangle.first"] == 0 and found["triangle.away"] == 0.75
    x = np.array([1.0, 2.0, 3.0, -1.0])
    loss = np.log1p(np.exp(-2 * 0.1 * x)).mean()
    assert found["triangle.less"] == pytest.approx(5 - loss, abs=1e-6)
    assert Watching(["triangle.away"])(line_world(scores=None)) == {}


def test_what_shrinking_the_model_costs():
    """At w = 1 the loss still falls, unless all is right: 1.1 is the best factor."""
    now = line_world(after={"weight": torch.tensor([0.1])})
    found = Watching(["shrunk.best"])(now)
    x = np.array([1.0, 2.0, 3.0, -1.0])
    small, one = (np.log1p(np.exp(-2 * w * x)).mean() for w in (0.09, 0.1))
    assert found["shrunk.best"] == pytest.approx(1.1)
    assert found["shrunk.costs"] == pytest.approx(small - one, abs=1e-6)


def test_curvature_is_looked_at_now_and_then():
    look = Watching(["curvature.top"])
    assert look(line_world(number=3)) == {} and look(line_world(number=11)) == {}
