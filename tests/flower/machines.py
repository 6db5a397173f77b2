"""A SuperLink and its SuperNodes as processes of this machine, over TLS, with keys.

Ports are free ones, and everything that Flower writes lies in one folder. Nothing is
installed, reported or looked up elsewhere.
"""

import datetime
import ipaddress
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

ROOT = Path(__file__).parents[2]
APP = Path(__file__).parent / "app"
BIN = Path(sys.executable).parent
PEM = serialization.Encoding.PEM


def key_in(path: Path) -> ec.EllipticCurvePrivateKey:
    """A private key, written to a file."""
    key = ec.generate_private_key(ec.SECP256R1())
    plain = serialization.NoEncryption()
    private = serialization.PrivateFormat.PKCS8
    path.write_bytes(key.private_bytes(PEM, private, plain))
    return key


def node_key(path: Path) -> Path:
    """A node's private key in `path`; the file of its public one."""
    key = ec.generate_private_key(ec.SECP384R1())
    form = serialization.PrivateFormat.OpenSSH
    none = serialization.NoEncryption()
    path.write_bytes(key.private_bytes(PEM, form, none))
    path.chmod(0o600)
    public = path.with_suffix(".pub")
    ssh, kind = serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    public.write_bytes(key.public_key().public_bytes(ssh, kind) + b"\n")
    return public


