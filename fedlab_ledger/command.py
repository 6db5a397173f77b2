"""The command line's verbs of the ledger: tables, show, claims, run, export, ..."""

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import torch
from tqdm.auto import tqdm

from fedlab_core.errors import require
from fedlab_ledger import claims as claims_of
from fedlab_ledger import cluster
from fedlab_ledger.cells import SCALES, Cell, Table
from fedlab_ledger.cluster import Crew, quiet
from fedlab_ledger.export import export
from fedlab_ledger.player import Job, jobs, play_all, verify
from fedlab_ledger.show import as_csv, as_html, as_latex, as_text, shown
from fedlab_ledger.store import Found, Line, Store

VERBS = ("tables", "show", "claims", "run", "export", "merge", "verify")
TOLERANCE = 0.5  # of `verify` on another kind of machine: points of accuracy
_WRITERS: dict[str, Callable] = {"html": as_html, "csv": as_csv, "latex": as_latex}


def add_verbs(verbs) -> None:
    """Declare the verbs to the parser of the command line."""
    tables = verbs.add_parser(
        "tables", help="list the papers' tables, and what is done"
    )
    show = verbs.add_parser("show", help="a paper's table beside ours")
    show.add_argument("table", help="for instance feddisco/table1")
    show.add_argument("--scale", choices=SCALES, help="(the largest that was run)")
    for kind in _WRITERS:
        show.add_argument(f"--{kind}", metavar="FILE", help=f"write it as {kind}")
    show.add_argument(
        "--force", action="store_true", help="replace FILE if it is there"
    )
    claims = verbs.add_parser("claims", help="what the papers claim, and what is found")
    claims.add_argument("paper", nargs="?", help="only of this one: feddisco, ...")
    claims.add_argument("--scale", choices=SCALES, help="(the largest that was run)")
    run, out = _add_run(verbs), _add_export(verbs)
    merge = verbs.add_parser("merge", help="take over the lines of other ledgers")
    merge.add_argument("folder", nargs="+", help="a folder of results")
    check = verbs.add_parser("verify", help="run stored cells again and compare")
    check.add_argument("count", type=int, nargs="?", default=3, help="how many (3)")
    check.add_argument("--seed", type=int, default=0, help="which ones (0)")
    check.add_argument("--scale", choices=SCALES, help="only of that scale")
    check.add_argument("--device", default="cpu", help="cpu or cuda (cpu)")
    for verb in (tables, show, claims, run, out, merge, check):
        text = "folder of results (results/ledger)"
        verb.add_argument("--ledger", default="results/ledger", help=text)


def _add_run(verbs) -> argparse.ArgumentParser:
    run = verbs.add_parser("run", help="measure a table, or what is missing of it")
    add = run.add_argument
    add("table", nargs="+", help="feddisco/table1, or feddisco for all of a paper's")
    add("--scale", choices=SCALES, default="tiny", help="how large (tiny)")
    add("--seeds", type=int, nargs="+", default=[0, 1, 2], metavar="S", help="(0 1 2)")
    add("--budget", metavar="TIME", help="begin nothing that ends later: 90s, 20m, 2h")
    add("--device", default="cpu", help="cpu or cuda (cpu)")
    add("--row", help="only this row, or the rows whose name contains this")
    add("--column", help="only this column, or those whose name contains this")
    add("--claims", action="store_true", help="only cells that a claim compares")
    add("--engine", choices=("local", "ray"), default="local", help="where (local)")
    add("--address", help="ray: of the cluster, or auto (one begun here, for this run)")
    add("--workers", type=int, metavar="N", help="ray: jobs at a time (what fits)")
    add("--threads", type=int, metavar="N", help="of a worker (ray: 1; else PyTorch's)")
    return run


