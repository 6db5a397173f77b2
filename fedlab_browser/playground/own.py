"""A method of the reader's own in the playground, beside all that is there already."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import torch

from fedlab_browser.playground import state as can
from fedlab_browser.playground.export import PLAIN, SERVER, Rules, text
from fedlab_browser.playground.page_file import Page, kept
from fedlab_browser.playground.weights import WEIGHS
from fedlab_core import Method, Training
from fedlab_core.arguments import checked
from fedlab_core.engine.merge_runs import parameters_from_broadcast
from fedlab_core.errors import InputError, require
from fedlab_core.methods.combined import compose
from fedlab_core.methods.fedavg import AVERAGE
from fedlab_core.rounds.groups import everyone, nobody
from fedlab_core.rounds.method import COMMON, nothing
from fedlab_core.rounds.validate_hooks import weights_of
from fedlab_core.rounds.weigh import Members

MINE = "mine"  # what an address calls a choice that the page did not have
_SLIDERS = ("lr", "epochs", "batch_size")  # of the training: the page has its own
_STEP = ("momentum", "weight_decay", "clip", "rmsprop")  # what a step does besides
_ROWS = ("rule", "weigh", "server", "groups", "personal")


@checked
def playground(method: Method) -> Page:
    """The playground with this method in it: a notebook shows it, `save` writes it.

    What of its choices the page does not have is traced, and can be chosen there like
    all the rest. Learning rate, epochs and the size of mini-batches are the page's.

    Raises:
        InputError: where a choice cannot be played in a browser, with the reason.
    """
    _require_playable(method)
    method = _with(method, batch_size=can.BATCH)
    stands = chosen(method)
    _add_programs(
        method, stands, _nothing_yet()
    )  # to be refused now, and not when it shows
    some = Members.holding(torch.tensor([[3.0, 1.0], [1.0, 4.0], [2.0, 2.0]]))
    weights_of(method.weigh(some), method.weigh.name, some.loss)
    address = "&".join(f"{name}={at}" for name, at in stands.items())
    return Page(lambda: _put(method, stands), {"state": address, "full": True})


def _put(method: Method, stands: can.State) -> dict[str, bytes]:
    """Files that the page asks for, with the method's own choices in them."""
    data = kept()
    rules, task = (json.loads(data[f"{n}.json"]) for n in ("rules", "task"))
    _add_programs(method, stands, rules)
    for row in [row for row, at in stands.items() if at == MINE]:
        name = method.name if row == "rule" else getattr(method, row).name
        taken = name in task["choices"][row].values()
        task["choices"][row][MINE] = f"{name}, yours" if taken else name
        task["refused"] |= _refused(method, stands, row)
    rest = {"rules.json": text(rules).encode(), "task.json": text(task).encode()}
    return data | rest


def _nothing_yet() -> dict[str, Any]:
    return {"programs": [], **{row: {} for row in _ROWS}}


def _require_playable(method: Method) -> None:
    """Refuse ways to train, adapt and group that the page's loop does not have."""
    usual, name = Training(), method.name
    for field in vars(usual):
        value = getattr(method.training, field)
        able = field in (*_SLIDERS, *_STEP) or value == getattr(usual, field)
        require(able, f"{name}: the playground does not train with {field}={value!r}")
    adapt, own = method.personal.adapt, method.personal.own_begin
    if adapt is not None:
        steps = isinstance(adapt.iterations, int)
        require(steps, f"{name}: adapting takes a number of iterations here")
        same = adapt.lr == method.training.lr
        require(same, f"{name}: adapting has the clients' own learning rate here")
    require(own == "first", f"{name}: own models begin as the run's first here")
    known = any(_same(method.groups, groups) for groups in (everyone, nobody))
    why = f"{name}: the playground cannot find its groups ({method.groups.name})"
    require(known, f"{why}: give it groups=fl.everyone, and choose there")


def chosen(method: Method) -> can.State:
    """State of the page's rows and their numbers, for the choices of a method.

    A server or a way to judge that comes with the rule is left as usual.
    """
    rule = _standing(method, "rule", _trains_alike)
    found = dict(rule or {"rule": MINE})
    found |= _standing(method, "weigh", _alike("weigh")) or {"weigh": MINE}
    donor = _donor(method, rule) if rule else None
    if not (_bound(method) or (donor and _same(donor.server, method.server))):
        found |= _standing(method, "server", _alike("server")) or {"server": MINE}
    personal = _standing(method, "personal", _alike("personal"))
    if personal is None and not (donor and donor.personal != nothing):
        own = method.personal.own_model is not None
        found |= {"personal": MINE} if own else {"rule": MINE}
    alone = {"groups": "nobody"} if _same(method.groups, nobody) else {}
    return found | (personal or {}) | alone


