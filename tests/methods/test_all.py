"""Every method that is listed: it runs, it is proven, and choices combine."""

from dataclasses import replace

import pytest
import torch

import fedlab_core as fl
from fedlab_core import METHODS, Groups, Proxy, World, tree
from fedlab_core.methods import named_rule
from tests.methods.plainly import LOCAL, played

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
    assert 0 <= history.accuracy() <= 1
    assert all(torch.isfinite(v).all() for v in history.states.values())
    assert named_rule(method.rule)
    assert not furnished.model.training, "the world is left as it was"


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_plain_version_to_equal(name, request):
    entry = METHODS[name]
    proof = request.config.rootpath / entry.proof
    text = proof.read_text()
    assert "tests.reference" in text, "it is held against a plain version"
    made = entry.make.func if hasattr(entry.make, "func") else entry.make
    assert made.__name__ in text, "this method is"


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