def _add_export(verbs) -> argparse.ArgumentParser:
    out = verbs.add_parser("export", help="train a cell again and keep its model")
    add = out.add_argument
    add("table", help="for instance fedcollab/table1")
    add("--row", default="", help="the cell's row, or a part of its name")
    add("--column", default="", help="the cell's column, or a part of its name")
    add("--scale", choices=SCALES, default="tiny", help="how large (tiny)")
    add("--seed", type=int, default=0, help="(0)")
    add("--device", default="cpu", help="cpu or cuda (cpu)")
    add("--out", metavar="DIR", required=True, help="a folder to be made for it")
    add("--force", action="store_true", help="replace the export that is in DIR")
    return out


def answer(args: argparse.Namespace) -> int:
    """Do what one of `VERBS` asks for; the exit code."""
    verbs = {"tables": _tables, "show": _show, "run": _run, "verify": _verify}
    verbs["export"] = _export
    if args.verb == "merge":
        return _merge(args)
    if args.verb == "claims":
        return _claims(args)
    return verbs[args.verb](args, declared())


def declared() -> dict[str, Table]:
    """The papers' tables, by their paths."""
    from fedlab_ledger import papers  # a second's work, which most verbs can do without

    return papers.TABLES


def _claims(args: argparse.Namespace) -> int:
    wanted = _claimed(args.paper)
    _, found = _read(args)
    rows = claims_of.judged(wanted, found, args.scale)
    print(claims_of.as_text(rows), end="")
    return 0


def _claimed(paper: str | None = None) -> list[claims_of.Claim]:
    """What a paper claims, or all of them."""
    from fedlab_ledger.papers import CLAIMS

    known = paper is None or paper in CLAIMS
    choices = ", ".join(CLAIMS)
    require(known, f"there is no paper {paper!r}: choose from {choices}")
    return [c for p in CLAIMS if paper in (None, p) for c in CLAIMS[p]]


def _asked(names: Sequence[str], tables: dict[str, Table]) -> list[Table]:
    """The tables of these names; a paper's name stands for all of its tables."""
    found: list[Table] = []
    for name in names:
        mine = [t for t in tables.values() if name in (t.path, t.paper)]
        papers = ", ".join(dict.fromkeys(t.paper for t in tables.values()))
        known = [t.path for t in tables.values() if t.paper == name.split("/")[0]]
        choices = ", ".join(known) or f"a table of {papers}"
        require(bool(mine), f"there is no {name!r}: choose from {choices}")
        found += [t for t in mine if t not in found]
    return found


def _matching(cells: Sequence[Cell], args: argparse.Namespace) -> list[Cell]:
    """A table's cells in the row and column asked for: so named, else so named in part.

    "FedAvg" is the row of that name and not "FedAvg + Disco", where a table has it.
    """
    for name in ("row", "column"):
        asked = vars(args)[name] or ""
        exact = [c for c in cells if vars(c)[name] == asked]
        cells = exact or [c for c in cells if asked in vars(c)[name]]
    return list(cells)


def _read(args: argparse.Namespace) -> tuple[Store, Found]:
    store = Store(Path(args.ledger))
    found = store.read()
    for note in found.notes:
        print(f"fedlab_core {args.verb}: note: {note}", file=sys.stderr)
    return store, found


def _tables(args: argparse.Namespace, tables: dict[str, Table]) -> int:
    _, found = _read(args)
    lines = [("table", "cells", *SCALES, "what it is")]
    for table in tables.values():
        done = []
        for scale in SCALES:
            can = [c for c in table.cells if scale in c.settings]
            there = sum(bool(found.of(c.key(scale))) for c in can)
            done.append(f"{there}/{len(can)}")
        lines.append((table.path, str(len(table.cells)), *done, table.title))
    wide = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        pairs = zip(line, wide, strict=True)
        print("  ".join(f"{text:{w}}" for text, w in pairs).rstrip())
    return 0


