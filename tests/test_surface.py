"""Whatever is passed: the right result, or one clear line. Nothing else, anywhere.

Every public function and record of the core and the ledger is called from its own
signature with what it asks for and with what it does not: wrong types, ranges, shapes,
NaN, infinity, huge numbers, text, None. A new one is covered without being listed here.
`pytest tests/test_surface.py --hypothesis-profile long` takes ten minutes.
"""

import importlib
import inspect
import math
import os
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin
from typing import get_type_hints as hints_of

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

import fedlab_core as fl
import fedlab_ledger as ledger
from fedlab_core import client, engine, models, rounds
from fedlab_core.arguments import Axes, OnDevice, Within, held, kind_of
from fedlab_core.arguments.validators import WHEN_PASSED
from fedlab_core.errors import InputError
from fedlab_ledger.model.lines import Found
from fedlab_ledger.run.jobs import Job
from tests.once import each

ROOMS = (
    "fedlab_core",
    *(
        f"fedlab_core.{room}"
        for room in ("data", "partition", "partition.scenarios", "models", "client")
    ),
    *(f"fedlab_core.{room}" for room in ("engine", "metrics", "rounds", "methods")),
    "fedlab_use",
    "fedlab_use.analysis",
    "fedlab_ledger",
)
# Protocols say what a function must look like: there is nothing to call.
Surface = dict[str, Callable]


def surface() -> Surface:
    """Public names: those that rooms offer, without an underscore."""
    found: Surface = {}
    for room in ROOMS:
        for name, thing in vars(importlib.import_module(room)).items():
            ours = getattr(thing, "__module__", "").startswith("fedlab_")
            error = inspect.isclass(thing) and issubclass(thing, BaseException)
            if name[0] == "_" or not ours or not callable(thing) or error:
                continue
            if isinstance(thing, (TypeVar, fl.Method)) or not hasattr(
                thing, "__name__"
            ):
                continue
            if room.endswith(".scenarios") and thing.__module__ != room:
                continue
            if thing.__module__.startswith(("fedlab_core.errors", "fedlab_core.arg")):
                continue  # what rooms are written with, and do not offer
            if getattr(thing, "_is_protocol", False):
                continue
            found.setdefault(f"{thing.__module__}.{thing.__qualname__}", thing)
    return found


SURFACE = surface()
# Records that are made in every step: held to their signature where they are passed.
PASSED = [n for n, thing in SURFACE.items() if hasattr(thing, WHEN_PASSED)]
# What rules call in every step, inside the engine's transforms, where no tensor can be
# looked into: what they are given was held to a signature before.
LOSSES = (".entropies", ".cross_entropy", ".losses", ".squared", ".logistic")
INSIDE = [n for n in SURFACE if n.endswith(LOSSES)]


# -- what fits -----------------------------------------------------------------------

SHAPE, CLASSES, N = (1, 4, 4), 3, 24
DRAW = np.random.default_rng(0)
DATA = fl.Dataset(
    "toy",
    DRAW.integers(0, 255, (N, 4, 4)).astype(np.uint8),
    np.arange(N) % CLASSES,
    DRAW.integers(0, 255, (N, 4, 4)).astype(np.uint8),
    np.arange(N) % CLASSES,
    ("a", "b", "c"),
    (0.5,),
    (0.25,),
)
MAKE = fl.build("mlp", SHAPE, CLASSES, hidden=(3,))
WHO = fl.iid(DATA.y_train, 3)
WORLD = fl.world(DATA, WHO, MAKE, proxy=fl.Proxy(2))
START = models.initial_state(MAKE, 0)
STACKED = {n: torch.stack([v] * 3) for n, v in START.items()}
TRAINING = fl.Training(lr=0.1, batch_size=4)
COHORT = [engine.Client(WORLD.client(k), (0, 0, k)) for k in range(3)]
GIVEN = fl.ClientInput(STACKED)
VIEW = WORLD.view
SERVER = fl.ServerState(START)
MEMBERS = fl.Members.holding(WORLD.counts)
LOSS = torch.zeros(3)
TRAINED = engine.Trained(STACKED, LOSS, torch.ones(3, dtype=torch.int64))
HISTORY = fl.federate(WORLD, fl.fedavg(TRAINING), 1, progress=False)

