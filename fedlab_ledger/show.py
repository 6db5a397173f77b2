"""A paper's table side by side with ours: as text, HTML, CSV and LaTeX."""

import csv
import html
import io
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from fedlab_core.arguments import checked
from fedlab_ledger.cells import SCALES, Cell, Scale, Table
from fedlab_ledger.lines import Found, Line
from fedlab_ledger.verdict import NONE, WORDS, Verdict, judge

Tables = Mapping[str, Table]
NO_VERDICT = "no verdict"  # measured, and nothing follows about the paper's number


@dataclass(frozen=True)
class Shown:
    """A cell with what was measured of it, at one scale ("-": at none)."""

    cell: Cell
    scale: str
    verdict: Verdict
    seconds: float = 0.0  # of all its runs
    device: str = ""

    @property
    def ours(self) -> str:
        """Mean and interval, or a dash."""
        v, digits = self.verdict, 2 if self.cell.unit == "%" else 3
        if v.n == 0:
            return "-"
        if not math.isfinite(v.half):
            return f"{v.mean:.{digits}f}"
        return f"{v.mean:.{digits}f} ± {v.half:.{digits}f}"

    @property
    def word(self) -> str:
        """The verdict, which on a cell that was run is never "not attempted"."""
        ran = bool(self.device)
        return NO_VERDICT if ran and self.verdict.word == NONE else self.verdict.word

    @property
    def theirs(self) -> str:
        """The paper's number, or a dash."""
        value = self.cell.paper_value
        return "-" if value is None else f"{value:g}"


def best_scale(cell: Cell, found: Found) -> str:
    """The largest scale at which anything was measured."""
    for scale in reversed(SCALES):
        if scale in cell.settings and found.of(cell.key(scale)):
            return scale
    return "-"


@checked
def shown(
    table: Table, tables: Tables, found: Found, scale: Scale | None = None
) -> list[Shown]:
    """Every cell of a table with its verdict, at that scale or the largest there is."""
    return [_shown(cell, tables, found, scale) for cell in table.cells]


def _shown(cell: Cell, tables: Tables, found: Found, scale: str | None) -> Shown:
    at = scale or best_scale(cell, found)
    if at not in cell.settings:
        return Shown(cell, at, Verdict(NONE, cell.lacks or "not run yet"))
    lines = found.of(cell.key(at))
    beside = beside_of(cell, tables)
    over = None
    if beside is not None and at in beside.settings:
        over = _values(found.of(beside.key(at)))
    verdict = judge(
        _values(lines),
        cell.paper_value,
        cell.tolerance,
        scale=at,
        better=cell.better,
        over=over,
        paper_over=None if beside is None else beside.paper_value,
    )
    seconds = sum(line["seconds"] for line in lines.values())
    device = ", ".join(sorted({line["device"] for line in lines.values()}))
    return Shown(cell, at, verdict, seconds, device)


def beside_of(cell: Cell, tables: Tables) -> Cell | None:
    """The cell that the paper shows it beside."""
    if cell.over is None:
        return None
    table, row = cell.over
    return tables[f"{cell.paper}/{table}"].at(row, cell.column)


def _values(lines: Mapping[int, Line]) -> dict[int, float | None]:
    return {seed: line["value"] for seed, line in lines.items()}


def counts(cells: list[Shown]) -> dict[str, int]:
    """How many cells have each verdict."""
    return {w: sum(s.verdict.word == w for s in cells) for w in WORDS}


_HEAD = ("row", "column", "unit", "paper", "ours", "seeds", "scale", "verdict")


def _line(s: Shown) -> tuple[str, ...]:
    c, v = s.cell, s.verdict
    return (c.row, c.column, c.unit, s.theirs, s.ours, str(v.n), s.scale, s.word)


