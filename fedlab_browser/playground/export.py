"""The playground as files: programs traced from the core, letters, and the page.

`rules.json` has every program once, and which of them each choice runs; `task.json`
what can be chosen, labels, first models and who takes part; `splits-N.json` who holds
what among N clients; `letters.bin` the images: to learn from, to test on, the server's.
All of them are read by `page/federation.js`.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from fedlab_browser.playground import state as can
from fedlab_browser.playground.task import (
    HIDDEN,
    TEST,
    TRAIN,
    divided,
    letters,
    placed,
    proxy,
)
from fedlab_browser.playground.weights import WEIGHS
from fedlab_browser.tracing import MethodPrograms, Program, trace
from fedlab_browser.tracing.trace_method import CHUNK, PARTS, Part
from fedlab_core import Method, Training
from fedlab_core.atomic_files import replacing
from fedlab_core.engine.merge_runs import parameters_from_broadcast
from fedlab_core.errors import require
from fedlab_core.keys import derive_seed
from fedlab_core.methods.combined import named
from fedlab_core.models import describe
from fedlab_core.rounds.records import draw_participants

PAGE = Path(__file__).parent / "page"
FIRST = 0xF1257  # what a run's first model is drawn from, with its seed
RULE: list[Part] = [part for part in PARTS if part not in ("weigh", "own", "judge")]
SERVER: list[Part] = ["begin", "search", "learn", "server"]
PLAIN = Training(batch_size=can.BATCH)
_DIGITS = "0123456789"
_A, _B = Training(lr=0.1, epochs=5), Training(lr=0.3, epochs=7)


class Rules:
    """Programs, each kept once, and which of them every choice runs."""

    def __init__(self, known: Sequence[dict] = ()) -> None:
        self.world = placed("dirichlet", 10, 0.5, 0)
        self.programs = list(known)
        self._at = {json.dumps(p, sort_keys=True): i for i, p in enumerate(known)}

    def keep(self, program: Program) -> int:
        """The number of a program among all; its shapes are for Python alone."""
        plain = _short(program.plain())
        del plain["shapes"]
        said = json.dumps(plain, sort_keys=True)
        if said not in self._at:
            self._at[said] = len(self.programs)
            self.programs.append(plain)
        return self._at[said]

    def trace(
        self, method: Method, members: list[int], parts: Sequence[Part] = PARTS
    ) -> MethodPrograms:
        found = trace(method, self.world, members, parts)
        why = "; ".join(found.refused.values())
        require(not why, f"{method.name} cannot be played in a browser: {why}")
        return found

    def client(self, found: MethodPrograms, part: str = "client") -> dict[str, int]:
        return {n: self.keep(p) for n, p in found.clients[part].parts.items()}

    def members(self, found: MethodPrograms, part: str) -> dict[int, int]:
        return {k: self.keep(p) for k, p in found.members.get(part, {}).items()}

    def rule(self, mine: Method, numbers: dict[str, Any]) -> dict[str, Any]:
        """Numbers of the programs by which a method's clients train and are judged."""
        most = max(map(int, can.SLIDERS["clients"].stops))
        found = self.trace(mine, list(range(1, most + 1)), RULE)
        rule, exchange = mine.rule, mine.rule.exchange
        about: dict[str, Any] = {
            **self.client(found),
            "numbers": numbers,
            "needs": list(rule.needs),
            "weigh": mine.weigh.name if mine.weigh.name in WEIGHS else "",
            "kept": mine.personal.kept or "",
        }
        if exchange is not None:
            about |= {
                "when": exchange.when,
                "report": self.keep(found.programs["report"]),
            }
            about |= {n: self.members(found, n) for n in ("share", "apart")}
        if mine.personal.adapt is not None:
            about["adapt"] = self.adapted(mine, found)
        if mine.training != PLAIN:
            about["personal"] = {"ditto": self.beside(mine.training)}
        return about | {"server": self.server_of(found)}

    def beside(self, training: Training) -> dict[str, Any]:
        """Programs by which Ditto trains a client's own model."""
        found = self.trace(named("ditto", training), [], ["own"])
        return {**self.client(found, "own"), "numbers": numbers_of("ditto", "personal")}

    def adapted(self, method: Method, found: MethodPrograms) -> dict[str, Any]:
        adapt = method.personal.adapt
        assert adapt is not None and isinstance(adapt.iterations, int)
        return {**self.client(found, "adapt"), "steps": adapt.iterations}

    def server_of(self, found: MethodPrograms) -> dict[str, Any]:
        """Programs of a server; of one that learns, its steps and their loop, too."""
        every: dict[str, Any] = {"begin": self.keep(found.programs["begin"])}
        every |= {str(k): n for k, n in self.members(found, "server").items()}
        if found.loop:
            every |= {part: self.members(found, part) for part in ("search", "learn")}
            every["loop"] = found.loop
        return every


