"""Deployed: a SuperLink and two SuperNodes, processes that speak over TLS with keys."""

import json
import os
import signal
from pathlib import Path

import pytest
import safetensors.torch as files
import torch

import fedlab_core as fl
from fedlab_core.rounds import presence
from tests.flower.machines import Machines, certificates, node_key, until
from tests.flower.playing import DATA, MAKE, PROXY, SEED, named

pytestmark = [pytest.mark.deployed, pytest.mark.slow]
WHO = fl.dirichlet(DATA.y_train, 2, 0.5, seed=1)


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    here = Machines(tmp_path_factory.mktemp("deployed"), 2)
    yield here
    here.close()


def equal(machines: Machines, name: str, rounds: int) -> list[dict]:
    """The rows of a run that came out as `federate` plays it."""
    method = named(name)
    w = fl.world(DATA, WHO, MAKE, proxy=PROXY)
    want = fl.federate(w, method, rounds, seed=SEED, engine="looped")
    got = files.load_file(machines.tried / f"{method.name}.safetensors")
    rows = json.loads((machines.tried / f"{method.name}.json").read_text())
    for n, v in want.states.items():
        torch.testing.assert_close(got[n], v, rtol=0, atol=1e-6)
    assert [row["round"] for row in rows] == [row["round"] for row in want.rows]
    return rows


@pytest.mark.parametrize("name", ["feddisco", "scaffold", "fedcollab", "fedlaw"])
def test_it_equals_federate(machines, name):
    run = machines.run(method=name)
    assert machines.ended(run) == "finished:completed", machines.logs()
    equal(machines, name, 3)


def test_a_killed_node_goes_on_with_what_it_kept(machines, monkeypatch):
    """It is killed in round 2, with its turn's work begun, and is back before round 4.

    Until it was silent for a minute Flower takes it for online, and lets none with its
    key in. So long the other node waits in round 3.
    """
    mine, others = (machines.held(at) for at in ("train-1-0", "train-2-1"))
    run = machines.run(method="scaffold", rounds=4, enough=1, limit=900.0)
    until(mine.began.exists, 900, "no round 2")
    machines.kill("node-0")
    mine.hold.unlink()
    until(lambda: machines.online() == 1, 600, "node 0 is online still", pause=3)
    machines.node(0)
    until(lambda: machines.online() == 2, 600, "node 0 is not back", pause=3)
    others.hold.unlink()
    assert machines.ended(run) == "finished:completed", machines.logs()
    draw = presence.draw_participants
    rows = json.loads((machines.tried / "SCAFFOLD.json").read_text())
    lost = {t for t, row in enumerate(rows) if row["participants"] == 1}
    assert 1 in lost and 3 not in lost, "it came back, one turn or two later"
    monkeypatch.setattr(
        presence, "draw_participants", lambda *a: [1] if a[3] in lost else draw(*a)
    )
    equal(machines, "scaffold", 4)


def test_a_killed_server_goes_on_from_its_checkpoint(machines, tmp_path):
    one = machines.held("train-2-1")
    here = {"method": "scaffold", "checkpoint": str(tmp_path / "server.safetensors")}
    run = machines.run(**here)
    until(one.began.exists, 900, "no round 3")
    os.kill(int((machines.tried / "server.pid").read_text()), signal.SIGKILL)
    one.hold.unlink()
    again = machines.run(**here)
    assert machines.ended(again) == "finished:completed", machines.logs()
    assert machines.status(run) != "finished:completed"
    equal(machines, "scaffold", 3)


def test_a_run_that_cannot_be_is_a_failure(machines):
    """`flwr run` ends well all the same: the run's status says what became of it."""
    assert machines.ended(machines.run(method="nothing")) == "finished:failed"


@pytest.mark.parametrize("lacks", ["certificate", "key"])
def test_who_lacks_a_certificate_or_a_key_is_not_let_in(machines, tmp_path, lacks):
    """One that trusts another authority leaves, one of an unknown key is sent off."""
    if lacks == "certificate":
        certificates(tmp_path / "other")
    else:
        node_key(tmp_path / "unknown")
    ca: Path | None = tmp_path / "other" / "ca.crt" if lacks == "certificate" else None
    key = machines.folder / "node-0" if ca else tmp_path / "unknown"
    port = machines.own[2]
    stranger = machines.node(2, key, ca, "--max-retries", 2, "--max-wait-time", 5)
    assert port and stranger.wait(300) != 0
    assert machines.online() == 2
