"""A state of the playground, played in the page's engine and in the core."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from playwright.sync_api import Page

import fedlab_core as fl
from fedlab_browser.playground import state as can

PLACE = "book/playground.html"
FOLDER = "_static/playground"
ROUNDS = 5
CLOSE = 1e-5
NUDGES, NUDGE = 12, 5e-7  # runs of the core on images that are rounded otherwise
LETTER = 0.0021  # of 500 letters one that is read otherwise
# Rounds of a state in the page's engine, with the first models and the last.
_PLAY = """async ([place, state, rounds, fast]) => {
    const { Federation, load } = await import(`${place}/federation.js`);
    const worlds = globalThis.worlds ??= {};
    worlds[fast] ??= await load({ fast });
    const game = await Federation.begin(worlds[fast], state);
    const rows = [], from = performance.now();
    while (rows.length < rounds) rows.push(game.round());
    const numbers = (model) => Object.entries(model).map(([n, v]) => [n, [...v]]);
    return {
        rows, seconds: (performance.now() - from) / 1000,
        models: game.model.map((model) => Object.fromEntries(numbers(model))),
    };
}"""


def in_the_page(engine: Page, state: can.State, rounds: int = ROUNDS, fast=True) -> Any:
    return engine.evaluate(_PLAY, [f"/{FOLDER}", state, rounds, fast])


def in_the_core(
    state: can.State, rounds: int = ROUNDS, nudge: int | None = None, **how: Any
) -> fl.History:
    """The state's run; nudged, every pixel is off by a few roundings of a float32."""
    world = can.world_of(state)
    if nudge is not None:
        drawn_ = torch.Generator().manual_seed(nudge)
        by = NUDGE * torch.randn(world.x.shape, generator=drawn_)
        world = replace(world, x=world.x * (1 + by))
    return fl.federate(
        world,
        can.method_of(state, can.group_of(state)),
        rounds,
        seed=int(state["seed"]),
        participants=can.present(state),
        progress=False,
        **how,
    )


def apart(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> float:
    """How far two models are from each other, as a part of the second's length."""
    return max(
        float((a[n] - v).norm() / v.norm().clamp(min=1e-9)) for n, v in b.items()
    )


def models_of(played: Any, like: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The page's models, stacked as the core's are."""
    rows = {n: [torch.tensor(m[n]) for m in played["models"]] for n in like}
    return {n: torch.stack(rows[n]).view_as(v) for n, v in like.items()}


def off(a: Sequence[Any], b: Sequence[Any]) -> float:
    """How far two runs' accuracies are from each other, where most."""
    pairs = zip(a, b, strict=True)
    return max(abs(one["accuracy"] - other["accuracy"]) for one, other in pairs)


def same(played: Any, core: fl.History) -> bool:
    """Whether the page's models, accuracies and losses are the core's."""
    losses = [row["train_loss"] for row in core.rows]
    return (
        apart(models_of(played, core.states), core.states) <= CLOSE
        and off(played["rows"], core.rows) <= LETTER
        and [row["loss"] for row in played["rows"]] == pytest.approx(losses, rel=1e-3)
    )


def check_equal(engine: Page, state: can.State, fast: bool = True) -> None:
    """The page has the core's numbers, or those on images that are rounded otherwise.

    Where a unit stands at zero, a rounding decides whether it learns, and the core's
    own runs part; the page then has the numbers of one of them. Where many part, each
    its own way, the page is about as far from the core as they are.
    """
    played, core = in_the_page(engine, state, fast=fast), in_the_core(state)
    if same(played, core):
        return
    far = apart(models_of(played, core.states), core.states)
    misread, parted, most = off(played["rows"], core.rows), 0.0, 0.0
    for nudge in range(NUDGES):
        other = in_the_core(state, nudge=nudge)
        parted = max(parted, apart(other.states, core.states))
        most = max(most, off(other.rows, core.rows))
        near = far <= 2 * parted and misread <= max(LETTER, 2 * most)
        if near or same(played, other):
            return
    raise AssertionError(f"{far} and {misread} by {parted} and {most}")


def check_near(
    mine: Sequence[Sequence[float]],
    run: Callable[[int | None], Sequence[Sequence[float]]],
) -> None:
    """Every round's numbers are the core's, as near as the core's own runs are.

    `run` gives the core's numbers round by round, on images that are rounded otherwise
    where it is told a nudge. They are asked for only if the page's are not the core's.
    """
    page, core = torch.tensor(mine), torch.tensor(run(None))
    far = (page - core).abs().amax(1)
    if bool((far <= CLOSE).all()):
        return
    parted = torch.zeros(len(core))
    for nudge in range(NUDGES):
        parted = parted.maximum((torch.tensor(run(nudge)) - core).abs().amax(1))
        if bool((far <= (2 * parted).clamp(min=CLOSE)).all()):
            return
    raise AssertionError(f"{far} by {parted}")
