"""Old names work for one more version, and say what they are called now."""

import warnings

import pytest
import torch

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
