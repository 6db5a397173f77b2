"""Cells of a paper's tables: each a number, and the settings that reproduce it.

A `Setting` is plain data that says what to run. A `Cell` holds the paper's number and
one setting for each scale: "tiny" (the built-in letters, seconds: a smoke test),
"small" (minutes on a CPU) and "paper" (as published).
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from fedlab_core.arguments import Count, NotNegative, checked
from fedlab_core.errors import require
from fedlab_ledger.model.measures import check_metric

Scale = Literal["tiny", "small", "paper"]
SCALES = get_args(Scale)  # from the cheapest on
RECIPE = 1  # raised when the core makes another number of the same setting
_KEY = 16  # hexadecimal digits of a key

Plain = dict[str, Any]


@checked
@dataclass(frozen=True)
class Setting:
    """A run without its seed, as data: data set, split, network, method, rounds.

    `data`, `scenario`, `network`, `options` and `local` are the options of `data.load`,
    `scenario`, `models.build`, the method and `Training`. Besides its own, `local`
    takes `decay` (a factor a round), `cosine` (rounds) and `crop` (pixels, with
    mirroring); `options` takes `pooled`, for FedCollab's discriminators. `held` is the
    share of every client's samples that nobody ever uses. `parts` are choices of other
    methods: {"groups": {"of": "fedcollab", "C": 5}}.
    """

    dataset: str
    method: str
    rounds: Count
    kind: str = "iid"
    scenario: Plain = field(default_factory=dict)
    data: Plain = field(default_factory=dict)
    sample: Count | None = None  # training samples, of all classes alike
    tail: Sequence[float] | None = None  # rho of training and of test classes, if long
    pooled: bool = False  # training and test samples together
    resize: Count | None = None  # pixels a side
    normalise: Sequence[float] | None = None  # mean and deviation, of every channel
    held: NotNegative = 0.0
    model: str = "mlp"
    network: Plain = field(default_factory=dict)
    options: Plain = field(default_factory=dict)
    weigh: Plain | None = None  # {"name": size, equal or disco, ...its options}
    parts: Plain = field(default_factory=dict)
    local: Plain = field(default_factory=dict)
    participants: Count | None = None
    proxy: Plain | None = None  # the options of `Proxy`

    def plain(self) -> Plain:
        """Fields that differ from their defaults, as JSON can hold them."""
        given = {}
        for f in fields(self):
            default = {} if callable(f.default_factory) else f.default
            if (value := getattr(self, f.name)) != default:
                given[f.name] = value
        return given

    @property
    def key(self) -> str:
        """Hash of the setting, and so of its history but for the seed."""
        return digest({"recipe": RECIPE, "setting": self.plain()})


def canonical(value: Any) -> Any:
    """The same data, written in one way: no tuples, 1 for 1.0."""
    if isinstance(value, Mapping):
        return {str(k): canonical(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [canonical(v) for v in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    sound = value is None or isinstance(value, (bool, int, float, str))
    require(sound, f"a setting is plain data, but holds {value!r}")
    return value


def digest(value: Any) -> str:
    """The first digits of the SHA-256 of some plain data, written in one way."""
    text = json.dumps(canonical(value), sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_KEY]


@checked
@dataclass(frozen=True)
class Cell:
    """One number of a paper, and the setting for it at each scale.

    `metric` says which number of a run it is (see `measures`); `against` holds the
    settings of the run it is compared with, where the metric compares two. `over` is
    the (table, row) of the same column that the paper compares it with. `tolerance` is
    in the cell's unit. `reading` is a remark that holds at every scale, `notes` hold
    at one alone. `paper_spread` is the paper's number after ±: a standard deviation
    over its trials, if `reading` does not say otherwise.
    """

    paper: str
    table: str
    row: str
    column: str
    settings: Mapping[str, Setting]
    paper_value: float | None
    unit: str = "%"
    where: str = ""
    metric: str = "best"
    reading: str = ""
    tolerance: NotNegative = 1.0
    better: Literal["high", "low"] = "high"
    over: tuple[str, str] | None = None
    against: Mapping[str, Setting] = field(default_factory=dict)
    lacks: str = ""  # why a scale is missing
    seeds: tuple[int, ...] | None = None  # those that count, if not the rule's
    notes: Mapping[str, str] = field(default_factory=dict)
    paper_spread: NotNegative | None = None

    def __post_init__(self) -> None:
        strange = [s for s in (*self.settings, *self.notes) if s not in SCALES]
        require(not strange, f"{self.name}: unknown scale {', '.join(strange)}")
        alone = self.paper_spread is not None and self.paper_value is None
        require(not alone, f"{self.name}: a spread without a number")
        check_metric(self.metric)
        missing = [s for s in SCALES if s not in self.settings]
        said = bool(self.lacks) or not missing
        require(said, f"{self.name}: say in lacks why there is no {missing}")

    @property
    def name(self) -> str:
        """Paper, table, row and column in one line."""
        return f"{self.paper}/{self.table} {self.row} | {self.column}"

    @property
    def source(self) -> str:
        """Words for whose number it is: the paper's, if `where` names no other."""
        other = self.where.partition("; ")[2]
        return other if other.startswith("the authors'") else "the paper"

    def said(self, scale: str) -> str:
        """Remarks on it at a scale: its reading and that scale's note."""
        return "; ".join(filter(None, (self.reading, self.notes.get(scale))))

    def runs(self, scale: str) -> tuple[Setting, ...]:
        """Settings to train for it: its own, and one to compare it with."""
        other = self.against.get(scale)
        return (self.settings[scale], *((other,) if other else ()))

    def key(self, scale: str) -> str:
        """Hash of everything that determines the number, but for the seed."""
        setting = self.settings[scale]
        what: Plain = {"recipe": RECIPE, "setting": setting.plain()}
        what["metric"] = self.metric
        if scale in self.against:
            what["against"] = self.against[scale].plain()
        return digest(what)


@checked
@dataclass(frozen=True)
class Table:
    """The cells of a table or figure, in the paper's order."""

    paper: str
    name: str
    title: str
    cells: tuple[Cell, ...]

    def __post_init__(self) -> None:
        places = [(c.row, c.column) for c in self.cells]
        twice = len(set(places)) == len(places)
        require(twice, f"{self.paper}/{self.name}: a place is declared twice")

    @property
    def path(self) -> str:
        """Name on the command line: feddisco/table1."""
        return f"{self.paper}/{self.name}"

    @property
    def rows(self) -> list[str]:
        """The names of the rows, in order."""
        return list(dict.fromkeys(c.row for c in self.cells))

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order."""
        return list(dict.fromkeys(c.column for c in self.cells))

    def at(self, row: str, column: str) -> Cell | None:
        """The cell in that place, if there is one."""
        found = (c for c in self.cells if (c.row, c.column) == (row, column))
        return next(found, None)


def digits(unit: str, size: float) -> int:
    """Digits after the point that a number in a unit is shown with: few for counts."""
    if unit == "bytes" or abs(size) >= 1000:
        return 0
    return {"%": 2, "rounds": 1}.get(unit, 3)
