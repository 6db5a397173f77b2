"""Every method that is listed: it runs, it is proven, and choices combine."""

import pickle
from dataclasses import replace

import pytest
import torch

import fedlab_core as fl
from fedlab_core import METHODS, Groups, Proxy, World, tree
from fedlab_core.keys import derive_seed
from fedlab_core.methods import named_rule
from fedlab_core.models import initial_state
from fedlab_core.rounds import run
from tests.methods.plainly import LOCAL, judged, played

# Server epochs and steps are few: what is asked here is whether it runs.
BRIEF = {
    "gws": {"server_epochs": 3},
    "attentive": {"server_epochs": 3},
    "fedlaw": {"server_epochs": 3},
    "fedlaw-swa": {"server_epochs": 4},
    "feddf": {"epochs": 3},
    "fedbe": {"epochs": 3},
    "fedcollab": {"rounds": 40, "restarts": 5},
    "fesem": {"k": 2},
    "kmeans": {"k": 2},
}


@pytest.fixture(scope="module")
def furnished(small_data) -> World:
    """Six clients, and a server with three images a class."""
    who = fl.dirichlet(small_data.y_train, 6, 0.5, seed=1)
    make = fl.build("mlp", small_data.shape, 10, hidden=(16,))
    return fl.world(small_data, who, make, proxy=Proxy(3))


@pytest.mark.parametrize("participants, engine", [(None, "stacked"), (3, "looped")])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_runs(furnished, name, participants, engine):
    method = METHODS[name](LOCAL, **BRIEF.get(name, {}))
    history = fl.federate(
        furnished, method, 2, seed=3, participants=participants, engine=engine
    )
    assert not history.diverged and len(history.rows) == 2
    assert all(torch.isfinite(v).all() for v in history.states.values())
    first = initial_state(furnished.make, derive_seed(3, 0xF1257))["head.weight"]
    assert any(not torch.equal(w, first) for w in history.states["head.weight"])
    if method.personal == fl.Personal("nothing"):
        each = [tree.take(history.states, g) for g in history.group_of]
        right = judged(furnished, each)  # by a plain loop, client after client
        assert history.accuracy("last") == pytest.approx(right, abs=1e-6)
    assert not furnished.model.training, "the world is left as it was"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["stacked", "looped"])
def test_training_shows_no_tensor_as_text(furnished, engine, monkeypatch):
    """To write tensors out takes longer than to train on them."""
    written = []
    monkeypatch.setattr(torch.Tensor, "__repr__", lambda x: written.append(x) or "")
    for name in METHODS:
        method = METHODS[name](LOCAL, **BRIEF.get(name, {}))
        fl.federate(furnished, method, 1, participants=3, engine=engine)
        assert not written, name


@pytest.mark.parametrize(
    "name, words",
    [
        ("fedavg", "cross-entropy"),
        ("scaffold", "cross-entropy + correct"),
        ("fedprox", "proximal"),
        ("moon", "contrastive"),
        ("feddc", "drifting"),
    ],
)
def test_a_rule_is_named_by_its_hooks(name, words):
    assert named_rule(METHODS[name]().rule) == words


@pytest.mark.parametrize("name", METHODS)
def test_its_proof_holds_it_against_its_plain_version(name, request):
    """`python -m fedlab_core methods` names the file: a test in it is marked so.

    What the mark promises is watched while that test runs: see `conftest`.
    """
    path = request.config.rootpath / METHODS[name].proof
    module = pytest.Module.from_parent(request.node.parent.parent, path=path)
    tests = request.session.genitems(module)
    marks = (mark for test in tests for mark in test.iter_markers("equals"))
    assert any(name in mark.args for mark in marks)


BASES = ["fedavg", "fedprox", "fednova", "scaffold", "finetune", "per-fedavg", "pfedme"]
BASES += ["ditto"]
PAIRS = Groups.fixed([[0, 1, 2], [3], [4, 5]], "coalitions")


