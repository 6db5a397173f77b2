"""The command line's verbs of the ledger: tables, show, claims, run, export, ..."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import torch
from tqdm.auto import tqdm

from fedlab_core.atomic_files import replacing, writable
from fedlab_core.errors import InputError, require
from fedlab_core.rounds.records import Round
from fedlab_ledger.cli.options import USUAL, add_verbs
from fedlab_ledger.export.models import export
from fedlab_ledger.judge import claims as claims_of
from fedlab_ledger.judge.show import (
    STATUSES,
    as_csv,
    as_html,
    as_latex,
    as_text,
    counts,
    shown,
)
from fedlab_ledger.model.cells import SCALES, Cell, Table
from fedlab_ledger.model.lines import Found, Line, name_of
from fedlab_ledger.model.store import Store
from fedlab_ledger.model.terminal import fitting, note, say
from fedlab_ledger.run import cluster
from fedlab_ledger.run.cluster import Crew, quiet
from fedlab_ledger.run.cost import say_jobs
from fedlab_ledger.run.jobs import Job, jobs
from fedlab_ledger.run.player import Fault, commit, play_all
from fedlab_ledger.run.progress import Minutes
from fedlab_ledger.run.queue import Wanted, each_alone, read_queue
from fedlab_ledger.run.resume import OFTEN
from fedlab_ledger.run.shared_runs import SharedRuns
from fedlab_ledger.run.verify import verify

__all__ = ["VERBS", "add_verbs", "answer"]  # what the core asks of a package
VERBS = ("tables", "show", "claims", "run", "export", "merge", "verify")
TOLERANCE = 0.5  # of `verify` on another kind of machine: points of accuracy
_WRITERS: dict[str, Callable] = {"html": as_html, "csv": as_csv, "latex": as_latex}


def answer(args: argparse.Namespace) -> int:
    """Carry out one of `VERBS`; the exit code."""
    verbs = {"tables": _tables, "show": _show, "run": _run, "verify": _verify}
    verbs |= {"export": _export, "merge": _merge, "claims": _claims}
    args.named = args.ledger is not None  # only one that nobody named may be missing
    try:
        for folder in (args.ledger, *getattr(args, "folder", ())):
            require(folder != "", f"{args.verb}: the name of a folder is empty")
        args.ledger = args.ledger or USUAL
        return verbs[args.verb](args)
    except InputError as error:  # which may quote what is stored
        raise InputError(fitting(str(error), sys.stderr)) from None


def declared() -> dict[str, Table]:
    """The papers' tables, by their paths."""
    from fedlab_ledger import papers  # a second's work, which most verbs can do without

    return papers.TABLES


def _claims(args: argparse.Namespace) -> int:
    wanted = _claimed(args.paper)
    _, found = _read(args)
    rows = claims_of.judged(wanted, found, args.scale)
    text = claims_of.as_json(rows) if args.json else claims_of.as_text(rows)
    say(*text.splitlines())
    if not args.json and args.scale is None:
        say(*_standing(found, args.paper))
    return 0


def _standing(found: Found, paper: str | None) -> list[str]:
    """How the methods of a paper, or of all, stand over all that was tried."""
    from fedlab_ledger.papers import CLAIMS, TABLES
    from fedlab_ledger.report.answers import standings
    from fedlab_ledger.report.book import Book

    told = standings(Book(TABLES, found, CLAIMS))
    return [f"{p}, over all: {said}" for p, said in told.items() if paper in (None, p)]


def _claimed(paper: str | None = None) -> list[claims_of.Claim]:
    """Claims of a paper, or of all papers."""
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
        require(bool(mine), f"there is no {name!r}: {_choices(name, tables)}")
        found += [t for t in mine if t not in found]
    return found


def _choices(name: str, tables: dict[str, Table]) -> str:
    """Choices instead of a name: the tables of its paper, or the papers."""
    known = [t.path for t in tables.values() if t.paper == name.split("/")[0]]
    papers = ", ".join(dict.fromkeys(t.paper for t in tables.values()))
    return f"choose from {', '.join(known) or f'a table of {papers}'}"


def _matching(cells: Sequence[Cell], args: argparse.Namespace) -> list[Cell]:
    """A table's cells in the row and column asked for."""
    return Wanted("", args.row or "", args.column or "").of(cells)


def _read(args: argparse.Namespace) -> tuple[Store, Found]:
    store = Store(Path(args.ledger))
    found = store.read(new=args.verb == "run" or not args.named)
    if args.verb != "run" and not os.path.lexists(store.folder):
        note(args.verb, f"there is no {store.folder} here: nothing was measured yet")
    for text in found.notes:
        note(args.verb, text)
    return store, found


