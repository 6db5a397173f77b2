"""Verifying: a stored line is played again, and whatever differs is named."""

import pytest

from fedlab_core.__main__ import main
from fedlab_ledger import Store, jobs, play
from fedlab_ledger.model.lines import Found
from fedlab_ledger.run import verify as verifying
from fedlab_ledger.run.verify import verify
from tests.ledger_cases import cell, declare, lettered


def test_verify_plays_a_line_again_and_finds_a_wrong_one():
    (line, _) = play(jobs([lettered()], "tiny", (0, 1), Found())[0])
    assert verify(lettered(), line, "cpu", 0.5).agrees
    wrong = line | {"value": line["value"] + 0.4}
    check = verify(lettered(), wrong, "cpu", 0.5)
    assert check.exact and not check.agrees and "DIFFERS" in check.text
    curve = [v + 0.004 for v in line["curve"]]
    elsewhere = wrong | {"device": "another", "curve": curve, "metrics": {}}
    assert verify(lettered(), elsewhere, "cpu", 0.5).agrees
    assert verify(lettered(), elsewhere, "cpu", 0.3).differs == ("value",)


STORED = {
    "value": 1.0,
    "curve": [0.5, 0.5],
    "clients": [0.1, 0.2, 0.3, 0.4],
    "steps": 7,
    "bytes": 7,
    "homes": [0, 1, 0, 1],
    "diverged": 2,
}


@pytest.mark.parametrize("name", [*STORED, "metrics", "seen"])
def test_verify_compares_everything_that_is_stored(name, verified):
    """Whatever was edited by hand is named."""
    line, verify = verified
    if name in STORED:
        edited, said = line | {name: STORED[name]}, {name}
    else:
        more = {"metrics": ("train_loss", 0.25), "seen": ("drift.all", [1.0, 2.0])}
        at, value = more[name]
        edited = line | {name: line.get(name, {}) | {at: value}}
        said = {f"{name}.{at}"}
    check = verify(edited)
    assert check.exact and set(check.differs) == said
    assert check.text.endswith(": " + ", ".join(said))
    # on another machine, what contradicts the line itself, or no machine changes
    check = verify(edited | {"device": "another"})
    seen = {"value", "curve", "clients", "steps", "diverged"}
    assert bool(check.differs) == (name in seen), check.text


@pytest.fixture
def verified(monkeypatch):
    """A line, and what verifying an edited one says, played once for all."""
    lines = play(jobs([lettered()], "tiny", (0, 1), Found())[0])
    monkeypatch.setattr(verifying, "play", lambda job, device: lines)
    return lines[0], lambda edited: verify(lettered(), edited, "cpu", 0.5)


def test_a_line_that_was_played_without_itself_is_passed_over_and_told(
    tmp_path, monkeypatch, capsys
):
    declare(monkeypatch, made := cell("one"))
    lines = play(jobs([made], "tiny", (0, 1), Found())[0])
    Store(tmp_path).append([lines[0], lines[1] | {"together": [0]}])
    code = main(["verify", "--ledger", str(tmp_path)])
    said = capsys.readouterr()
    assert code == 0 and "1 of 1 agree" in said.out
    assert "1 lines were played without themselves: passed over" in said.err
