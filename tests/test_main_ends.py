"""How commands end: with which exit code, and what they say of runs."""

import os
import shlex
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from fedlab_core import fedavg
from fedlab_core.rounds.history import History
from fedlab_use import command
from tests.data_cases import store
from tests.main_cases import FAST, call, fast


def test_a_diverged_run_says_so(here, capsys):
    code, out, _ = call(fast("--lr 1e6 --rounds 9"), capsys)
    assert code == 1 and "seed 0: nan / nan / nan  diverged at round " in out


def test_one_seed_that_diverged_is_enough_for_the_exit_code(here, capsys, monkeypatch):
    play = command.run_all

    def second_lost(*runs, **how):
        sound, lost = play(*runs, **how)
        return [sound, replace(lost, diverged_at=1)]

    monkeypatch.setattr(command, "run_all", second_lost)
    code, out, _ = call(fast("--seeds 0 1"), capsys)
    assert code == 1 and "1 seeds of 2; the others diverged" in out


def test_a_mean_says_how_many_diverged(here, capsys):
    """Rounds that are enough for one seed of three: its mean is of the others."""
    made = History("FedAvg", 0, [{"accuracy": 0.5}])
    lost = History("FedAvg", 1, [{"accuracy": 0.9}], diverged_at=1)
    command._report(fedavg(), [made, lost, made])
    out = capsys.readouterr().out
    assert "mean:   50.00 ± 0.00" in out and "2 seeds of 3; the others diverged" in out


@pytest.mark.slow
def test_everyone_is_averaged_where_that_is_asked_for(here, capsys):
    """Of methods that group: they are then FedAvg."""
    plain = call(fast("--method fedavg"), capsys)[1].splitlines()[1]
    for name in ("ifca --set k=2", "cfl"):
        code, out, _ = call(fast(f"--method {name} --groups everyone"), capsys)
        assert code == 0 and "groups=everyone: " in out and " groups\n" not in out
        assert out.splitlines()[1] == plain, name


def test_a_choice_in_place_of_the_methods_own_is_named(here, capsys):
    _, out, _ = call(fast("--method feddisco --weigh equal --out r.csv"), capsys)
    assert out.startswith("FedDisco, weigh=equal: test accuracy")
    assert "FedDisco, weigh=equal" in (here / "r.csv").read_text()
    _, out, _ = call(fast("--method scaffold --groups nobody"), capsys)
    assert out.startswith("SCAFFOLD, groups=nobody: test accuracy")


def test_a_files_name_steers_no_terminal(here, capsys):
    code, out, _ = call(fast("--out 'a\x1b[2Jb'"), capsys)
    assert code == 0 and out.endswith("wrote a?[2Jb\n") and "\x1b" not in out


def test_a_class_of_a_data_file_steers_no_terminal(here, capsys):
    store(here / "data", classes=np.array([*"abcdefghi", "a\x1b[2Jb"]))
    code, out, _ = call("split mnist --split iid --clients 2", capsys)
    assert code == 0 and "a?[2Jb" in out and "\x1b" not in out


@pytest.mark.parametrize(
    "options",
    ["--lr 1e39", "--weight-decay 1e39", "--alpha 1e308", "--rho 1e300",
     "--method feddyn --set alpha=1e300", "--method fedimpro --set cap=1e300",
     "--method feddf --set lr=1e300", "--method server-ft --set lr=1e300",
     "--method fedcollab --set C=1e308", "--method fedprox --set mu=1e39"],
)  # fmt: skip
def test_a_number_beyond_float32_is_refused(here, capsys, options):
    code, _, err = call(f"{FAST} --proxy 2 {options}", capsys)
    assert code == 2 and len(err.splitlines()) == 1 and "must be" in err


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows' shell cannot close an output")
def test_a_closed_output_is_no_error():
    line = f"{shlex.quote(sys.executable)} -W ignore -m fedlab_core methods >&-"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and "Traceback" not in done.stderr