def _tables(args: argparse.Namespace) -> int:
    tables = declared()
    asked = _asked(args.table, tables) if args.table else list(tables.values())
    _, found = _read(args)
    lines: list[tuple[str, ...]] = [("table", "cells", *STATUSES, "what it is")]
    total: Counter[str] = Counter()
    for table in asked:
        done = counts(shown(table, found, args.scale))
        total.update(done)
        each = (str(n or "-") for n in done.values())
        lines.append((table.path, str(len(table.cells)), *each, table.title))
    every = (str(total[status]) for status in STATUSES)
    lines.append(("all", str(total.total()), *every, ""))
    wide = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        pairs = zip(line, wide, strict=True)
        say("  ".join(f"{text:{w}}" for text, w in pairs).rstrip())
    return 0


def _show(args: argparse.Namespace) -> int:
    table = _named(args.table)
    out: dict[str, Path] = {}
    for kind in _WRITERS:
        if vars(args)[kind] is not None:
            path = writable(vars(args)[kind], f"--{kind}", args.force)
            same = path.resolve() in (other.resolve() for other in out.values())
            require(not same, f"--{kind}: {path} is asked for twice")
            out[kind] = path
    require(bool(out) or not args.force, "--force: only with --html, --csv or --latex")
    _, found = _read(args)
    cells = shown(table, found, args.scale)
    for kind, path in out.items():
        with replacing(path) as file:
            file.write(_WRITERS[kind](table, cells).encode())
        say(f"wrote {path}")
    if not out:
        say(*as_text(table, cells).splitlines())
    return 0


def _named(name: str) -> Table:
    tables = declared()
    require(name in tables, f"there is no table {name!r}: {_choices(name, tables)}")
    return tables[name]


def _device(name: str, elsewhere: bool = False) -> str:
    require(name in ("cpu", "cuda"), f"--device: cpu or cuda, not {name}")
    there = name == "cpu" or elsewhere or torch.cuda.is_available()
    require(there, "--device: no CUDA device can be used here, choose cpu")
    return name


def _run(args: argparse.Namespace) -> int:
    distinct = len(set(args.seeds)) == len(args.seeds)
    require(distinct, "--seeds: distinct numbers, 0 or more")
    device = _device(args.device, args.engine == "ray")
    compared = {c.name for claim in _claimed() for c in claim.cells}
    groups = [
        [c for c in group if c.name in compared or not args.claims]
        for group in _wanted(args)
    ]
    cells = [cell for group in groups for cell in group]
    said = " that a claim compares" if args.claims else ""
    require(bool(cells), f"--row, --column: no cell{said} has both")
    crew = _crew(args, device)
    sound = args.uncommitted or args.dry_run or not commit().endswith("+")
    text = f"files differ from commit {commit()[:-1]}, which lines would name"
    require(sound, f"{text}: commit them, or --uncommitted")
    store, found = _read(args)
    shared = SharedRuns(declared().values(), found, args.scale)
    found, taken = shared.added(cells, args.seeds, None if args.dry_run else store)
    if taken:
        say(f"numbers of runs that are there: {taken}")
    waiting = [j for g in groups for j in jobs(g, args.scale, args.seeds, found)]
    if args.queue is not None:
        waiting = each_alone(waiting)
    if args.dry_run:
        return say_jobs(waiting, device)
    if waiting:
        store.ready({(c.paper, c.table) for job in waiting for c in job.cells})
    _say_absent(cells, args.scale)
    hide = True if os.environ.get("FEDLAB_PROGRESS") == "0" else None
    rounds, out = sum(job.rounds for job in waiting), sys.stdout
    answers: list[list[Line] | str] = []
    with tqdm(total=rounds, disable=hide, unit="round") as bar:

        def tell(text: str) -> None:
            bar.write(fitting(text, out), file=out)
            out.flush()

        try:
            keep = OFTEN if args.keep is None else args.keep
            how = (device, args.budget, keep, bar, tell)
            with _playing(waiting, store, crew, *how) as played:
                for job, lines in played:
                    answers.append(lines)
                    tell(_said(job, lines))
                    if isinstance(lines, Fault):
                        say(*lines.traceback.splitlines(), file=sys.stderr)
        except KeyboardInterrupt:
            left = f"{len(waiting) - len(answers)} of {len(waiting)} left"
            tell(f"stopped, {left}: the same command goes on from here")
            return 130
    where = f"at {args.scale} scale, {args.ledger}"
    return _ended(answers, len(waiting), f"{len(cells)} cells {where}")


