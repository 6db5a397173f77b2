"""Measure the cost of a seed for each number in the papers' headline tables.

    FEDLAB_DATA=folder python -m tools.costs [--paper fedimpro]

Cells with a line at the paper's scale are left out. A try is a round of each setting,
its training in part; its line is added to `results/costs.jsonl`, and the ledger's pages
show it where a number is missing. Only the time that one thread computes counts: a busy
machine makes no run dearer.
"""

import argparse
import datetime
import json
import sys
import time
from pathlib import Path
from typing import Any

import torch

from fedlab_core.errors import InputError
from fedlab_ledger import Store
from fedlab_ledger.model.headline import SCALE
from fedlab_ledger.papers import HEADLINES
from fedlab_ledger.report.headline import COSTS
from fedlab_ledger.run.cost import Costs
from fedlab_ledger.run.jobs import Job, jobs
from fedlab_ledger.run.player import commit
from tools import paths


def waiting(paper: str, ledger: Path) -> list[Job]:
    """Jobs of one seed for the cells of a paper's headline that have no line."""
    found = Store(ledger).read()
    cells = [c for c in HEADLINES[paper].cells if not found.of(c.key(SCALE))]
    return jobs(cells, SCALE, (0,), found)


def computed(job: Job) -> float:
    """Seconds that a job's runs would compute, estimated from a try."""
    torch.set_num_threads(1)
    begun = time.perf_counter(), time.process_time()
    seconds = Costs().job(job)
    share = (time.process_time() - begun[1]) / (time.perf_counter() - begun[0])
    return seconds * min(1.0, share)


def lines_of(job: Job, seconds: float) -> list[dict[str, Any]]:
    """Lines that keep a try, one a cell."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    about = {"scale": job.scale, "seconds": round(seconds, 1), "device": "cpu"}
    about |= {"threads": torch.get_num_threads(), "torch": torch.__version__}
    about |= {"commit": commit(), "date": now}
    return [
        {"key": c.key(SCALE), "paper": c.paper, "table": c.table, "row": c.row}
        | {"column": c.column}
        | about
        for c in job.cells
    ]


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paper", choices=[*HEADLINES], action="append")
    args = parser.parse_args(words)
    ledger = paths.ROOT / "results" / "ledger"
    for paper in args.paper or HEADLINES:
        for job in waiting(paper, ledger):
            try:
                seconds = computed(job)
            except InputError as error:
                print(f"{job.name}: cannot be tried: {error}", file=sys.stderr)
                continue
            with (ledger.parent / COSTS).open("a") as file:
                for line in lines_of(job, seconds):
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
            print(f"{job.name}: {seconds / 3600:.2f} h", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
