"""The playground's engine in the browser has the core's numbers."""

import json
from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, Page

import fedlab_core as fl
from fedlab_browser.playground import state as can
from fedlab_browser.playground.observers import (
    SEEN,
    counted,
    letters_read,
    own_accuracy,
)
from tests.playground.states import drawn, one_by_one
from tests.site.playing import FOLDER, check_equal, check_near, in_the_core, in_the_page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def engine(browser: Browser, address: str) -> Iterator[Page]:
    """A bare page of the site in which the playground's engine can be asked."""
    page = browser.new_page()
    page.goto(f"{address}/robots.txt")
    page.set_default_timeout(120_000)
    yield page
    page.close()


@pytest.mark.parametrize("state", one_by_one("rule"), ids=can.said)
def test_every_rule_has_the_cores_numbers(engine, state):
    check_equal(engine, state)


@pytest.mark.parametrize(
    "state",
    one_by_one("weigh", "server", "groups", "personal", "split", "pace"),
    ids=can.said,
)
def test_every_other_choice_has_the_cores_numbers(engine, state):
    check_equal(engine, state)


@pytest.mark.parametrize("knob", can.KNOBS)
def test_every_number_reaches_the_page(engine, knob):
    """At its smallest and its largest."""
    ((choice, (name,)),) = can.KNOBS[knob].of.items()
    for stop in (can.KNOBS[knob].stops[0], can.KNOBS[knob].stops[-1]):
        check_equal(engine, {**can.USUAL, choice: name, knob: stop})


@pytest.mark.parametrize("personal", ["finetune", "ditto"])
@pytest.mark.parametrize("rule", can.CHOICES["rule"])
def test_own_models_train_as_their_rule_does(engine, rule, personal):
    """Some rules bring a decay or a bound of their own, own models go by it, too."""
    state = {**can.USUAL, "rule": rule, "personal": personal, "epochs": 1.0}
    if can.refused(state):
        return
    rows = in_the_page(engine, state, 2)["rows"]
    core = in_the_core(state, 2, observe=lambda now: {"own": own_accuracy(now)})
    assert rows[-1]["own"] == pytest.approx(core.rows[-1]["own"], abs=0.003)


@pytest.mark.parametrize("state", drawn(20), ids=can.said)
def test_mixes_have_the_cores_numbers(engine, state):
    check_equal(engine, state)


def test_without_fast_loops_the_numbers_are_the_same(browser, address):
    page = browser.new_page()
    page.goto(f"{address}/robots.txt")
    for state in one_by_one("rule")[:3]:
        check_equal(page, state, fast=False)
    page.close()


def test_the_pictures_show_the_cores_numbers(engine):
    """Everything that the page draws of a round."""
    learnt = "server=fedlaw&split=wrong&groups=two"
    kinds = "split=kinds&clients=8&groups=fedcollab"
    for text in ("alpha=0.1", kinds, "present=0.5", learnt, "pace=steps&weigh=last"):
        state = can.parsed(text)
        rows = in_the_page(engine, state)["rows"]

        def observe(now) -> dict[str, Any]:
            return {n: see(now) for n, see in SEEN.items()} | {
                "read": letters_read(now)
            }

        for mine, core in zip(
            rows, in_the_core(state, observe=observe).rows, strict=True
        ):
            assert mine["own"] == pytest.approx(core["own"], abs=0.003)
            assert mine["letters"] == pytest.approx(core["read"], abs=0.021)
            for name in ("left", "unrelated", "agreement"):
                assert mine["plane"][name] == pytest.approx(core[name], abs=1e-4), name
            assert mine["plane"]["walked"] == pytest.approx(core["walked"], rel=1e-4)
            for name in ("weight", "sum"):
                assert mine[name] == pytest.approx(core[name], rel=1e-3), name


