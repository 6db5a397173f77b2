"""Old names work for one more version, and say what they are called now."""

import warnings

import pytest
import torch

import fedlab_core as fl
from fedlab_core import tree

OLD = {
    "leaves": "with_grad",
    "slopes": "gradient",
    "named": "subtree",
    "prefixed": "nest",
    "adjacent": "as_slice",
}


@pytest.mark.parametrize("old, new", OLD.items())
def test_the_trees_functions(old, new):
    with pytest.warns(DeprecationWarning, match=f"tree.{old} is called {new} now"):
        assert getattr(tree, old) is getattr(tree, new)


def test_a_name_that_never_was_is_still_an_error():
    with pytest.raises(AttributeError, match="no attribute 'branches'"):
        _ = tree.branches  # type: ignore[attr-defined]


def test_new_names_are_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tree.count(tree.subtree({"a.b": torch.zeros(2)}, "a")) == 2


def test_what_was_local_is_training():
    with pytest.warns(DeprecationWarning, match="Local is called Training now"):
        assert fl.Local is fl.Training
    with pytest.warns(DeprecationWarning, match="Method.local is called training now"):
        assert fl.fedavg(fl.Training(lr=0.3)).local.lr == 0.3  # type: ignore[attr-defined]


def test_what_records_held_by_other_names():
    history = fl.History("FedAvg", 0, group_of=[0, 1])
    with pytest.warns(DeprecationWarning, match="History.homes is called group_of now"):
        assert history.homes == [0, 1]  # type: ignore[attr-defined]
    state = fl.ServerState({}, memory={"v": torch.ones(1)}, metrics={"r": 2.0})
    with pytest.warns(DeprecationWarning, match="ServerState.state is called memory"):
        assert state.state is state.memory  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match="ServerState.said is called metrics"):
        assert state.said == {"r": 2.0}  # type: ignore[attr-defined]
    given = fl.ClientInput({}, state={"h": torch.ones(1)})
    with pytest.warns(DeprecationWarning, match="ClientInput.memory is called state"):
        assert given.memory is given.state  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match="ClientInput.sent is called broadcast"):
        assert given.sent is given.broadcast  # type: ignore[attr-defined]