def numbers_of(name: str, choice: str) -> dict[str, Any]:
    """Each number that a client is sent for the rule: where the page finds it.

    A number, or "epochs", "lr" or "METHOD.OPTION": what it has to be equal to.
    """
    knobs = {n: s for n, s in can.KNOBS.items() if s.of == {choice: (name,)}}

    def at(training: Training, **options) -> dict[str, float]:
        method = named(name, training, options)
        rule = method.personal.own_model if choice == "personal" else method.rule
        return {} if rule is None else parameters_from_broadcast(rule)[1]

    plain, other = at(_A), at(_B)
    found: dict[str, Any] = dict(plain)
    for n, value in plain.items():
        if other[n] != value:
            moved = {"epochs": (_A.epochs, _B.epochs), "lr": (_A.lr, _B.lr)}
            (found[n],) = (w for w, pair in moved.items() if pair == (value, other[n]))
    for knob, slider in knobs.items():
        option = knob.partition(".")[2]
        for n in plain:
            seen = [at(_A, **{option: float(v)})[n] for v in slider.stops]
            if len(set(seen)) > 1:
                require(seen == [float(v) for v in slider.stops], f"{knob} is not {n}")
                found[n] = knob
    return found


def rules() -> dict[str, Any]:
    """All programs, and which of them every choice runs."""
    made, plain = Rules(), PLAIN
    most = max(map(int, can.SLIDERS["clients"].stops))
    every = list(range(1, most + 1))
    found: dict[str, Any] = {
        "rule": {}, "weigh": {}, "server": {}, "personal": {},
    }  # fmt: skip
    for name in can.CHOICES["rule"]:
        numbers = numbers_of(name, "rule")
        for stop, method in _rules(name, plain):
            found["rule"][name + stop] = made.rule(method, numbers)
    for name in can.CHOICES["weigh"]:
        for option, method in _variants("weigh", name, plain):
            programs = made.members(made.trace(method, every, ["weigh"]), "weigh")
            found["weigh"][name + option] = programs
    for name in can.CHOICES["server"]:
        for option, method in _variants("server", name, plain):
            traced = made.trace(method, every, SERVER)
            found["server"][name + option] = made.server_of(traced)
    tuned = named("finetune", plain)
    found["personal"]["finetune"] = {
        "adapt": made.adapted(tuned, made.trace(tuned, [], ["adapt"]))
    }
    found["personal"]["ditto"] = made.beside(plain)
    judge = made.trace(named("fedavg", plain), [], ["judge"]).programs["judge"]
    return {"programs": made.programs, "judge": made.keep(judge), **found}


def _rules(name: str, plain: Training) -> Iterator[tuple[str, Method]]:
    """A rule; where its number is one of the training's, too, once for each stop."""
    usual = named(name, plain)
    knobs = {n: s for n, s in can.KNOBS.items() if s.of == {"rule": (name,)}}
    every = [
        (f" {stop:g}", named(name, plain, {knob.partition(".")[2]: float(stop)}))
        for knob, slider in knobs.items()
        for stop in slider.stops
    ]
    trained = {method.training for _, method in every} | {usual.training}
    yield from every if len(trained) > 1 else [("", usual)]


def _variants(choice: str, name: str, plain: Training) -> Iterator[tuple[str, Method]]:
    """A choice's methods: one for each stop of its number, whose value they bear."""
    donor = {"average": "fedavg"}.get(name, name)
    knobs = {n: s for n, s in can.KNOBS.items() if s.of == {choice: (name,)}}
    if not knobs:
        yield "", _made(choice, donor, plain, {})
    for knob, slider in knobs.items():
        option = knob.partition(".")[2]
        if option == "server_epochs":  # the most: fewer are the first of them
            yield "", _made(choice, donor, plain, {option: slider.stops[-1]})
            continue
        for stop in slider.stops:
            yield f" {stop:g}", _made(choice, donor, plain, {option: float(stop)})


def _made(choice: str, name: str, plain: Training, options: dict) -> Method:
    if choice == "weigh":
        return replace(named("fedavg", plain), weigh=WEIGHS[name](**options))
    return named(name, plain, options)