@pytest.mark.parametrize("text", ["split=big", "pace=steps&steps=50", "split=wrong"])
def test_all_in_one_place_is_one_client_that_holds_everything(engine, text):
    """It takes as many steps a round as a client does on average."""
    state = can.parsed(text)
    mine = engine.evaluate(
        """async ([place, state, rounds]) => {
            const { Federation, load } = await import(`${place}/federation.js`);
            const worlds = globalThis.worlds ??= {};
            worlds.true ??= await load({ fast: true });
            const game = await Federation.pooled(worlds.true, state);
            return Array.from({ length: rounds }, () => game.round().accuracy);
        }""",
        [f"/{FOLDER}", state, 4],
    )
    s = can.divided_of(state)
    each = [
        int(state["epochs"]) * ceil(len(ids) / can.BATCH) for ids in s.train.indices
    ]
    steps = (
        int(state["steps"])
        if state["pace"] == "steps"
        else round(sum(each) / len(each))
    )
    together = replace(s.train, indices=(np.concatenate(s.train.indices),))
    world = fl.world(s.data, together, can.world_of(state).make)
    training = fl.Training(lr=0.1, batch_size=can.BATCH, iterations=steps)
    core = fl.federate(world, fl.fedavg(training), 4, progress=False)
    assert mine == pytest.approx([row["accuracy"] for row in core.rows], abs=0.0041)


@pytest.mark.parametrize("text", ["split=wrong", "groups=two&present=0.5&alpha=0.1"])
def test_what_a_server_learns_is_what_the_core_learns(engine, text):
    """Its weights, which are drawn as those that count, and its gamma."""
    state = can.parsed(f"server=fedlaw&{text}")

    def observe(now) -> dict[str, Any]:
        rows = [list(map(float, w)) for w in counted(now)]
        own = {k: rows[now.group_of[k]].pop(0) for k in now.ids}
        groups = sorted({now.group_of[k] for k in now.ids})
        gammas = {g: now.servers[g].metrics["gamma"] for g in groups}
        return {"who": [*own, *gammas], "learnt": [*own.values(), *gammas.values()]}

    def run(nudge: int | None) -> list[list[float]]:
        rows = in_the_core(state, nudge=nudge, observe=observe).rows
        assert [row["who"] for row in rows] == who
        return [row["learnt"] for row in rows]

    who, mine = [], []
    for row in in_the_page(engine, state)["rows"]:
        own = {k: c["weight"] for k, c in enumerate(row["clients"]) if "weight" in c}
        gammas = {found["g"]: found["gamma"] for found in row["learnt"]}
        who.append([*own, *sorted(gammas)])
        mine.append([*own.values(), *(gammas[g] for g in sorted(gammas))])
    check_near(mine, run)


def test_a_server_that_only_averages_has_learnt_nothing(engine):
    (row,) = in_the_page(engine, can.USUAL, 1)["rows"]
    assert row["learnt"] == []


def test_the_exported_rules_say_nothing_twice(site: Path):
    rules = json.loads((site / FOLDER / "data" / "rules.json").read_text())
    texts = [json.dumps(p, sort_keys=True) for p in rules["programs"]]
    assert len(set(texts)) == len(texts) > 50


def test_numbers_that_are_none_are_read_as_pytorch_reads_them(engine):
    """A tie so strong that some clients' models are lost in the first round.

    Which models the rest become is decided by roundings; what is read from a model
    that is lost is not.
    """
    state = can.parsed("rule=pfedme&pfedme.lam=15&lr=0.5&epochs=12")
    (page,), (core,) = in_the_page(engine, state, 1)["rows"], in_the_core(state, 1).rows
    assert core["train_loss"] != core["train_loss"] and not page["finite"]
    world = can.world_of(state)
    read = int(torch.full((10,), torch.nan).argmax())
    lost = {k: c for k, c in enumerate(page["clients"]) if c["loss"] != c["loss"]}
    assert lost
    for k, client in lost.items():
        assert client["accuracy"] == pytest.approx(
            float((world.y_test == read).double().mean())
        )
        own = float(world.counts[k][read] / world.counts[k].sum())
        assert client["own"] == pytest.approx(own)