def _wanted(args: argparse.Namespace) -> list[list[Cell]]:
    """The cells asked for: of tables, or of a queue, line by line; each once."""
    tables = declared()
    if args.queue is None:
        require(bool(args.table), "which table? feddisco/table1, or --queue FILE")
        return [
            [c for t in _asked(args.table, tables) for c in _matching(t.cells, args)]
        ]
    for name in ("table", "row", "column"):
        text = f"--queue: its lines name tables, rows and columns: leave out {name}"
        require(not vars(args)[name], text)
    groups, had = [], set[str]()
    for line in read_queue(Path(args.queue), tables):
        cells = line.of(tables[line.table].cells)
        groups.append([c for c in cells if c.name not in had])
        had |= {c.name for c in cells}
    return groups


def _ended(answers: Sequence[list[Line] | str], total: int, what: str) -> int:
    """Print how a run ended; its exit code."""
    left = total - len(answers)
    refused = [said for said in answers if isinstance(said, str)]
    if left:
        say(f"{left} of {total} left: the budget is used up")
    elif not refused:
        say(f"all there: {what}")
    if any(isinstance(said, Fault) for said in refused):
        return 1
    return 2 if refused else 3 if left else 0


def _crew(args: argparse.Namespace, device: str) -> Crew | None:
    """Workers on a cluster; None if jobs are played here."""
    if args.engine == "ray":
        require(args.keep is None, "--keep: only with --engine local")
        threads = 1 if args.threads is None else args.threads
        return Crew(args.address, args.workers, threads, device)
    for name in ("address", "workers"):
        require(vars(args)[name] is None, f"--{name}: only with --engine ray")
    if args.threads is not None:
        torch.set_num_threads(args.threads)
    return None


@contextmanager
def _playing(
    waiting: Sequence[Job],
    store: Store,
    crew: Crew | None,
    device: str,
    limit: float | None,
    every: float,
    bar: tqdm,
    say: Callable[[str], object],
) -> Iterator[Iterator[tuple[Job, list[Line] | str]]]:
    """Finished jobs with their lines, from here or a cluster, closed at the end."""
    if crew is None:
        hidden = os.environ.get("FEDLAB_PROGRESS") == "0"
        minutes = Minutes(say) if bar.disable and not hidden else None

        def tick(job: Job, now: Round | None) -> None:
            bar.update()
            if minutes:
                minutes(job, now)

        how = {"device": device, "budget": limit, "every": every}
        yield play_all(waiting, store, tick=tick, say=say, **how)
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
        say(f"{n} cell(s) have no {scale} scale: {reason}")


def _said(job: Job, lines: list[Line] | str) -> str:
    first = job.cells[0]
    if not lines:
        return f"{job.name}: another player has done it meanwhile"
    if isinstance(lines, str):
        return f"{job.name}: cannot be run: {lines}"
    mine = [v for v in lines if v["row"] == first.row and v["column"] == first.column]
    numbers = " ".join("-" if v["value"] is None else f"{v['value']:g}" for v in mine)
    seconds = sum(v["seconds"] for v in mine)
    return f"{job.name}: {numbers} ({job.scale}, {seconds:.1f} s)"


def _export(args: argparse.Namespace) -> int:
    table, device = _named(args.table), _device(args.device)
    cells = _matching(table.cells, args)
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
        say(f"wrote {path}")
    return 0


def _merge(args: argparse.Namespace) -> int:
    store = Store(Path(args.ledger))
    try:
        added, notes = store.merge([Path(folder) for folder in args.folder])
    except KeyboardInterrupt:
        note("merge", f"stopped: all new lines are in {store.folder}, or none is")
        return 130
    for text in notes:
        note("merge", text)
    say(f"{added} new lines in {store.folder}")
    return 0


def _verify(args: argparse.Namespace) -> int:
    tables = declared()
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
    stored = [(c, v) for c, v in stored if c.name == name_of(v)]  # each line once
    whole = [(c, v) for c, v in stored if v["seed"] in v["together"]]
    if lost := len(stored) - len(whole):
        note("verify", f"{lost} lines were played without themselves: passed over")
    stored = whole
    require(bool(stored), f"nothing to verify in {args.ledger}")
    rng = np.random.default_rng(args.seed)
    picked = rng.permutation(len(stored))[: args.count]
    wrong = 0
    for i in picked.tolist():
        cell, line = stored[i]
        tolerance = TOLERANCE if cell.unit == "%" else cell.tolerance
        check = verify(cell, line, device, tolerance)
        wrong += not check.agrees
        say(check.text)
    say(f"{len(picked) - wrong} of {len(picked)} agree")
    return 1 if wrong else 0
