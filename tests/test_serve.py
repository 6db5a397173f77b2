"""`make serve` shows the site to this machine and to no other."""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=2):
            return True
    except OSError:
        return False


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_it_listens_on_the_loopback_only(tmp_path):
    """A server on all interfaces would answer at 127.0.0.2, too."""
    (tmp_path / "_build" / "html").mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["make", "-f", str(ROOT / "Makefile"), "serve", f"PORT={port}"]
    with subprocess.Popen(
        command, cwd=tmp_path, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as served:  # fmt: skip
        try:
            deadline = time.monotonic() + 280
            while not answers("127.0.0.1", port):
                assert served.poll() is None and time.monotonic() < deadline
                time.sleep(0.05)
            assert not answers("127.0.0.2", port)
        finally:
            os.killpg(served.pid, signal.SIGTERM)