SETTING = ledger.Setting("letters", "fedavg", 1, data={"n_train": 60, "n_test": 20})
CELL = ledger.Cell("made", "t", "r", "c", {"tiny": SETTING}, 50.0, lacks="the others")
TABLE = ledger.Table("made", "t", "made up", (CELL,))

CLAIM = ledger.Claim("made", "same", "As good.", CELL, CELL, sign=0)
JOB = Job("tiny", (SETTING,), (0,), (CELL,))

GOOD: dict[Any, list[Any]] = {
    bool: [True, False],
    str: ["letters", "fedavg", "mlp", "iid", "kl", "x", ""],
    fl.Dataset: [DATA],
    fl.Partition: [WHO],
    fl.World: [WORLD],
    fl.Method: [fl.fedavg(TRAINING), fl.feddisco(TRAINING), fl.scaffold(TRAINING)],
    fl.Training: [TRAINING],
    fl.Rule: [fl.Rule()],
    fl.ClientInput: [GIVEN],
    fl.Batch: [fl.Batch(WORLD.x[:2], WORLD.y[:2], torch.ones(2) / 2, torch.tensor(1))],
    fl.Members: [MEMBERS],
    fl.ServerState: [SERVER],
    rounds.ServerView: [VIEW],
    fl.Scenario: [fl.scenario(DATA, "iid", clients=3)],
    fl.Proxy: [fl.Proxy(1)],
    fl.Groups: [fl.everyone],
    fl.Personal: [fl.Personal("nothing")],
    fl.Server: [fl.fedavg().server],
    fl.Exchange: [fl.Exchange(client.losses)],
    fl.Run: [fl.Run(WORLD, fl.fedavg(TRAINING), 1)],
    fl.History: [HISTORY],
    engine.Client: COHORT,
    engine.Trained: [TRAINED],
    nn.Module: [WORLD.model],
    ledger.Setting: [SETTING],
    ledger.Cell: [CELL],
    ledger.Table: [TABLE],
    ledger.Claim: [CLAIM],
    ledger.Store: [ledger.Store(Path("ledger"))],
    Job: [JOB],
    Found: [Found()],
    np.random.Generator: [np.random.default_rng(0)],
    torch.Generator: [torch.Generator().manual_seed(0)],
    torch.device: [torch.device("cpu")],
    Tensor: [WORLD.x, WORLD.y, torch.ones(3), torch.ones(3, 3), torch.zeros(0)],
    np.ndarray: [DATA.y_train, DATA.x_train, np.ones(3), np.eye(3)],
    Path: [Path("no/such/file")],
    os.PathLike: [Path("no/such/file")],
}
HOOKS: dict[str, list[Callable]] = {
    "make": [MAKE],
    "of": [client.losses],
    "loss": [client.cross_entropy],
    "weigh": [fl.BySize(), fl.Equal()],
    "observe": [lambda now: {"seen": now.number}],
}
ANY_HOOK: list[Callable] = [lambda *given, **more: None]
POOL: list[Any] = [
    None, True, -1, 0, 0.5, 2, 1e300, -1e300, math.nan, math.inf, -math.inf, 2**31,
    2**63, 10**20, 10**5000,
    WORLD.model, "", "no", "x" * 300, "\x1b[2J", b"x", [], {}, (), [[1], [1, 2]],
    [None], {"a": None}, {1: 2}, object(), int, ..., np.float64("nan"), np.int64(-3),
    np.zeros(0), np.array(["a"]), np.array([None]), np.full((2, 2), np.nan),
    -np.ones(3), np.ones((1, 2, 3, 4, 5)), torch.zeros(0), torch.tensor(math.nan),
    torch.tensor([-1]), torch.ones(2, 2, dtype=torch.complex64), 1j, lambda: None,
]  # fmt: skip