def _standing(
    method: Method, row: str, alike: Callable[[Method, Method], bool]
) -> can.State | None:
    """The option of a row, with its number, that is what the method does there."""
    for name in can.CHOICES[row]:
        knobs = [(k, s) for k, s in can.KNOBS.items() if s.of == {row: (name,)}]
        stops = [{k: v} for k, s in knobs for v in s.stops] or [{}]
        for number in stops:
            found: can.State = {row: name, **number}
            if alike(_donor(method, found), method):
                return found
    return None


def _donor(method: Method, stands: can.State) -> Method:
    """A method of the page's, training as long and as fast as this one."""
    t = method.training
    state = {**can.USUAL, **stands, "lr": t.lr, "epochs": t.epochs}
    return can.method_of(state, [0])


def _alike(choice: str) -> Callable[[Method, Method], bool]:
    return lambda a, b: _same(getattr(a, choice), getattr(b, choice))


def _trains_alike(donor: Method, method: Method) -> bool:
    """True if clients train alike; what comes with a rule is then alike, too."""
    personal = donor.personal == nothing or _same(donor.personal, method.personal)
    other = not (_bound(donor) or _same(method.server, AVERAGE))
    server = other or _same(donor.server, method.server)
    both = [(m.rule, m.training) for m in (donor, method)]
    return personal and server and _same(*both)


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except (RuntimeError, ValueError):  # records with tensors or arrays in them
        return a is b


def _bound(method: Method) -> bool:
    """True if a rule and a server only go together."""
    return bool(set(method.rule.needs) - set(COMMON) or method.server.needs)


def _add_programs(method: Method, stands: can.State, rules: dict[str, Any]) -> None:
    """Put the programs of everything that is the method's own among the rules."""
    made = Rules(rules["programs"])
    every = list(range(1, int(max(can.SLIDERS["clients"].stops)) + 1))
    if stands["rule"] == MINE:
        rules["rule"][MINE] = made.rule(
            _paged(method), parameters_from_broadcast(method.rule)[1]
        )
    if stands["weigh"] == MINE:
        found = made.trace(method, every, ["weigh"])
        rules["weigh"][MINE] = made.members(found, "weigh")
    if stands.get("server") == MINE:
        rules["server"][MINE] = made.server_of(made.trace(method, every, SERVER))
    if stands.get("personal") == MINE:
        own = method.personal.own_model
        assert own is not None
        programs = made.client(made.trace(method, [], ["own"]), "own")
        rules["personal"][MINE] = {
            **programs,
            "numbers": parameters_from_broadcast(own)[1],
        }
    rules["programs"] = made.programs


def _paged(method: Method) -> Method:
    """The method's rule, with what comes with it, and the page's own numbers."""
    server = method.server if _bound(method) else AVERAGE
    personal = method.personal if method.personal.own_model is None else nothing
    numbers = {n: getattr(PLAIN, n) for n in _SLIDERS}
    return _with(replace(method, server=server, personal=personal), **numbers)


def _with(method: Method, **numbers: Any) -> Method:
    """The method with these numbers wherever a client of it trains."""
    training, adapt = replace(method.training, **numbers), method.personal.adapt
    personal = replace(method.personal, adapt=adapt and replace(adapt, **numbers))
    return replace(method, training=training, personal=personal)


def _refused(method: Method, stands: can.State, row: str) -> Iterator[tuple[str, str]]:
    """Pairs of choices of which one is the method's own, and why they are refused."""
    for other in _ROWS:
        own = [MINE] if stands.get(other) == MINE else []
        for name in [*can.CHOICES[other], *own] if other != row else []:
            pair = {row: MINE, other: name}
            try:
                _composed(method, pair)
            except InputError as error:
                a, b = sorted(pair, key=_ROWS.index)
                yield f"{a}={pair[a]}&{b}={pair[b]}", str(error)


def _composed(method: Method, pair: dict[str, str]) -> Method:
    """A method of the page's, with choices of this one in place of its own."""
    taken = {row: name for row, name in pair.items() if name != MINE}
    rule, groups = taken.pop("rule", "fedavg"), taken.pop("groups", None)
    taken = {row: name for row, name in taken.items() if name != can.USUAL[row]}
    alone, weigh = "local" if groups == "nobody" else None, taken.pop("weigh", "size")
    base = compose(PLAIN, rule=rule, groups=alone, **cast(Any, taken))
    base = replace(base, weigh=WEIGHS[weigh]())
    mine = {row: getattr(method, row) for row, name in pair.items() if name == MINE}
    if "rule" in mine and _bound(method) and "server" not in taken:
        mine["server"] = method.server
    return replace(base, **mine)
