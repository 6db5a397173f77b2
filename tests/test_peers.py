"""The parent's side of the peers, with stand-ins: no peer need be installed."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import peers
from benchmarks.cases import CASES
from benchmarks.peers import Peer, PeerUnavailable, environments, protocol, work

READY = 'print(\'{"ready": true, "version": "1.0", "setup": "x"}\', flush=True)\n'
ANSWER = """
import sys
for line in sys.stdin:
    if line == "quit\\n":
        break
    print('{"seconds": 0.5, "samples": 100, "rounds": 2}', flush=True)
"""


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    """Let a script answer for every peer."""

    def use(script: str) -> None:
        path = tmp_path / "peer.py"
        path.write_text(script)
        monkeypatch.setattr(peers, "command", lambda *_: [sys.executable, str(path)])

    return use


def test_a_peer_says_what_it_is_and_how_fast(stand_in):
    stand_in(READY + ANSWER)
    with Peer("pfl", "any", timeout=280) as peer:
        assert (peer.version, peer.setup) == ("1.0", "x")
        assert [peer.rate(), peer.rate()] == [200.0, 200.0]
    peer.close()  # twice does no harm


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("raise ValueError('no such case')", "pfl: ValueError: no such case"),
        ("import sys; sys.exit('no torch')", "pfl: no torch"),
        ("pass", "pfl: no error message"),
        ("print('loading')", "pfl: not an answer: 'loading'"),
        ("print('{\"ready\": true}')", "pfl: not an answer: '{\"ready\": true}'"),
        ("print(7)", "pfl: not an answer: '7'"),
    ],
)
def test_a_peer_that_cannot_start_says_why(stand_in, script, why):
    stand_in(script)
    with pytest.raises(PeerUnavailable) as raised:
        Peer("pfl", "any", timeout=280)
    assert str(raised.value) == why


@pytest.mark.slow
def test_a_silent_peer_is_given_up(stand_in, monkeypatch):
    monkeypatch.setattr(peers, "GOODBYE", 0.1)
    stand_in("import time; time.sleep(60)")
    with pytest.raises(PeerUnavailable, match=r"no answer within 0\.3 seconds"):
        Peer("pfl", "any", timeout=0.3)


def test_a_peer_that_breaks_when_asked_says_why(stand_in):
    stand_in(READY + "input()\nraise RuntimeError('8 of 10 replied')")
    with (
        Peer("flower", "any", timeout=280) as peer,
        pytest.raises(PeerUnavailable, match="RuntimeError: 8 of 10 replied"),
    ):
        peer.rate()


def test_serving_warms_up_then_answers_each_request(monkeypatch):
    monkeypatch.setattr(protocol, "SECONDS", 0.0)
    case, done, said = CASES[0], [], io.StringIO()
    peer = protocol.Simulation("1.0", "1 process", done.append, dict)
    protocol.serve(case, peer, io.StringIO("go\ngo\nquit\ngo\n"), said)
    ready, *answers = [json.loads(line) for line in said.getvalue().splitlines()]
    assert ready == {"ready": True, "version": "1.0", "setup": "1 process"}
    assert [a["samples"] for a in answers] == [case.total, case.total]
    assert done == [1, 1, 1, 1]
    with pytest.raises(ValueError, match="neither go nor quit"):
        protocol.serve(case, peer, io.StringIO("stop\n"), said)


def test_the_check_tells_a_right_average_from_a_wrong_one():
    case = work.find(CASES[0].name, clients=2, samples=8, batch_size=8)

    def differ(clients: int) -> dict:
        model, said = work.start(case), io.StringIO()
        data = work.clients(case)[:clients]

        def rounds(count: int) -> None:
            for _ in range(count):
                work.plain_round(case, model, data)

        peer = protocol.Simulation("", "", rounds, lambda: work.parameters(model))
        protocol.check(case, peer, said)
        return json.loads(said.getvalue())

    right, wrong = differ(2), differ(1)
    assert right["max_difference"] < 1e-3 * right["max_change"]
    assert wrong["max_difference"] > 0.1 * wrong["max_change"]


def test_an_epoch_takes_every_step():
    case = work.find(CASES[0].name, samples=10, batch_size=4)
    (x, y), *_ = work.clients(case)
    assert len(list(work.batches(x, y, 4))) * case.clients == case.steps
    assert work.find(**work.identity(case)).batch_size == 4


def test_every_peer_has_a_module_and_a_pinned_version():
    for name in peers.NAMES:
        assert (environments.REQUIREMENTS.parent / f"{name}_peer.py").exists()
        assert "==" in (environments.REQUIREMENTS / f"{name}.txt").read_text()


@pytest.fixture
def pins(monkeypatch, tmp_path) -> Path:
    monkeypatch.setattr(environments, "REQUIREMENTS", tmp_path)
    return tmp_path


@pytest.mark.slow
def test_an_environment_shares_our_packages_and_is_made_once(pins, monkeypatch):
    (pins / "none.txt").write_text("torch\n")
    python = environments.make("none", pins / "home")
    monkeypatch.setattr(environments, "_build", lambda *_: pytest.fail("made twice"))
    assert environments.make("none", pins / "home") == python
    shared = next((pins / "home").rglob("zz_shared.pth")).read_text().split("\n")
    assert str(Path(pytest.__file__).parents[1]) in shared


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pin", "why"),
    [
        ("--no-index\nno-such-package==1\n", "bad: ERROR: .*no-such-package"),
        ("not a requirement\n", "bad: ERROR: Invalid requirement"),
    ],
)
def test_an_environment_that_cannot_be_made_says_why(pins, pin, why):
    (pins / "bad.txt").write_text(pin)
    with pytest.raises(PeerUnavailable, match=why) as raised:
        environments.make("bad", pins / "home")
    assert "\n" not in str(raised.value)
    assert not (pins / "home" / "bad" / ".ready").exists()


def test_an_unknown_peer_or_an_unwritable_place_says_so(pins):
    with pytest.raises(PeerUnavailable, match="no peer named 'nobody'"):
        environments.make("nobody")
    (pins / "real.txt").write_text("torch\n")
    (pins / "home").write_text("a file is in the way")
    with pytest.raises(PeerUnavailable, match="real: "):
        environments.make("real", pins / "home")


@pytest.mark.slow
def test_this_package_at_a_commit_trains_what_a_plain_loop_does():
    command_ = peers.command("earlier:HEAD", "mlp 144-64-64")
    with environments.earlier("HEAD") as folder:
        done = subprocess.run(
            [*command_, "--check"], cwd=folder, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        assert 1e3 * said["max_difference"] < said["max_change"]


@pytest.mark.slow
def test_it_is_the_commits_own_package_that_runs():
    with environments.earlier("HEAD") as folder:
        asked = "import benchmarks, fedlab_core; print(fedlab_core.__file__)"
        done = subprocess.run(
            [sys.executable, "-c", asked], cwd=folder, capture_output=True, text=True
        )
        assert done.stdout.startswith(folder), done.stderr


def test_a_commit_that_is_not_there_is_unavailable():
    with pytest.raises(PeerUnavailable, match="there is no commit 'nowhere' here"):
        Peer("earlier:nowhere", "mlp 144-64-64")
