"""Protocol between a peer and its timer: one line of JSON for each line read.

    python -m benchmarks.peers.NAME_peer CASE            # serve
    python -m benchmarks.peers.NAME_peer CASE --check    # compare with a plain loop

Once warm, it says `{"ready": true, "version": v, "setup": s}`; it answers each `go`
with `{"seconds": s, "samples": n, "rounds": r}` and ends at `quit`. Whatever else is
printed goes to the error output.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TextIO

from benchmarks.cases import Case
from benchmarks.peers import work

SECONDS = 1.0  # about how long one `go` takes at least
CHECKED = 2  # rounds: the second begins with the average of the first
CHECKED_LR = 0.1  # far enough from the start for rounding not to matter


@dataclass(frozen=True)
class Simulation:
    """A peer that is set up: `rounds(n)` trains n rounds of all clients."""

    version: str
    setup: str  # how many processes and threads
    rounds: Callable[[int], object]
    parameters: Callable[[], work.Tree]


Use = Callable[[Simulation], None]


def _say(answers: TextIO, **what) -> None:
    print(json.dumps(what), file=answers, flush=True)


def _seconds(simulation: Simulation, rounds: int) -> float:
    begun = time.perf_counter()
    simulation.rounds(rounds)
    return time.perf_counter() - begun


def serve(
    case: Case, simulation: Simulation, requests: TextIO, answers: TextIO
) -> None:
    """Warm up, then time as many rounds as fill a second at each request."""
    simulation.rounds(1)
    rounds = max(1, round(SECONDS / _seconds(simulation, 1)))
    _say(answers, ready=True, version=simulation.version, setup=simulation.setup)
    for line in requests:
        if line.strip() == "quit":
            break
        if line.strip() != "go":
            raise ValueError(f"neither go nor quit: {line!r}")
        seconds = _seconds(simulation, rounds)
        _say(answers, seconds=seconds, samples=rounds * case.total, rounds=rounds)


def check(case: Case, simulation: Simulation, answers: TextIO) -> None:
    """Print the peer's largest difference from a plain loop, and the largest change.

    Only a case whose mini-batch is the client's whole data has an answer that does not
    depend on the order.
    """
    model = work.start(case)
    before, data = work.parameters(model), work.clients(case)
    for _ in range(CHECKED):
        work.plain_round(case, model, data)
    simulation.rounds(CHECKED)
    right, theirs = work.parameters(model), simulation.parameters()
    pairs = [(right[n], theirs[n], before[n]) for n in right]
    _say(
        answers,
        max_difference=max((a - b).abs().max().item() for a, b, _ in pairs),
        max_change=max((a - b).abs().max().item() for a, _, b in pairs),
    )


def _own_stdout() -> TextIO:
    """The real standard output; all other prints now go to the error output."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def main(simulate: Callable[[Case, Use], None]) -> None:
    """Run a peer: `simulate` sets a case up and passes it to its second argument."""
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    case, answers = work.find(given.case), _own_stdout()
    if given.check:
        case = replace(case, batch_size=case.samples, lr=CHECKED_LR)
        simulate(case, lambda simulation: check(case, simulation, answers))
    else:
        simulate(case, lambda peer: serve(case, peer, sys.stdin, answers))