def fitting(hint: Any, name: str) -> st.SearchStrategy:
    """Something that a hint allows; small, so that what is called takes no time."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return marked(args[0], args[1:], name)
    if origin in (Union, types.UnionType):
        return st.one_of([fitting(a, name) for a in args])
    if origin is Literal:
        return st.sampled_from(args)
    if origin is tuple and Ellipsis not in args:
        return st.tuples(*(fitting(a, name) for a in args))
    if origin in (tuple, list, Sequence):
        many = st.lists(fitting(args[0], name), max_size=3)
        shapes = st.sampled_from([SHAPE, (5,), (3, 32, 32)])
        return st.one_of(many.map(tuple), shapes) if name == "shape" else many
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if args[1:] == (Tensor,):
            return st.sampled_from([START, STACKED, {}])
        return st.dictionaries(
            st.sampled_from("ab"), fitting(args[1], name), max_size=2
        )
    if hint is type(None):
        return st.none()
    if hint is int:
        return st.integers(0, 4)
    if hint is float:
        return st.sampled_from([0.0, 0.5, 1, 2.0])
    if hint is Any or hint in (dict, object):
        return st.sampled_from([{}, 1, "x"])
    if origin is Callable or getattr(hint, "_is_protocol", False) or hint is Callable:
        return st.sampled_from(HOOKS.get(name, ANY_HOOK))
    if hint in GOOD:
        return st.sampled_from(GOOD[hint])
    return st.builds(hint) if can_be_made(hint) else st.nothing()


def can_be_made(hint: Any) -> bool:
    try:
        hint()
    except (InputError, TypeError):
        return False
    return True


def marked(base: Any, marks: tuple, name: str) -> st.SearchStrategy:
    for mark in marks:
        if isinstance(mark, OnDevice):
            return st.sampled_from(["cpu", torch.device("cpu")])
        if isinstance(mark, Within):
            low, high = max(mark.low, -4), min(mark.high, max(mark.low, 0) + 3)
            if base is int:
                return st.integers(int(low), int(high))
            return st.floats(
                low,
                high,
                exclude_min=mark.above,
                exclude_max=mark.below,
                allow_subnormal=False,
            )
        if isinstance(mark, Axes):
            if get_origin(base) is dict:
                return st.sampled_from([STACKED])
            return arrays(base, mark)
    return fitting(base, name)


@st.composite
def arrays(draw, base: Any, mark: Axes) -> Any:
    """An array of the axes that a mark names, 24 samples or three of anything else."""
    names = mark.names.split()
    sizes = [N if name in ("samples", "train", "test", "tests", "pool") else 3
             for name in names if name != "..."]  # fmt: skip
    if names[-1] == "..." and draw(st.booleans()):
        sizes += [4, 4]
    made = DRAW.integers(0, 3, sizes)
    if mark.kind == "number" and draw(st.booleans()):
        made = made + 0.5
    return torch.from_numpy(np.asarray(made)) if base is Tensor else np.asarray(made)


# -- what is asked of everything -----------------------------------------------------


def parameters_of(thing: Callable) -> dict[str, tuple[Any, inspect.Parameter]]:
    """A thing's arguments: what each is held to, and how it is declared."""
    made = getattr(thing, "__init__") if inspect.isclass(thing) else thing  # noqa: B009
    hints = hints_of(made, include_extras=True)
    asked = inspect.signature(made).parameters.values()
    loose = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {p.name: (hints.get(p.name, Any), p)
            for p in asked if p.name != "self" and p.kind not in loose}  # fmt: skip


