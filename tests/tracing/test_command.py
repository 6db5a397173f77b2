"""`python -m fedlab_core trace`."""

import json

import pytest
import torch

from fedlab_browser.tracing import Program, Reader
from fedlab_core import __main__
from tests.main_cases import call


def trace(*words: str) -> int:
    return __main__.main(["trace", *words])


@pytest.mark.slow
def test_programs_are_written_and_read_back(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["feddisco", "--clients", "3", "--set", "a=.2", "b=.3", "--out", "p.json"]
    assert trace(*words) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "wrote p.json"
    plain = json.loads((tmp_path / "p.json").read_text())
    assert [line.split(":")[0] for line in said[:-1]] == list(plain["programs"])
    assert {"client/step", "weigh/3", "server/3", "judge"} <= plain["programs"].keys()
    assert plain["method"] == "FedDisco" and not plain["refused"]
    weigh = Reader(Program.of(plain["programs"]["weigh/3"]))
    weigh.put(counts=torch.tensor([[9, 0], [5, 5], [0, 30]]).repeat(1, 5))
    weigh.run()
    assert weigh.outputs["weights"].sum() == pytest.approx(1)


@pytest.mark.slow
def test_what_is_left_out_is_said_with_the_reason(capsys):
    assert trace("feddf", "--clients", "2") == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "server: none, the server cannot be traced: it draws random numbers"


@pytest.mark.slow
def test_a_server_that_learns_weights_has_its_inner_step(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["--clients", "2", "--set", "server_epochs=3", "--out", "p.json"]
    assert trace("fedlaw", *words) == 0
    said = [line.split(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert {"search/2", "learn/2", "server/2"} <= set(said)
    plain = json.loads((tmp_path / "p.json").read_text())
    assert not plain["refused"] and plain["loop"]["samples"] == 20
    assert [len(v) for v in plain["loop"]["paces"].values()] == [3, 3, 3]


@pytest.mark.parametrize(
    "words, says",
    [
        (["nobody"], "nobody"),
        (["fedavg", "--model", "vgg"], "unknown model 'vgg'"),
        (["fedprox", "--set", "mu"], "--set: NAME=VALUE, not 'mu'"),
        (["fedprox", "--set", "nu=1"], "nu"),
        (["fedavg", "--force"], "--force: only with --out"),
        (["fedavg", "--out", "there.json"], "there.json"),
    ],
)
def test_one_line_says_what_was_wrong(words, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.json").write_text("mine")
    assert trace(*words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
    assert (tmp_path / "there.json").read_text() == "mine"


@pytest.mark.parametrize("clients", [101, 100_000])
def test_clients_that_no_trace_would_end_for_are_refused(capsys, clients):
    code, out, err = call(f"trace fedavg --clients {clients}", capsys)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert f"--clients must be at most 100, not {clients}" in err
