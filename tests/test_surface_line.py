"""Whatever is typed: the right result, or one clear line. Nothing else, for any option.

Every argument of every verb is taken from the parser itself and given what it does not
want, the rest of the line being sound and cheap. A new verb or option is covered
without being listed; a new argument by place needs a sound value in `SOUND`.
"""

import argparse

import pytest

from fedlab_core import __main__
from tests.once import examples

WRONG = (
    "x", "", "-1", "0", "0.5", "nan", "inf", "-inf", "1e400", "99999999999999999999",
    "9223372036854775808", "é\N{SNOWMAN}", "a b", "x" * 300, "no/such/place", "None",
    "=", "mu=", "=1", "\x1b[2J", "[]", "true", "1 1", "/dev/full",
)  # fmt: skip
# A sound value of what must be given by place, and what keeps a line cheap.
SOUND = {
    "dataset": "letters",
    "table": "feddisco/table1",
    "folder": "ledger",
    "method": "fedavg",
}
CHEAP = {
    "train": {"--rounds": "1", "--epochs": "0", "--clients": "2"},
    "split": {"--clients": "2"},
    "trace": {"--clients": "2"},
    "run": {"--budget": "0s"},
    "export": {"--row": "no such row", "--out": "m"},
}


def verbs() -> dict[str, argparse.ArgumentParser]:
    """The parser of every verb, those of the ledger included."""
    actions = __main__._parser()._actions
    found = next(a for a in actions if isinstance(a, argparse._SubParsersAction))
    return dict(found.choices)


VERBS = verbs()
CASES = [
    (verb, action.option_strings[0] if action.option_strings else action.dest)
    for verb, parser in VERBS.items()
    for action in parser._actions
    if action.dest != "help"
]


def line(verb: str, name: str, wrong: str | None) -> list[str]:
    """A sound line, but for one argument: a value that is wrong, or given twice."""
    words, options = [verb], dict(CHEAP.get(verb, {}))
    ledger = any("--ledger" in a.option_strings for a in VERBS[verb]._actions)
    if ledger:
        options["--ledger"] = "ledger"
    options.pop(name, None)
    for action in VERBS[verb]._actions:
        if action.option_strings:
            continue
        if action.dest == name:
            words += [] if wrong is None else [wrong]
        elif action.nargs != "?":
            words.append(SOUND[action.dest])
    words += [word for pair in options.items() for word in pair]
    if name.startswith("--"):
        words += [name] if wrong is None else [f"{name}={wrong}"]
    return words


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEDLAB_PROGRESS", "0")
    (tmp_path / "ledger").mkdir()
    (tmp_path / "thesis.txt").write_text("years of work")
    return tmp_path


def answer(words: list[str], capsys) -> tuple[int, str]:
    try:
        code = __main__.main(words)
    except SystemExit as end:
        code = int(end.code or 0)
    return code, capsys.readouterr().err


@pytest.mark.parametrize("verb, name", CASES, ids=lambda v: v)
def test_whatever_is_typed_is_right_or_refused_in_one_line(here, capsys, verb, name):
    step = max(1, 4 * 40 // examples(40))  # others for each argument, all in "long"
    for wrong in WRONG[CASES.index((verb, name)) % step :: step]:
        before = {p: p.read_bytes() for p in here.rglob("*") if p.is_file()}
        code, err = answer(line(verb, name, wrong), capsys)
        said = [text for text in err.splitlines() if ": note: " not in text]
        assert code in (0, 1, 2, 3), (name, wrong)
        if code == 2:
            assert len(said) == 1 and said[0].startswith("fedlab_core"), err
            assert "\x1b" not in err
        assert all(p.read_bytes() == was for p, was in before.items()), "touched"
        if code == 2:
            now = {p for p in here.rglob("*") if p.is_file()} - set(before)
            assert all(".lock" in p.name or ".claims" in p.name for p in now), now


@pytest.mark.parametrize(
    "verb, name", [c for c in CASES if c[1].startswith("--")], ids=lambda v: v
)
def test_an_option_given_twice_is_refused_or_both_count(here, capsys, verb, name):
    action = VERBS[verb]._option_string_actions[name]
    if action.nargs == 0 or name in ("--set", "--split-set"):
        return  # a switch says the same twice; these may be given for other names
    sound = {"--momentum": "0", "--budget": "1s", "--keep": "1s"}.get(name, "1")
    value = next(iter(action.choices)) if action.choices else sound
    words = [*line(verb, name, str(value)), f"{name}={value}"]
    if isinstance(action.nargs, int):  # so many values, which no "=" can give
        words = [*line(verb, name, None)[:-1], *2 * [name, *action.nargs * ["1"]]]
    code, err = answer(words, capsys)
    assert code == 2 and "given twice" in err
