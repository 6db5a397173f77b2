"""Divergence in all and by layer: by hand, and by Pythagoras."""

import pytest
import torch

from fedlab_core.errors import InputError
from fedlab_use import analysis


def two_clients():
    """They differ by (6, 8) in one weight, 2 in one bias, and not in the head."""
    return {
        "features.0.weight": torch.tensor([[6.0, 8.0], [0.0, 0.0]]),
        "features.0.bias": torch.tensor([[1.0], [-1.0]]),
        "features.3.weight": torch.tensor([[0.0], [4.0]]),
        "head.weight": torch.tensor([[7.0], [7.0]]),
    }


def test_each_grouping_by_hand():
    """Each is half the difference from the mean: 5, 1, 2 and 0."""
    got = analysis.layer_divergence(two_clients(), by="tensor")
    assert list(got.values()) == [5, 1, 2, 0]
    got = analysis.layer_divergence(two_clients())
    assert got == {
        "features.0": pytest.approx(26**0.5), "features.3": 2, "head": 0,
    }  # fmt: skip
    got = analysis.layer_divergence(two_clients(), by="part")
    assert got == {"features": pytest.approx(30**0.5), "head": 0}
    assert analysis.mean_divergence(two_clients()) == pytest.approx(30**0.5)


def test_another_centre():
    """From the second client: distances (10, 0), (2, 0), (4, 0), (0, 0), halved."""
    states = two_clients()
    centre = {n: v[1] for n, v in states.items()}
    got = analysis.layer_divergence(states, centre, by="tensor")
    assert list(got.values()) == [5, 1, 2, 0]
    whole = (100 + 4 + 16) ** 0.5
    assert analysis.mean_divergence(states, centre) == pytest.approx(whole / 2)
    assert analysis.divergence(states, centre).tolist() == pytest.approx([whole, 0])


def test_parameters_at_the_root_are_layers_of_their_own():
    states = {"w": torch.tensor([[0.0], [2.0]]), "b": torch.tensor([0.0, 4.0])}
    assert analysis.layer_divergence(states) == {"w": 1, "b": 2}


def test_an_unknown_grouping_is_refused():
    with pytest.raises(InputError, match="by must be tensor, layer or part"):
        analysis.layer_divergence(two_clients(), by="block")  # type: ignore[arg-type]