def _show(args: argparse.Namespace, tables: dict[str, Table]) -> int:
    require(args.table in tables, _unknown(args.table, tables))
    table = tables[args.table]
    out = {kind: Path(vars(args)[kind]) for kind in _WRITERS if vars(args)[kind]}
    for kind, path in out.items():
        require(path.parent.is_dir(), f"--{kind}: there is no folder {path.parent}")
        free = args.force or not path.exists()
        require(free, f"--{kind}: {path} exists: use --force to replace it")
    _, found = _read(args)
    cells = shown(table, tables, found, args.scale)
    for kind, path in out.items():
        part = path.with_name(path.name + ".part")
        part.write_text(_WRITERS[kind](table, cells))
        part.replace(path)
        print(f"wrote {path}")
    if not out:
        print(as_text(table, cells), end="")
    return 0


def _unknown(name: str, tables: dict[str, Table]) -> str:
    known = [t.path for t in tables.values() if t.paper == name.split("/")[0]]
    return f"there is no table {name!r}: choose from {', '.join(known or tables)}"


def budget(text: str | None) -> float | None:
    """Seconds of 90s, 20m, 1h30m; None for none."""
    if text is None:
        return None
    said = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", text)
    require(bool(text and said), f"--budget: 90s, 20m or 1h30m, not {text!r}")
    h, m, s = (int(v or 0) for v in (said.groups() if said else ()))
    return 3600.0 * h + 60 * m + s


def _device(name: str, elsewhere: bool = False) -> str:
    require(name in ("cpu", "cuda"), f"--device: cpu or cuda, not {name}")
    there = name == "cpu" or elsewhere or torch.cuda.is_available()
    require(there, "--device: no CUDA device can be used here, choose cpu")
    return name


def _run(args: argparse.Namespace, tables: dict[str, Table]) -> int:
    distinct = len(set(args.seeds)) == len(args.seeds) and min(args.seeds) >= 0
    require(distinct, "--seeds: distinct numbers, 0 or more")
    limit = budget(args.budget)
    device = _device(args.device, args.engine == "ray")
    compared = {c.name for claim in _claimed() for c in (claim.cell, claim.beside)}
    cells = [
        cell
        for table in _asked(args.table, tables)
        for cell in _matching(table.cells, args)
        if cell.name in compared or not args.claims
    ]
    said = " that a claim compares" if args.claims else ""
    require(bool(cells), f"--row, --column: no cell{said} has both")
    crew = _crew(args, device)
    store, found = _read(args)
    _say_absent(cells, args.scale)
    waiting = jobs(cells, args.scale, args.seeds, found)
    total, refused, done = len(waiting), 0, 0
    hide = True if os.environ.get("FEDLAB_PROGRESS") == "0" else None
    rounds, out = sum(job.rounds for job in waiting), sys.stdout
    with tqdm(total=rounds, disable=hide, unit="round") as bar:

        def say(text: str) -> None:
            bar.write(text, file=out)
            out.flush()

        try:
            with _playing(waiting, store, crew, device, limit, bar, say) as played:
                for job, lines in played:
                    done += 1
                    refused += isinstance(lines, str)
                    say(_said(job, lines))
        except KeyboardInterrupt:
            left = f"{total - done} of {total} left"
            say(f"stopped, {left}: the same command goes on from here")
            return 130
    if done < total:
        print(f"{total - done} of {total} left: the budget is used up")
    elif not refused:
        print(f"all there: {len(cells)} cells at {args.scale} scale, {args.ledger}")
    return 2 if refused else 3 if done < total else 0


def _crew(args: argparse.Namespace, device: str) -> Crew | None:
    """Who plays on a cluster; None where nobody does."""
    if args.engine == "ray":
        threads = 1 if args.threads is None else args.threads
        return Crew(args.address, args.workers, threads, device)
    for name in ("address", "workers"):
        require(vars(args)[name] is None, f"--{name}: only with --engine ray")
    if args.threads is not None:
        require(args.threads >= 1, f"--threads: 1 or more, not {args.threads}")
        torch.set_num_threads(args.threads)
    return None