def certificates(folder: Path) -> None:
    """An authority (ca.crt), and this machine's server by it (server.crt, .key)."""
    folder.mkdir(parents=True)
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)

    def begun(name: str, issuer: str, key: Any) -> x509.CertificateBuilder:
        called = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, n)]) for n in
                  (name, issuer)]  # fmt: skip
        return (
            x509.CertificateBuilder()
            .subject_name(called[0])
            .issuer_name(called[1])
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - day)
            .not_valid_after(now + day)
        )

    root, own = key_in(folder / "ca.key"), key_in(folder / "server.key")
    basic = x509.BasicConstraints(ca=True, path_length=None)
    authority = begun("the tests' authority", "the tests' authority", root)
    ca = authority.add_extension(basic, critical=True).sign(root, hashes.SHA256())
    here = [x509.DNSName("localhost")]
    here += [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    names = x509.SubjectAlternativeName(here)
    server = begun("localhost", "the tests' authority", own)
    signed = server.add_extension(names, critical=False).sign(root, hashes.SHA256())
    (folder / "ca.crt").write_bytes(ca.public_bytes(PEM))
    (folder / "server.crt").write_bytes(signed.public_bytes(PEM))


def free_ports(many: int) -> list[int]:
    """Ports that nobody listens on."""
    held = [socket.socket() for _ in range(many)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def until(
    there: Callable[[], Any], seconds: float, what: str, pause: float = 0.2
) -> Any:
    """Ask until there is something, and return it; else fail."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := there():
            return found
        time.sleep(pause)
    raise AssertionError(f"after {seconds:g} s: {what}")


@dataclass(frozen=True)
class Held:
    """A turn of one client, which waits as long as `hold` is there."""

    hold: Path
    began: Path  # there once the turn began


class Machines:
    """One SuperLink, and nodes that are started, killed and started again."""

    def __init__(self, folder: Path, nodes: int):
        self.folder, self.tls = folder, folder / "tls"
        self.tried = folder / "tried"
        self.tried.mkdir(parents=True)
        self.port, *self.own = free_ports(1 + nodes + 1)
        self.started: dict[str, subprocess.Popen] = {}
        certificates(self.tls)
        self.env = os.environ | {
            "FLWR_HOME": str(folder / "home"),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.1",
            "FEDLAB_TRIED": str(self.tried),
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        }
        (folder / "home").mkdir()
        (folder / "home" / "config.toml").write_text(
            f'[superlink]\ndefault = "here"\n[superlink.here]\n'
            f'address = "127.0.0.1:{self.port}"\n'
            f'root-certificates = "{self.tls / "ca.crt"}"\n'
        )
        crt, key = self.tls / "server.crt", self.tls / "server.key"
        self._start(
            *("link", "flower-superlink", "--host", "127.0.0.1"),
            *("--port", self.port, "--ssl-ca-certfile", self.tls / "ca.crt"),
            *("--ssl-certfile", crt, "--ssl-keyfile", key, "--enable-supernode-auth"),
            "--disable-runtime-dependency-installation",
        )
        until(self._answers, 120, "no SuperLink")
        for k in range(nodes):
            public = node_key(folder / f"node-{k}")
            self.flwr("supernode", "register", public, "here")
            self.node(k)

    def _answers(self) -> bool:
        trusted = ssl.create_default_context(cafile=str(self.tls / "ca.crt"))
        try:
            where = f"https://127.0.0.1:{self.port}/health"
            return urllib.request.urlopen(where, context=trusted).status == 200
        except OSError:
            return False

    def _start(self, name: str, *command: Any) -> subprocess.Popen:
        patient = [sys.executable, Path(__file__).parent / "patient.py"]
        words = list(map(str, [*patient, *command]))
        with (self.folder / f"{name}.log").open("ab") as log:
            out: dict[str, Any] = {"stdout": log, "stderr": subprocess.STDOUT}
            self.started[name] = subprocess.Popen(
                words, env=self.env, start_new_session=True, cwd=self.folder, **out
            )
        return self.started[name]

    def node(
        self, k: int, key: Path | None = None, ca: Path | None = None, *more: Any
    ) -> subprocess.Popen:
        """Start node k, with its key and the tests' authority or with others."""
        key = key or self.folder / f"node-{k}"
        memory = self.folder / f"memory-{k}"
        own = f'partition-id={k} memory="{memory}"'
        return self._start(
            *(f"node-{k}", "flower-supernode", "--superlink", f"127.0.0.1:{self.port}"),
            *("--root-certificates", ca or self.tls / "ca.crt", "--host", "127.0.0.1"),
            *("--port", self.own[k], "--auth-supernode-private-key", key),
            *("--node-config", own, *more),
        )

    def online(self) -> int:
        """How many nodes the SuperLink takes for online."""
        listed = self.flwr("supernode", "list", "here", "--format", "json")
        return listed.count('"online"')

    def held(self, turn: str) -> Held:
        """Let a turn (kind-round-client) of the next run wait, once it begins."""
        one = Held(self.tried / f"hold-{turn}", self.tried / f"began-{turn}")
        one.began.unlink(missing_ok=True)  # of a run before
        one.hold.touch()
        return one

    def kill(self, name: str) -> None:
        """Kill a process of ours, and all that it started, at once."""
        process = self.started.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def flwr(self, *words: Any, seconds: float = 300) -> str:
        """Output of a `flwr` command."""
        done = subprocess.run(
            [str(BIN / "flwr"), *map(str, words)],
            env=self.env,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def run(self, **config: Any) -> int:
        """Begin a run of the app; its number."""
        pairs = [f"{n}={json.dumps(v)}" for n, v in config.items()]
        words = ("--run-config", " ".join(pairs), "--format", "json")
        said = self.flwr("run", APP, "here", *words)
        return int(json.loads(said[said.index("{") :])["run-id"])

    def status(self, run: int) -> str:
        """A run's state: `flwr run` says nothing of it."""
        said = self.flwr("list", "here", "--run-id", run, "--format", "json")
        return json.loads(said[said.index("{") :])["runs"][0]["status"]

    def ended(self, run: int, seconds: float = 1200) -> str:
        """How a run ended."""

        def over() -> str:
            status = self.status(run)
            return status if status.startswith("finished") else ""

        try:
            # to ask costs a process of Flower's, which takes a core for seconds
            return until(over, seconds, f"run {run} goes on", pause=3)
        except AssertionError:
            print(self.logs())
            raise

    def logs(self) -> str:
        """The last lines of what every process said."""
        files = sorted(self.folder.glob("*.log"))
        return "\n".join(f"== {f.name}\n{f.read_text()[-3000:]}" for f in files)

    def close(self) -> None:
        """End every process that was started here."""
        for process in self.started.values():
            process.send_signal(signal.SIGINT)
        for name in list(self.started):
            try:
                self.started[name].wait(10)
            except subprocess.TimeoutExpired:
                pass
            try:
                os.killpg(self.started[name].pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
