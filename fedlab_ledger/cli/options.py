"""The ledger's verbs and their options, each with the values it may have."""

import argparse
import re
from typing import Annotated

from fedlab_core.arguments import Count, Seed, Within
from fedlab_core.arguments.cli import option
from fedlab_ledger.model.cells import SCALES
from fedlab_ledger.run.cluster import MANY

USUAL = "results/ledger"  # where results are, unless --ledger names a folder
LONGEST = 10**9  # seconds of a budget: thirty years


def budget(text: str) -> float:
    """Seconds of 90s, 20m, 1h30m."""
    n = "([0-9]{1,10})"
    said = re.fullmatch(f"(?:{n}h)?(?:{n}m)?(?:{n}s)?", text) if text else None
    if said is None:
        wanted = f"90s, 20m or 1h30m, not {text[:40]!r}"
        raise argparse.ArgumentTypeError(wanted)
    h, m, s = (int(v or 0) for v in said.groups())
    seconds = 3600 * h + 60 * m + s
    if seconds > LONGEST:
        raise argparse.ArgumentTypeError(f"{LONGEST}s at most, not {text[:40]!r}")
    return float(seconds)


SEED, COUNT = option(Seed), option(Count)
WORKERS = option(Annotated[int, Within(1, MANY)])


def add_verbs(verbs) -> None:
    """Declare the verbs to the parser of the command line."""
    tables = _add_tables(verbs)
    show = verbs.add_parser("show", help="a paper's table beside ours")
    show.add_argument("table", help="for instance feddisco/table1")
    show.add_argument("--scale", choices=SCALES, help="(the largest that was run)")
    for kind in ("html", "csv", "latex"):
        show.add_argument(f"--{kind}", metavar="FILE", help=f"write it as {kind}")
    show.add_argument(
        "--force", action="store_true", help="replace FILE if it is there"
    )
    claims = verbs.add_parser("claims", help="what the papers claim, and what is found")
    claims.add_argument("paper", nargs="?", help="only of this one: feddisco, ...")
    claims.add_argument("--scale", choices=SCALES, help="(the largest that can decide)")
    claims.add_argument("--json", action="store_true", help="everything, as JSON")
    run, out = _add_run(verbs), _add_export(verbs)
    merge = verbs.add_parser("merge", help="take over the lines of other ledgers")
    merge.add_argument("folder", nargs="+", help="a folder of results")
    check = verbs.add_parser("verify", help="run stored cells again and compare")
    check.add_argument("count", type=COUNT, nargs="?", default=3, help="how many (3)")
    check.add_argument("--seed", type=SEED, default=0, help="which ones (0)")
    check.add_argument("--scale", choices=SCALES, help="only of that scale")
    check.add_argument("--device", default="cpu", help="cpu or cuda (cpu)")
    for verb in (tables, show, claims, run, out, merge, check):
        verb.add_argument("--ledger", help=f"folder of results ({USUAL})")


def _add_tables(verbs) -> argparse.ArgumentParser:
    tables = verbs.add_parser("tables", help="list the papers' tables, what is done")
    add = tables.add_argument
    add("table", nargs="*", help="only feddisco/table1, or all of feddisco's")
    add("--scale", choices=SCALES, help="(the largest that was run)")
    return tables


def _add_run(verbs) -> argparse.ArgumentParser:
    run = verbs.add_parser("run", help="measure a table, or what is missing of it")
    add = run.add_argument
    add("table", nargs="*", help="feddisco/table1, or feddisco for all of a paper's")
    text = "instead of tables: a file with a line `table | row | column` each, in order"
    add("--queue", metavar="FILE", help=text)
    add("--scale", choices=SCALES, default="tiny", help="how large (tiny)")
    usual = [0, 1, 2]
    add("--seeds", type=SEED, nargs="+", default=usual, metavar="S", help="(0 1 2)")
    text = "begin nothing that ends later: 90s, 20m, 2h"
    add("--budget", type=budget, metavar="TIME", help=text)
    text = "say what each job would cost here, by a round of it; store nothing"
    add("--dry-run", action="store_true", help=text)
    text = (
        "local: a job under way keeps its place so often, and goes on from there (5m)"
    )
    add("--keep", type=budget, metavar="TIME", help=text)
    add("--device", default="cpu", help="cpu or cuda (cpu)")
    add("--row", help="only this row, or the rows whose name contains this")
    add("--column", help="only this column, or those whose name contains this")
    add("--claims", action="store_true", help="only cells that a claim compares")
    text = "store lines although files differ from the commit: marked by a plus"
    add("--uncommitted", action="store_true", help=text)
    add("--engine", choices=("local", "ray"), default="local", help="where (local)")
    add("--address", help="ray: of the cluster, or auto (one begun here, for this run)")
    text = "ray: jobs at a time (what fits)"
    add("--workers", type=WORKERS, metavar="N", help=text)
    text = "of a worker (ray: 1; else PyTorch's)"
    add("--threads", type=WORKERS, metavar="N", help=text)
    return run


def _add_export(verbs) -> argparse.ArgumentParser:
    out = verbs.add_parser("export", help="train a cell again and keep its model")
    add = out.add_argument
    add("table", help="for instance fedcollab/table1")
    add("--row", default="", help="the cell's row, or a part of its name")
    add("--column", default="", help="the cell's column, or a part of its name")
    add("--scale", choices=SCALES, default="tiny", help="how large (tiny)")
    add("--seed", type=SEED, default=0, help="(0)")
    add("--device", default="cpu", help="cpu or cuda (cpu)")
    add("--out", metavar="DIR", required=True, help="a folder to be made for it")
    add("--force", action="store_true", help="replace the export that is in DIR")
    return out