@pytest.mark.parametrize("name", BASES)
def test_coalitions_go_with_every_base_method(furnished, name):
    """FedCollab's Table 2 is a `replace`; the coalitions end in models of their own."""
    method = replace(METHODS[name](LOCAL), groups=PAIRS)
    rounds = played(furnished, method, None, rounds=2)
    after = tree.flatten(rounds[-1].after, True)
    assert len(after) == 3
    gaps = (after[:, None] - after[None]).norm(dim=2)
    assert float(gaps[~torch.eye(3, dtype=torch.bool)].min()) > 1e-3


def test_combinations_no_paper_tried_work(furnished):
    """FedImpro's clients, FedDisco's weights, FedLAW's server, in coalitions."""
    method = replace(
        fl.fedprox(LOCAL), weigh=fl.Disco(), server=fl.gws(server_epochs=3).server
    )
    method = replace(method, groups=PAIRS, name="all at once")
    history = fl.federate(furnished, method, 2, participants=4)
    assert not history.diverged and "gamma.0" in history.rows[-1]
    both = replace(fl.fedimpro(LOCAL), weigh=fl.Disco(), groups=PAIRS)
    assert not fl.federate(furnished, both, 2).diverged


@pytest.mark.parametrize(
    "name, options, taking_part, says",
    [
        ("kmeans", {"k": 7}, None, "7 clusters need 7 clients or more, not 6: use"),
        ("fesem", {"k": 7}, None, "7 clusters need 7 clients or more, not 6: use"),
        ("fesem", {"k": 4}, 3, "4 clusters need 4 clients or more, not 3: use"),
        (
            "feddisco",
            {"target": (0.5, 0.5)},
            None,
            "target must be .*, as classes is 10 here",
        ),
    ],
)
def test_what_cannot_work_in_a_world_is_refused_before_anyone_trains(
    furnished, monkeypatch, name, options, taking_part, says
):
    monkeypatch.setattr(run, "train", None)
    asked = METHODS[name](LOCAL, **options)
    with pytest.raises(fl.InputError, match=says):
        fl.federate(furnished, asked, 2, participants=taking_part)


@pytest.mark.parametrize("name", ["gws", "fedlaw", "feddf", "fedbe", "server-ft"])
def test_without_a_proxy_it_is_refused_before_anyone_trains(
    small_world, monkeypatch, name
):
    monkeypatch.setattr(run, "train", None)
    with pytest.raises(fl.InputError, match="learns on data of the server"):
        fl.federate(small_world, METHODS[name](LOCAL), 2)


@pytest.mark.slow
def test_as_many_clusters_as_there_are_clients(furnished):
    for name, taking_part in (("kmeans", 2), ("fesem", 6)):
        asked = METHODS[name](LOCAL, k=6)
        history = fl.federate(furnished, asked, 1, participants=taking_part)
        assert sorted(history.group_of) == list(range(6))


def test_methods_that_are_made_alike_are_equal_and_others_are_not():
    made = {n: entry.make(LOCAL) for n, entry in METHODS.items()}
    assert made == {n: entry.make(LOCAL) for n, entry in METHODS.items()}
    assert (
        Groups.fixed([[0], [1]]) == Groups.fixed([[0], [1]]) != Groups.fixed([[0, 1]])
    )
    for one, other in (
        (fl.fedcollab(C=1.0), fl.fedcollab(C=2.0)),
        (fl.fesem(k=2), fl.fesem(k=3)),
        (fl.kmeans(k=2, alone=1), fl.kmeans(k=2, alone=2)),
    ):
        assert one != other
    assert len({m.groups for m in made.values()}) == len(
        {m.groups.name for m in made.values()}
    )


# Their hooks are functions that know their options, which Python cannot write down.
CLOSED = {"gws", "attentive", "fedlaw", "fedlaw-swa", "feddf", "fedbe", "server-ft",
          "fesem", "kmeans"}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_pickled_but_for_those_with_closed_hooks(name):
    method = METHODS[name].make(LOCAL)
    if name in CLOSED:
        with pytest.raises((AttributeError, pickle.PicklingError), match="local"):
            pickle.dumps(method)
    else:
        assert pickle.loads(pickle.dumps(method)) == method