def task() -> dict[str, Any]:
    """Choices of the page, and data that all of them have in common."""
    data = letters()
    net = describe("mlp", data.shape, len(data.classes), hidden=HIDDEN)
    return {
        "choices": can.CHOICES, "says": can.SAYS,
        "numbers": {n: asdict(s) for n, s in can.NUMBERS.items()},
        "divides": can.DIVIDES, "refused": refusals(),
        "rounds": can.ROUNDS, "work": can.WORK, "batch": can.BATCH, "chunk": CHUNK,
        "classes": list(data.classes), "train": TRAIN, "test": TEST,
        "side": data.x_train.shape[1], "mean": float(data.mean[0]),
        "std": float(data.std[0]), "parameters": net.parameters,
        "y": _digits(data.y_train), "y_test": _digits(data.y_test),
        "y_proxy": _digits(proxy().y_train),
        "shapes": {n: list(v.shape) for n, v in
                   placed("dirichlet", 10, 0.5, 0).make().state_dict().items()},
        "first": {int(s): derive_seed(int(s), FIRST) % 2**32
                  for s in can.SLIDERS["seed"].stops},
        "present": participants(),
    }  # fmt: skip


def refusals() -> dict[str, str]:
    """ "rule=scaffold&server=shrunk": why two choices do not go together."""
    found = {}
    names = ("rule", "weigh", "server", "groups", "personal", "pace")
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            for x in can.CHOICES[a]:
                for y in can.CHOICES[b]:
                    if why := can.refused({**can.USUAL, a: x, b: y}):
                        found[f"{a}={x}&{b}={y}"] = why
    return found


def participants() -> dict[str, list[str]]:
    """ "10 5 0": who takes part of 10 when 5 do, by the seed 0, round after round."""
    found = {}
    for n in map(int, can.SLIDERS["clients"].stops):
        for share in can.SLIDERS["present"].stops:
            k = can.present({**can.USUAL, "clients": n, "present": share})
            for seed in map(int, can.SLIDERS["seed"].stops):
                if k is not None:
                    rounds = (
                        draw_participants(n, k, seed, t) for t in range(can.ROUNDS)
                    )
                    found[f"{n} {k} {seed}"] = [
                        "".join(map(str, who)) for who in rounds
                    ]
    return found


def splits(clients: int) -> dict[str, dict[str, Any]]:
    """Every division among so many clients, by its kind, number and draw."""
    found = {}
    for kind in can.CHOICES["split"]:
        number = can.DIVIDES.get(kind)
        stops = can.SLIDERS[number].stops if number else (0,)
        for stop in stops:
            for draw in map(int, can.SLIDERS["draw"].stops):
                split = (kind, clients, float(stop), draw)
                found[f"{kind} {stop:g} {draw}"] = _division(split)
    return found


def _division(split: tuple[str, int, float, int]) -> dict[str, Any]:
    """The owner of each letter ("-": nobody), wrong labels, and coalitions."""
    s, owner = divided(*split), np.full(TRAIN, "-")
    for k, held in enumerate(s.train.indices):
        owner[held] = str(k)
    stops = can.KNOBS["fedcollab.C"].stops
    groups = {f"{C:g}": can.coalitions(split, float(C)) for C in stops}
    about: dict[str, Any] = {"owner": "".join(owner)}
    about["fedcollab"] = {c: "".join(map(str, g)) for c, g in groups.items()}
    if s.corrupted:
        (about["wrong"],) = s.corrupted
        held = s.train.indices[about["wrong"]]
        about["labels"] = _digits(s.data.y_train[held])
    return about


def _digits(labels: np.ndarray) -> str:
    return "".join(_DIGITS[c] for c in labels)


def _short(value: Any) -> Any:
    """Numbers as short as they say a float32 exactly."""
    if isinstance(value, dict):
        return {str(k): _short(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_short(v) for v in value]
    if isinstance(value, float):
        near = value.is_integer() and abs(value) < 1e9
        return int(value) if near else float(f"{value:.9g}")
    return value


def text(value: Any) -> str:
    """A value as the files have it: JSON without what nobody reads."""
    return json.dumps(_short(value), separators=(",", ":"), ensure_ascii=False)


def names() -> list[str]:
    """The files that the page asks for."""
    return [*_makers(), "letters.bin"]


def _makers() -> dict[str, Callable[[], Any]]:
    made: dict[str, Callable[[], Any]] = {"rules.json": rules, "task.json": task}
    for n in map(int, can.SLIDERS["clients"].stops):
        made[f"splits-{n}.json"] = lambda n=n: splits(n)
    return made


def write(folder: Path, say: Callable[[str], object] = lambda text: None) -> None:
    """All that the page asks for, below a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    data = letters()
    for name, make in _makers().items():
        _put(folder / name, text(make()).encode())
        say(name)
    images = np.concatenate([data.x_train, data.x_test, proxy().x_train])
    _put(folder / "letters.bin", images.tobytes())
    say("letters.bin")


def _put(path: Path, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)