@contextmanager
def _playing(
    waiting: Sequence[Job],
    store: Store,
    crew: Crew | None,
    device: str,
    limit: float | None,
    bar: tqdm,
    say: Callable[[str], object],
) -> Iterator[Iterator[tuple[Job, list[Line] | str]]]:
    """The jobs as they are over, here or on a cluster, which is let go in any case."""
    if crew is None:
        tick = lambda: bar.update()  # noqa: E731
        yield play_all(waiting, store, device=device, budget=limit, tick=tick)
        return
    played = cluster.play_all(
        waiting, store, crew, budget=limit, tick=bar.update, say=say
    )
    with quiet(), closing(played):
        yield played


def _say_absent(cells: Sequence[Cell], scale: str) -> None:
    why: dict[str, int] = {}
    for cell in cells:
        if scale not in cell.settings:
            why[cell.lacks] = why.get(cell.lacks, 0) + 1
    for reason, n in why.items():
        print(f"{n} cell(s) have no {scale} scale: {reason}")


def _said(job: Job, lines: list[Line] | str) -> str:
    first = job.cells[0]
    if isinstance(lines, str):
        return f"{job.name}: cannot be run: {lines}"
    mine = [v for v in lines if v["row"] == first.row and v["column"] == first.column]
    numbers = " ".join("-" if v["value"] is None else f"{v['value']:g}" for v in mine)
    seconds = sum(v["seconds"] for v in mine)
    return f"{job.name}: {numbers} ({job.scale}, {seconds:.1f} s)"


def _export(args: argparse.Namespace, tables: dict[str, Table]) -> int:
    require(args.table in tables, _unknown(args.table, tables))
    require(args.seed >= 0, f"--seed: 0 or more, not {args.seed}")
    device = _device(args.device)
    cells = _matching(tables[args.table].cells, args)
    names = "; ".join(f"{c.row} | {c.column}" for c in cells[:6])
    more = " ..." if len(cells) > 6 else ""
    one = f"--row, --column: {len(cells)} cells instead of one: {names}{more}"
    require(len(cells) == 1, one if cells else "--row, --column: no cell has both")
    (cell,) = cells
    _, found = _read(args)
    there = args.scale in cell.settings
    line = found.of(cell.key(args.scale)).get(args.seed) if there else None
    how = {"device": device, "force": args.force, "line": line}
    for path in export(cell, args.scale, args.seed, Path(args.out), **how):
        print(f"wrote {path}")
    return 0


def _merge(args: argparse.Namespace) -> int:
    store = Store(Path(args.ledger))
    added, notes = store.merge([Path(folder) for folder in args.folder])
    for note in notes:
        print(f"fedlab_core merge: note: {note}", file=sys.stderr)
    print(f"{added} new lines in {store.folder}")
    return 0


def _verify(args: argparse.Namespace, tables: dict[str, Table]) -> int:
    require(
        args.count >= 1 and args.seed >= 0, "verify: 1 cell or more, seed 0 or more"
    )
    device = _device(args.device)
    _, found = _read(args)
    scales = [args.scale] if args.scale else SCALES
    stored = [
        (cell, line)
        for table in tables.values()
        for cell in table.cells
        for scale in scales
        if scale in cell.settings
        for line in found.of(cell.key(scale)).values()
    ]
    stored = [(c, v) for c, v in stored if c.name == _name(v)]  # each line once
    require(bool(stored), f"nothing to verify in {args.ledger}")
    rng = np.random.default_rng(args.seed)
    picked = rng.permutation(len(stored))[: args.count]
    wrong = 0
    for i in picked.tolist():
        cell, line = stored[i]
        tolerance = TOLERANCE if cell.unit == "%" else cell.tolerance
        check = verify(cell, line, device, tolerance)
        wrong += not check.agrees
        print(check.text, flush=True)
    print(f"{len(picked) - wrong} of {len(picked)} agree")
    return 1 if wrong else 0


def _name(line: Line) -> str:
    return f"{line['paper']}/{line['table']} {line['row']} | {line['column']}"