def never(value: Any, hint: Any) -> bool:
    """Whether no reading of a hint allows this value: told without the core's help."""
    origin, args = get_origin(hint), get_args(hint)
    huge = isinstance(value, int) and abs(value) > 1e308  # for a float
    if huge and hint in (int, float):
        return hint is float
    if huge and origin is Annotated and args[0] in (int, float):
        return True
    if origin in (Union, types.UnionType):
        return all(never(value, a) for a in args)
    if origin is Annotated and args[0] in (int, float):
        if isinstance(args[1], str):  # a measured number may be anything
            return never(value, args[0]) and not isinstance(value, float)
        within: Within = args[1]
        number = isinstance(value, (int, float, np.number))
        if number and not isinstance(value, bool):
            low, high = float(within.low), float(within.high)
            return not low <= float(value) <= high
        return True
    if hint in (int, float):
        number = isinstance(value, (int, float, np.number))
        number = number and not isinstance(value, bool)
        return not number or not math.isfinite(value)
    if hint in (bool, str):
        return not isinstance(value, (hint, np.bool_))
    if origin is Literal:
        return value not in args if isinstance(value, (str, int)) else True
    if inspect.isclass(hint) and hint.__module__.startswith("fedlab_"):
        return not getattr(hint, "_is_protocol", False) and not isinstance(value, hint)
    return False


@each(SURFACE)
def test_everything_public_is_held_to_its_signature(name):
    thing = SURFACE[name]
    made = thing.__init__ if inspect.isclass(thing) else thing
    hints = hints_of(made, include_extras=True)
    asked = [p for p in inspect.signature(made).parameters.values() if p.name != "self"]
    assert all(p.name in hints for p in asked if p.kind != p.VAR_KEYWORD), "a bare name"
    if asked and name not in INSIDE + PASSED:
        assert hasattr(made, "__wrapped__"), f"{name} is not @checked"


def test_few_records_are_held_where_they_are_passed():
    assert {n.split(".")[-1] for n in PASSED} == {"Batch", "ClientInput"}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Run in an empty folder, for functions that write files."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", [name for name in SURFACE if name not in INSIDE])
@given(data=st.data())
def test_whatever_is_passed_is_right_or_refused_in_one_line(name, data):
    thing = SURFACE[name]
    given, wrong = {}, []
    asked = parameters_of(thing)
    spoilt = (
        data.draw(st.sets(st.sampled_from(list(asked)), max_size=2)) if asked else ()
    )
    for argument, (hint, declared) in asked.items():
        if argument in spoilt:
            at = data.draw(st.integers(0, len(POOL) - 1), label=f"{argument}: pool")
            given[argument] = POOL[at]
            wrong += [argument] * never(POOL[at], hint)
        elif declared.default is declared.empty or data.draw(st.booleans()):
            strategy = fitting(hint, argument)
            if not strategy.is_empty:
                given[argument] = data.draw(strategy, label=argument)
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")
            made = thing(**given)
            if name in PASSED:
                held(made, kind_of(thing), {}, name)
    except InputError as error:
        assert "\n" not in str(error) and str(error)
    else:
        assert not wrong, f"{name} took {', '.join(f'{a}={given[a]!r}' for a in wrong)}"


@each(name for name in SURFACE if name not in INSIDE)
def test_an_argument_that_is_not_there_is_named(name):
    says = TypeError if name in PASSED else InputError  # Python's own words, or ours
    with pytest.raises(says) as refused:
        SURFACE[name](no_such_argument=1)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("part", ["start", "state", "broadcast"])
@pytest.mark.parametrize("wrong", [None, 1, [], {"w": 1}, {1: torch.ones(3)}])
def test_what_a_cohort_is_given_is_held_where_it_is_passed(part, wrong):
    given, rule = fl.ClientInput(**({"start": STACKED} | {part: wrong})), fl.Rule()
    for call in (
        lambda: fl.train(WORLD.model, WORLD.x, WORLD.y, COHORT, given, TRAINING),
        lambda: engine.begin_states(WORLD.model, TRAINING, rule, given),
    ):
        with pytest.raises(
            InputError, match=f"given must be .* whose {part} is .*dict"
        ):
            call()