def as_text(table: Table, cells: list[Shown]) -> str:
    """One line a cell, and what the verdicts come to."""
    lines = [_HEAD, *map(_line, cells)]
    wide = [max(len(line[i]) for line in lines) for i in range(len(_HEAD))]
    right = {_HEAD.index(n) for n in ("paper", "ours", "seeds")}
    text = [f"{table.path}: {table.title}"]
    for line in lines:
        parts = [
            f"{v:>{w}}" if i in right else f"{v:{w}}"
            for i, (v, w) in enumerate(zip(line, wide, strict=True))
        ]
        text.append("  ".join(parts).rstrip())
    words = Counter(s.word for s in cells)
    said = ", ".join(f"{words[w]} {w}" for w in (*WORDS, NO_VERDICT) if words[w])
    hours = sum(s.seconds for s in cells) / 3600
    text.append(f"{len(cells)} cells: {said}; {hours:.2f} device hours")
    return "\n".join(text) + "\n"


def as_csv(table: Table, cells: list[Shown]) -> str:
    """One line a cell, with everything that is known of it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    more = ("mean", "half_width", "metric", "tolerance", "why", "where", "reading")
    writer.writerow(["table", *_HEAD, *more, "seconds", "device"])
    for s in cells:
        c, v = s.cell, s.verdict
        numbers = ["" if math.isnan(x) else repr(x) for x in (v.mean, v.half)]
        rest = [c.metric, c.tolerance, v.why, c.where, c.said(s.scale)]
        rest += [round(s.seconds, 3), s.device]
        writer.writerow([table.path, *_line(s), *numbers, *rest])
    return out.getvalue()


def _grid(table: Table, cells: list[Shown]) -> dict[tuple[str, str], Shown]:
    return {(s.cell.row, s.cell.column): s for s in cells}


def as_html(table: Table, cells: list[Shown]) -> str:
    """The paper's own layout: in each place its number, ours, scale and verdict."""
    grid, esc = _grid(table, cells), html.escape
    head = "".join(f'<th scope="col">{esc(c)}</th>' for c in table.columns)
    rows = []
    for row in table.rows:
        places = [grid.get((row, column)) for column in table.columns]
        body = "".join(map(_place, places))
        rows.append(f'<tr><th scope="row">{esc(row)}</th>{body}</tr>')
    return (
        f'<table class="ledger">\n<caption>{esc(table.title)}</caption>\n'
        f'<thead><tr><th scope="col">Method</th>{head}</tr></thead>\n'
        "<tbody>\n" + "\n".join(rows) + "\n</tbody>\n</table>\n"
    )


def _place(s: Shown | None) -> str:
    if s is None:
        return "<td></td>"
    esc, kind = html.escape, s.word.replace(" ", "-")
    why = esc(f"{s.verdict.why}. {s.cell.said(s.scale)}".strip(), quote=True)
    said = f"{s.scale}, {s.verdict.n} seeds: {s.word}"
    return (
        f'<td class="{kind}" title="{why}">{esc(s.theirs)} | {esc(s.ours)}'
        f"<br><small>{esc(said)}</small></td>"
    )


_LATEX = {c: "\\" + c for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≥": r"$\geq$",
    "²": r"$^2$",
    "₂": r"$_2$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "γ": r"$\gamma$",
    "λ": r"$\lambda$",
    "ρ": r"$\rho$",
    "σ": r"$\sigma$",
}


def _tex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in text)


def as_latex(table: Table, cells: list[Shown]) -> str:
    """The paper's layout: its number / ours (scale, seeds)."""
    grid = _grid(table, cells)
    lines = [r"\begin{tabular}{l" + "r" * len(table.columns) + "}", r"\hline"]
    lines.append(" & ".join(["", *map(_tex, table.columns)]) + r" \\ \hline")
    for row in table.rows:
        parts = [_tex(row)]
        for column in table.columns:
            s = grid.get((row, column))
            text = "" if s is None else f"{s.theirs} / {s.ours}"
            if s is not None and s.verdict.n:
                text += f" ({s.scale}, {s.verdict.n})"
            parts.append(_tex(text))
        lines.append(" & ".join(parts) + r" \\")
    lines += [r"\hline", r"\end{tabular}"]
    about = f"% {table.path}: {table.title}: paper / ours (scale, seeds)"
    return "\n".join([about, *lines]) + "\n"
