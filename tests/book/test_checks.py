"""Each check takes a right answer, names two usual mistakes, and waits for a blank."""

import re
import subprocess
import sys

import numpy as np
import pytest
import torch

from fedlab_book.checks import _SPECS, check
from tests.answers import field, papers, rfedavg


def dirichlet_split(labels, clients, alpha, rng):
    held = [[] for _ in range(clients)]
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        shares = rng.dirichlet([alpha] * clients)
        cuts = (np.cumsum(shares)[:-1] * len(members)).astype(int)
        for k, part in enumerate(np.split(members, cuts)):
            held[k].append(part)
    return [np.concatenate(parts) for parts in held]


def split_losing_samples(labels, clients, alpha, rng):
    return [part[:-1] for part in dirichlet_split(labels, clients, alpha, rng)]


def split_ignoring_alpha(labels, clients, alpha, rng):
    return dirichlet_split(labels, clients, 1e6, rng)


def split_always_skewed(labels, clients, alpha, rng):
    return dirichlet_split(labels, clients, 0.05, rng)


def split_ignoring_rng(labels, clients, alpha, rng):
    return dirichlet_split(labels, clients, alpha, np.random.default_rng())


def split_fixed_seed(labels, clients, alpha, rng):
    return dirichlet_split(labels, clients, alpha, np.random.default_rng(3))


def split_by_size(labels, clients, alpha, rng):
    shares = rng.dirichlet([alpha] * clients)
    cuts = (np.cumsum(shares)[:-1] * len(labels)).astype(int)
    return np.split(rng.permutation(len(labels)), cuts)


def nearest_power(sizes, weights):
    powers = np.linspace(-2, 2, 401)
    raised = sizes ** powers[:, None]
    shares = raised / raised.sum(1, keepdims=True)
    return powers[((shares - weights) ** 2).sum(1).argmin()]


def power_undivided(sizes, weights):
    powers = np.linspace(-2, 2, 401)
    return powers[((sizes ** powers[:, None] - weights) ** 2).sum(1).argmin()]


def slope_of_logarithms(sizes, weights):
    return np.polyfit(np.log(sizes), np.log(np.maximum(weights, 1e-9)), 1)[0]


RIGHT = {"1.3": dirichlet_split, "2.3": nearest_power}
WRONG = [
    ("1.3", split_losing_samples, "5 held by nobody, 0 shared"),
    ("1.3", split_ignoring_alpha, "one client should hold most of a class"),
    ("1.3", split_always_skewed, "should hold about 1/5 of each class"),
    ("1.3", split_ignoring_rng, "the same seed gave two splits"),
    ("1.3", split_fixed_seed, "seeds 3 and 4 gave the same split"),
    ("1.3", split_by_size, "draw anew for each class"),
    ("1.3", lambda *given: [[0, 1]], "one index array per client"),
    ("1.3", lambda *given: [[0.5]] * 5, "whole numbers"),
    ("1.3", lambda *given: [[5000]] * 5, "not a position in labels"),
    ("2.3", power_undivided, "divide the powers by their sum first"),
    ("2.3", slope_of_logarithms, "where no power fits, the squares decide"),
    ("2.3", lambda m, p: -nearest_power(m, p), "the sign the wrong way round"),
    ("2.3", lambda m, p: m / m.sum(), "the numbers differ"),
]


def still_blank(*given):
    return ...


def still_empty(*given): ...


def half_blank(*given):
    total = ...
    return [1 / total for _ in range(3)]  # pyright: ignore[reportOperatorIssue]


def blank_inside(*given):
    return 0.5, ...


for _chapter in (field, papers, rfedavg):
    RIGHT |= _chapter.RIGHT
    WRONG += _chapter.WRONG


def test_all_exercises_are_covered():
    assert RIGHT.keys() == _SPECS.keys()
    for name in RIGHT:
        assert sum(name == wrong for wrong, *_ in WRONG) >= 2


@pytest.mark.parametrize("name", RIGHT)
def test_right(name, capsys):
    assert check(name, RIGHT[name]) is None
    assert re.fullmatch(rf"{name} ✓ [^\n]{{30,88}}\n", capsys.readouterr().out)


@pytest.mark.parametrize(("name", "answer", "hint"), WRONG)
def test_wrong(name, answer, hint):
    with pytest.raises(AssertionError, match=re.escape(hint)) as caught:
        check(name, answer)
    message = str(caught.value)
    assert message.startswith(f"{name} — not yet: ")
    assert "\n  case      " in message


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize(
    "answer", [..., still_blank, still_empty, half_blank, blank_inside]
)
def test_not_attempted(name, answer, capsys):
    check(name, answer)
    out = capsys.readouterr().out
    assert out.startswith(f"{name} — not tried yet: ")
    assert out.endswith("replace the … and run this cell again\n")


def test_blank_entries_of_a_dict(capsys):
    check("1.3", lambda *given: dict.fromkeys("ab", ...))
    assert "not tried yet" in capsys.readouterr().out


def test_a_wrong_answer_shows_case_got_and_expected():
    expected = (
        "4.2 — not yet: the numbers differ\n"
        "  case      first(100, 100, 0.2)\n"
        "  got       100\n"
        "  expected  3.41421"
    )

    def first(m1, m2, D):
        return m1

    with pytest.raises(AssertionError, match=f"^{re.escape(expected)}$"):
        check("4.2", first)


def test_an_answer_that_stops_keeps_its_own_error():
    def broken(sizes, weights):
        return sizes.total()

    with pytest.raises(
        AssertionError, match="it stopped with AttributeError"
    ) as caught:
        check("2.3", broken)
    assert isinstance(caught.value.__cause__, AttributeError)


def test_a_long_result_is_cut():
    with pytest.raises(AssertionError) as caught:
        check("2.3", lambda sizes, weights: list(range(1000)))
    assert len(str(caught.value)) < 600


def test_a_result_in_place_of_the_function():
    with pytest.raises(AssertionError, match="without calling it"):
        check("2.3", 0.2424)


def test_unknown_name():
    with pytest.raises(ValueError, match="no exercise '9.9'; known are 1.3, 2.3, 3.3"):
        check("9.9", ...)


def test_tensors_are_fine():
    check("2.3", lambda m, p: torch.tensor(nearest_power(m, p)))


@pytest.mark.slow
def test_independent_of_the_core():
    code = "import sys, fedlab_book.checks; sys.exit('fedlab_core' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
