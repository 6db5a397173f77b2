"""Time the ledger's jobs on one machine: here, and over one and two workers of Ray.

    python -m benchmarks.scaling --json >> results/scaling.jsonl

Every way plays the same jobs, with one thread a worker, and stores their lines in a
folder that is thrown away. `seconds` is everything from asking to the last line, with
the workers' start; `busy` is what the jobs took, added up over the workers; `others` is
the share of the cores that other programs had before a way and after it.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks.__main__ import machine
from benchmarks.load import share_now, warn
from fedlab_ledger import Cell, Setting, Store, jobs
from fedlab_ledger.model.store import Found
from fedlab_ledger.run import cluster, player
from fedlab_ledger.run.cluster import Crew, quiet
from fedlab_ledger.run.player import Job

SETTING = Setting(
    "letters",
    "feddisco",
    15,
    "dirichlet",
    {"clients": 10, "alpha": 0.5},
    network={"hidden": [128, 128]},
    local={"lr": 0.1, "epochs": 5, "batch_size": 32},
)


def alike(count: int, rounds: int) -> list[Job]:
    """So many jobs of the same size, on data of their own."""
    cells = [
        Cell(
            "scaling",
            "jobs",
            "FedDisco",
            str(i),
            {"tiny": replace(SETTING, rounds=rounds, data={"seed": i})},
            None,
            lacks="it is there for its time",
        )
        for i in range(count)
    ]
    return jobs(cells, "tiny", (0,), Found())


def timed(waiting: Sequence[Job], workers: int) -> dict[str, float]:
    """Seconds in all and in the jobs; 0 workers is this process alone."""
    with tempfile.TemporaryDirectory() as folder, quiet():
        store, begun = Store(Path(folder)), time.perf_counter()
        if workers:
            played = cluster.play_all(waiting, store, Crew(workers=workers))
        else:
            played = player.play_all(waiting, store)
        lines = [line for _, given in played for line in given]
        seconds = time.perf_counter() - begun
    busy = sum(line["seconds"] for line in lines)  # type: ignore[index]
    return {"seconds": round(seconds, 2), "busy": round(busy, 2)}


def measure(count: int, rounds: int) -> Iterator[dict]:
    """One line a way."""
    waiting = alike(count, rounds)
    about = {"jobs": len(waiting), "rounds": rounds, "cpus": os.cpu_count()}
    for workers in (0, 1, 2):
        how = {"engine": "ray" if workers else "local", "workers": workers or 1}
        before, took = share_now(), timed(waiting, workers)
        others = {"others": max(before, share_now())}
        yield how | about | took | machine("cpu") | others


def main(argv: Sequence[str] | None = None) -> None:
    """Measure every way once and print it as it comes."""
    parser = argparse.ArgumentParser(prog="benchmarks.scaling", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--json", action="store_true", help="one line of JSON a way")
    parser.add_argument("--jobs", type=int, default=8, help="(8)")
    parser.add_argument("--rounds", type=int, default=SETTING.rounds, help="a job (15)")
    given = parser.parse_args(argv)
    torch.set_num_threads(1)
    warned = False
    for line in measure(given.jobs, given.rounds):
        told = f"{line['engine']} x {line['workers']}: {line['seconds']} s"
        print(json.dumps(line) if given.json else told, flush=True)
        warned = warned or warn(line["others"])


if __name__ == "__main__":
    main()
