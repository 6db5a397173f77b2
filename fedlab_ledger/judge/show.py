"""A paper's table side by side with ours: as text, HTML, CSV and LaTeX."""

import csv
import html
import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from fedlab_core.arguments import checked
from fedlab_ledger.model.cells import SCALES, Cell, Scale, Table, digits
from fedlab_ledger.model.describe import ran_on
from fedlab_ledger.model.lines import Found
from fedlab_ledger.model.provenance import counted
from fedlab_ledger.model.verdict import NONE, Verdict, judge

Tables = Mapping[str, Table]
# Whether a cell was measured, and whether that can be laid beside the paper's number.
Status = Literal["comparable", "on a stand-in", "not comparable", "not run"]
STATUSES: tuple[Status, ...] = get_args(Status)
COMPARABLE, STAND_IN, APART, NOT_RUN = STATUSES


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
        v = self.verdict
        if v.n == 0:
            return "-"
        places = digits(self.cell.unit, v.mean)
        half = f" ± {v.half:.{places}f}" if math.isfinite(v.half) else ""
        return f"{v.mean:.{places}f}{half}"

    @property
    def status(self) -> Status:
        """Measured beside the paper's number, on a stand-in, beside none, or not."""
        if self.verdict.word == NONE:
            return NOT_RUN
        if self.cell.paper_value is None:
            return APART
        return COMPARABLE if self.scale == "paper" else STAND_IN

    @property
    def word(self) -> str:
        """The verdict where there can be one, else the status."""
        return self.verdict.word if self.status == COMPARABLE else self.status

    @property
    def ran_on(self) -> str:
        """Data, network, clients, rounds and seeds; nothing where nothing was run."""
        if self.status == NOT_RUN:
            return ""
        seeds = self.verdict.n + self.verdict.lost
        return ran_on(self.cell.settings[self.scale], seeds)

    @property
    def theirs(self) -> str:
        """The paper's number, or a dash."""
        value, spread = self.cell.paper_value, self.cell.paper_spread
        own = "" if spread is None else f" ± {spread:g}"
        return "-" if value is None else f"{value:g}{own}"


def best_scale(cell: Cell, found: Found) -> str:
    """The largest scale at which anything was measured that says something."""
    for scale in reversed(SCALES):
        if scale in cell.settings and found.of(cell.key(scale)):
            return scale
    return "-"


@checked
def shown(table: Table, found: Found, scale: Scale | None = None) -> list[Shown]:
    """Every cell of a table with its verdict, at that scale or the largest there is."""
    return [_shown(cell, found, scale) for cell in table.cells]


def _shown(cell: Cell, found: Found, scale: str | None) -> Shown:
    at = scale or best_scale(cell, found)
    if at not in cell.settings:
        return Shown(cell, at, Verdict(NONE, cell.lacks or "not run yet"))
    mine = counted(cell, at, found)
    values = {seed: line["value"] for seed, line in mine.items()}
    verdict = Verdict(NONE, "tiny runs show that it works, nothing else")
    if at != "tiny" or not mine:
        how = {"own_scale": at == "paper", "whose": cell.source}
        verdict = judge(values, cell.paper_value, cell.tolerance, **how)
    seconds = sum(line["seconds"] for line in mine.values())
    device = ", ".join(sorted({line["device"] for line in mine.values()}))
    return Shown(cell, at, verdict, seconds, device)


def counts(cells: Sequence[Shown]) -> dict[Status, int]:
    """How many cells have each status: together they are all."""
    return {status: sum(s.status == status for s in cells) for status in STATUSES}


def summed(cells: Sequence[Shown]) -> str:
    """The statuses in a line, with the verdicts of those that are comparable."""
    words = Counter(s.word for s in cells if s.status == COMPARABLE)
    verdicts = ", ".join(f"{n} {word}" for word, n in words.items())
    said = [
        f"{n} {status}" + f" ({verdicts})" * (status == COMPARABLE)
        for status, n in counts(cells).items()
        if n
    ]
    return ", ".join(said) or "no cell"


_HEAD = ("row", "column", "unit", "paper", "ours", "verdict", "ran on")


def _line(s: Shown) -> tuple[str, ...]:
    c = s.cell
    return (c.row, c.column, c.unit, s.theirs, s.ours, s.word, s.ran_on)


def as_text(table: Table, cells: list[Shown]) -> str:
    """One line a cell, and what the verdicts come to."""
    lines = [_HEAD, *map(_line, cells)]
    wide = [max(len(line[i]) for line in lines) for i in range(len(_HEAD))]
    right = {_HEAD.index(n) for n in ("paper", "ours")}
    text = [f"{table.path}: {table.title}"]
    for line in lines:
        parts = [
            f"{v:>{w}}" if i in right else f"{v:{w}}"
            for i, (v, w) in enumerate(zip(line, wide, strict=True))
        ]
        text.append("  ".join(parts).rstrip())
    hours = sum(s.seconds for s in cells) / 3600
    text.append(f"{len(cells)} cells: {summed(cells)}; {hours:.2f} device hours")
    return "\n".join(text) + "\n"


def as_csv(table: Table, cells: list[Shown]) -> str:
    """One line a cell, with everything that is known of it.

    Text that a spreadsheet would take for a formula stands behind an apostrophe.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    more = ("status", "scale", "seeds", "lost", "mean", "half_width", "metric")
    more += ("tolerance", "why", "where", "reading", "seconds", "device")
    writer.writerow(["table", *_HEAD, *more])
    for s in cells:
        c, v = s.cell, s.verdict
        numbers = ["" if math.isnan(x) else f"{x:.10g}" for x in (v.mean, v.half)]
        rest = [s.status, s.scale, v.n, v.lost, *numbers, c.metric, c.tolerance]
        rest += [v.why, c.where, c.said(s.scale), round(s.seconds, 3), s.device]
        writer.writerow(map(_no_formula, [table.path, *_line(s), *rest]))
    return out.getvalue()


def _no_formula(value: object) -> object:
    formula = isinstance(value, str) and value[:1] in ("=", "@", "\t", "\r")
    return f"'{value}" if formula else value


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
    said = f"{s.word}: {s.ran_on}" if s.ran_on else s.word
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
    """The paper's layout: its number / ours, and below on what ours ran."""
    grid = _grid(table, cells)
    marks = {text: i for i, text in enumerate(_on(cells), start=1)}
    wide = 1 + len(table.columns)
    lines = [r"\begin{tabular}{l" + "r" * (wide - 1) + "}", r"\hline"]
    lines.append(" & ".join(["", *map(_tex, table.columns)]) + r" \\ \hline")
    for row in table.rows:
        parts = [_tex(row)]
        for column in table.columns:
            s = grid.get((row, column))
            text = "" if s is None else _tex(f"{s.theirs} / {s.ours}")
            if s is not None and s.ran_on:
                text += f"$^{{{marks[s.ran_on]}}}$"
            parts.append(text)
        lines.append(" & ".join(parts) + r" \\")
    lines.append(r"\hline")
    for text, i in marks.items():
        said = f"$^{{{i}}}$ ours: {_tex(text)}"
        lines.append(rf"\multicolumn{{{wide}}}{{l}}{{{said}}} \\")
    lines.append(r"\end{tabular}")
    about = f"% {table.path}: {table.title}: paper / ours"
    return "\n".join([about, *lines]) + "\n"


def _on(cells: Sequence[Shown]) -> list[str]:
    """Runs behind the cells, as `ran_on` puts them, each once."""
    return list(dict.fromkeys(s.ran_on for s in cells if s.ran_on))
