"""The command line as a process: its exit code, its two streams, and their ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from tools.paths import ROOT


@pytest.mark.slow
def test_the_module_runs_as_a_command(tmp_path):
    """Once for real: another process, its exit code and its two streams."""
    line = [sys.executable, "-m", "fedlab_core", "train", "letters", "--lr", "nan"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        "fedlab_core train: argument --lr: must be a number above 0, not 'nan' "
        "(see fedlab_core train --help)\n"
    )


@pytest.mark.slow
def test_a_terminal_that_shows_little_costs_no_result(tmp_path):
    """The mean over two seeds is told with a sign that ASCII has not."""
    line = "train letters --rounds 2 --epochs 1 --clients 4 --seeds 0 1 --out r.csv"
    done = subprocess.run(
        [sys.executable, "-m", "fedlab_core", *line.split()],
        env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "95 % t interval" in done.stdout
    assert len(pd.read_csv(tmp_path / "r.csv")) == 4


@pytest.mark.slow
@pytest.mark.parametrize("wait", [0.8, 1.6, 3.0])
def test_ctrl_c_at_once_gives_no_traceback(wait):
    line = [sys.executable, "-m", "fedlab_core", "train", "letters", "--rounds", "999"]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as going:
        time.sleep(wait)
        going.send_signal(signal.SIGINT)
        said = going.communicate(timeout=280)[1]
    assert going.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in said


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_output_is_one_line():
    with open("/dev/full", "w") as full:
        line = [sys.executable, "-m", "fedlab_core", "methods"]
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "fedlab_core methods: No space left on device\n"


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_fault():
    """As in `python -m fedlab_core tables | head -1`, with the pipe already closed."""
    line = [sys.executable, "-m", "fedlab_core", "data"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(line, **pipes) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141
