"""Chapter 4's temperature, and what its observers see of a round."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import fedlab_core as fl
from fedlab_book.bench import Bench, Comparison
from fedlab_book.chapters.shrinking import gains, knob, seen, temper
from fedlab_core.methods.fedlaw import shrunk
from tests.figure_cases import drawn, made


def factor(
    alike: float,
    uneven: float,
    first: float = 1.3,
    steps: tuple[float, float] = (0.08, 0.05),
) -> Comparison:
    """Factors of GWS, and its steps; the shrinking is .04."""
    seen: dict[tuple[str, str], dict[str, list]] = {}
    for where, end, step in zip(gains.PLACES, (alike, uneven), steps, strict=True):
        seen[where, "GWS"] = {
            "gamma": [first, end, end],
            "temper": [first**3, end**3, end],
            "step": [0.5, step, step],
            "pull": [0.5, 0.04, 0.04],
            "length": [5.0, 10.0, 10.0],
        }
    return made(seen, last=2)


def test_the_factor_begins_above_one_and_ends_nearer_to_it_in_two_settings():
    paper = {"alike, at the end": [-0.06]}

    def said(
        alike: float,
        uneven: float,
        first: float = 1.3,
        steps: tuple[float, float] = (0.06, 0.05),
        brief: float = 0.97,
        one: float = 0.03,
        far: float = 20.5,
    ):
        found = factor(alike, uneven, first, steps=steps)
        quick = factor(brief, 1.0, steps=(one, 1.0))
        return temper.closer_to_one(found, quick, "GWS", paper, {"r": [far]})

    right = said(0.9, 0.95)
    assert right["holds"] and right["rows"][2].printed == [-0.06]
    by_hand = [-0.03, 0.05, 0.07]
    assert [r.values[0] for r in right["rows"][-3:]] == pytest.approx(by_hand)
    assert right["rows"][0].says == "above" and right["rows"][2].says == "below"
    steps = "0.60 ± 0.00 (alike), 0.50 ± 0.00 (uneven), 0.30 ± 0.00 (one epoch)"
    assert steps in right["note"]
    wrong = (
        said(0.95, 0.9),
        said(1.1, 0.95),
        said(0.9, 1.05),
        said(0.9, 0.95, first=0.98),
        said(0.9, 0.95, steps=(0.09, 0.05)),  # twice the shrinking
        said(0.9, 0.95, steps=(0.05, 0.06)),  # longer where it is nearer to one
        said(0.9, 0.95, brief=0.94),  # its step is the shortest
        said(0.9, 0.95, far=12.0),
        said(0.9, 0.95, brief=0.9),
        said(0.9, 0.95, brief=1.01),
        said(0.9, 0.95, one=0.01),  # a quarter of the shrinking
    )
    assert not any(planted["holds"] for planted in wrong)


def test_a_temperature_is_compared_by_its_root():
    found = factor(0.9, 0.9)
    off = 0.9 ** (1 / 3) - 0.9  # of every third round; the others are cubes
    assert temper.apart(found, "GWS", 3) == pytest.approx(off / 3)
    alt = drawn(temper.learned(found, "GWS", 3, 1.308))
    assert "alike: 1.30 in round 1, 0.900 at the end" in alt and "reach 1.31" in alt


def test_the_temperature_is_the_best_factor_for_the_outputs():
    bench = Bench(samples=300, tests=60, sizes={"hidden": [8]}, proxy=fl.Proxy(3))
    world = bench.place("dirichlet", clients=4, alpha=1.0)(7)
    came = knob.arrived(world, fl.fedavg(fl.Training(lr=0.2, epochs=3)), 3, 7)
    state = {n: v[None] for n, v in came["begin"].items()}
    server = SimpleNamespace(metrics={"gamma": torch.tensor(1.0)})
    now: Any = SimpleNamespace(world=world, servers=[server], after=state)
    best = seen.temperature(now)["temper"]
    assert world.proxy is not None
    x, y = world.proxy
    out = torch.func.functional_call(world.model, came["begin"], (x,))
    losses = {
        s: float(F.cross_entropy(s * out, y)) for s in (best / 1.1, best, 1.1 * best)
    }
    assert min(losses, key=lambda s: losses[s]) == best
    server.metrics = {}
    assert np.isnan(seen.temperature(now)["temper"])


@pytest.mark.slow
def test_the_two_terms_of_a_round_and_its_moment_are_seen():
    bench = Bench(samples=300, tests=60, sizes={"hidden": [8]})
    world = bench.place("dirichlet", clients=4, alpha=1.0)(7)
    train = fl.Training(lr=0.2, epochs=2)

    def look(now: Any) -> dict:
        return seen.learned(now) | seen.shrunk(now)

    for method, gamma in ((fl.fedavg(train), 1.0), (shrunk(train, gamma=0.5), 0.5)):
        how: dict[str, Any] = {"seed": 7, "observe": look, "progress": False}
        history = fl.federate(world, method, 5, **how)
        row, came = history.rows[-1], knob.arrived(world, method, 5, 7)
        assert all("at_once" not in earlier for earlier in history.rows[:-1])
        model = {n: v[0] for n, v in history.states.items()}
        plain = {n: v / gamma for n, v in model.items()}
        before = torch.cat([v.flatten() for v in came["begin"].values()])
        step = gamma * (torch.cat([v.flatten() for v in plain.values()]) - before)
        length = float(before.norm())
        assert row["step"] == pytest.approx(float(step.norm()) / length, rel=1e-3)
        mean = torch.cat([v.flatten() for v in plain.values()])
        assert row["longer"] == pytest.approx(float(mean.norm()) - length, abs=1e-4)
        assert row["pull"] == pytest.approx(1 - gamma)
        assert row["known"] == pytest.approx(seen.right(world, model, world.x, world.y))
        assert row["length"] == pytest.approx(length)
        own, whole = (
            torch.func.functional_call(world.model, w, (world.x_test,)).argmax(1)
            for w in (model, plain)
        )
        out = torch.func.functional_call(world.model, model, (world.x_test,))
        bars = (out - out.logsumexp(1, keepdim=True)).exp()
        assert row["sure"] == pytest.approx(float(bars.max(1).values.mean()), rel=1e-4)
        more = float((own == world.y_test).sum() - (whole == world.y_test).sum())
        if gamma != 1:
            assert row["at_once"] == pytest.approx(100 * more / 60, abs=1e-4)
