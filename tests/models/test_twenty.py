"""Twenty networks under five methods and two engines, beside plain loops of PyTorch."""

import csv
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import fedlab_core as fl
from fedlab_book.networks import ODD, USUAL
from fedlab_core.errors import InputError
from tests.methods.plainly import LOCAL, Setting, played, setting
from tests.reference import fedavg, feddisco, moon, rfedavg, scaffold

ROUNDS, MOST = 2, 1e-5
TABLE = Path(__file__).parents[2] / "results" / "networks.csv"
METHODS: dict[str, tuple[Callable, Callable]] = {
    "fedavg": (fl.fedavg, lambda s: fedavg_of(s, s.by_size)),
    "scaffold": (fl.scaffold, lambda s: scaffold_of(s)),
    "moon": (lambda how: fl.moon(how, mu=2.0), lambda s: moon_of(s)),
    "feddisco": (
        lambda how: fl.feddisco(how, a=0.4, b=0.15),
        lambda s: fedavg_of(s, feddisco.disco_weights(s.clients, 10, 0.4, 0.15)),
    ),
    "rfedavg-plus": (
        lambda how: fl.rfedavg_plus(how, lam=0.1),
        lambda s: rfedavg_plus_of(s),
    ),
}


def fedavg_of(s: Setting, weights):
    return fedavg.run(*s.start, *s.sgd, weights)


def scaffold_of(s: Setting):
    return scaffold.run(*s.start, *s.sgd, s.equal)


def moon_of(s: Setting):
    return moon.run(*s.start, *s.sgd, s.by_size, 2.0)


def rfedavg_plus_of(s: Setting):
    return rfedavg.run_plus(*s.start, *s.sgd, s.equal, 0.1)


@pytest.fixture(scope="module")
def letters() -> fl.Dataset:
    return fl.load("letters", n_train=160, n_test=40)


@cache
def split(letters: fl.Dataset) -> fl.Partition:
    return fl.dirichlet(letters.y_train, 4, 0.5, seed=2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:There is a performance drop")  # of attention
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", USUAL)
def test_a_usual_network_is_trained_as_a_plain_loop_would(letters, name, method):
    assert furthest(letters, name, method) < MOST


def furthest(letters: fl.Dataset, name: str, method: str) -> float:
    """How far the furthest number is from the plain loop's, under either engine."""
    ours, plain = METHODS[method]
    w = fl.world(letters, split(letters), USUAL[name])
    theirs = plain(setting(w, LOCAL, None, ROUNDS))
    far: list[float] = []
    for engine in ("stacked", "looped"):
        rounds = played(w, ours(LOCAL), None, engine, ROUNDS)
        for mine, their in zip(rounds, theirs, strict=True):
            want = their if isinstance(their, dict) else their.model
            far += [float((mine.after[n][0] - v).abs().max()) for n, v in want.items()]
    assert max(far) > 0, "nothing was compared"
    return max(far)


@pytest.mark.parametrize("name", ODD)
def test_an_odd_network_is_refused_in_one_line(letters, name):
    """By the world, so for every method and engine."""
    with pytest.raises(InputError) as refused:
        fl.world(letters, split(letters), ODD[name])
    assert "\n" not in str(refused.value)


def test_the_books_table_is_of_these_networks_and_methods():
    """“Your own model” shows what `python -m tests.models.test_twenty` writes."""
    header, *rows = csv.reader(TABLE.read_text().splitlines())
    assert header == ["network", *METHODS]
    assert [row[0] for row in rows] == [*USUAL]
    assert all(0 < float(v) < MOST for row in rows for v in row[1:])


if __name__ == "__main__":
    data = fl.load("letters", n_train=160, n_test=40)
    with TABLE.open("w", newline="") as file:
        to = csv.writer(file, lineterminator="\n")
        to.writerow(["network", *METHODS])
        for one in USUAL:
            to.writerow([one, *(f"{furthest(data, one, m):.0e}" for m in METHODS)])
            file.flush()
