"""Other simulators that train the same cases, each in an environment of its own.

    with Peer("flower", "resnet-20") as peer:
        print(peer.version, peer.setup, peer.rate())

This side needs the standard library alone; `protocol` is the other side.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from queue import Empty, Queue
from typing import Self

from benchmarks.peers.environments import ROOT, PeerUnavailable, earlier, make, reason

NAMES = ("flower", "pfl", "fedlab")
EARLIER = "earlier:"  # and a commit: this package as it was
GOODBYE = 20  # seconds a peer has to end


def command(name: str, case_name: str) -> list[str]:
    """Command that starts a peer; makes its environment if there is none yet."""
    if name.startswith(EARLIER):
        return [sys.executable, "-m", "benchmarks.peers.earlier_peer", case_name]
    return [str(make(name)), "-m", f"benchmarks.peers.{name}_peer", case_name]


class Peer:
    """A peer that is set up for a case, warm, and waiting to be timed."""

    def __init__(self, name: str, case_name: str, timeout: float = 600.0):
        self.name, self.timeout = name, timeout
        started, self._folder = command(name, case_name), None
        if name.startswith(EARLIER):
            self._folder = earlier(name.removeprefix(EARLIER))
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            started,
            cwd=self._folder.name if self._folder else ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,
        )
        self._lines: Queue[str] = Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            ready = self._answer("version", "setup")
        except PeerUnavailable:
            self.close()
            raise
        self.version, self.setup = str(ready["version"]), str(ready["setup"])

    def rate(self) -> float:
        """Samples per second, over a second or more of rounds."""
        self._say("go")
        answer = self._answer("samples", "seconds")
        return answer["samples"] / answer["seconds"]

    def close(self) -> None:
        """Ask the peer to end, then make sure that it and its processes have."""
        if self._errors.closed:
            return
        self._say("quit")
        with contextlib.suppress(OSError):
            self._stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GOODBYE)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join()
        self._stdout.close()
        self._errors.close()
        if self._folder:
            self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    @property
    def _stdin(self):
        assert self._process.stdin
        return self._process.stdin

    @property
    def _stdout(self):
        assert self._process.stdout
        return self._process.stdout

    def _read(self) -> None:
        for line in self._stdout:
            self._lines.put(line)
        self._lines.put("")  # the end

    def _say(self, word: str) -> None:
        with contextlib.suppress(OSError):  # it has ended; so says its next answer
            self._stdin.write(f"{word}\n")
            self._stdin.flush()

    def _answer(self, *wanted: str) -> dict:
        try:
            line = self._lines.get(timeout=self.timeout)
        except Empty:
            why = f"no answer within {self.timeout:g} seconds"
            raise PeerUnavailable(f"{self.name}: {why}") from None
        if not line:
            self._errors.seek(0)
            raise PeerUnavailable(f"{self.name}: {reason(self._errors.read())}")
        with contextlib.suppress(ValueError, TypeError):
            answer = json.loads(line)
            if all(key in answer for key in wanted):
                return answer
        raise PeerUnavailable(f"{self.name}: not an answer: {line.strip()[:80]!r}")
