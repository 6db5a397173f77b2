"""Kernels that begin as copies of one process that has imported what notebooks import.

    with prepared():
        papermill.execute_notebook(..., kernel_manager_class=Manager)

These imports are a large part of what a short page takes. Only where a process that
has loaded PyTorch can be copied: on Linux. Nothing of ours is imported beforehand, so
that a kernel is seen to read what its modules read.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

# No pyplot and no pandas: on their import they look for the kernel that they show in.
IMPORTED = ("torch", "scipy.stats", "scipy.optimize", "matplotlib.figure")
COPIED = sys.platform.startswith("linux")  # elsewhere each begins by itself
AT = "FEDLAB_KERNELS"  # where copies are to be had
DRAWN = "module://matplotlib_inline.backend_inline"  # as a kernel sets it


@contextmanager
def prepared() -> Iterator[None]:
    """Copies are to be had in what this process begins, until this ends."""
    if not COPIED:
        yield
        return
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as door:
        door.bind(at := str(Path(folder) / "door"))
        door.listen()
        command = [sys.executable, "-m", "tools.kernels", str(door.fileno())]
        env = {**os.environ, "MPLBACKEND": DRAWN}
        server = subprocess.Popen(command, pass_fds=[door.fileno()], env=env)
        door.close()  # once it is gone nobody waits at it
        os.environ[AT] = at
        try:
            yield
        finally:
            del os.environ[AT]
            server.terminate()
            server.wait()


class Copy:
    """A kernel that somebody else is the parent of, as `Popen` has it."""

    stdin = stdout = stderr = None

    def __init__(self, at: str, asked: dict[str, Any]):
        with socket.socket(socket.AF_UNIX) as door:
            door.connect(at)
            door.sendall(json.dumps(asked).encode())
            door.shutdown(socket.SHUT_WR)
            self.pid = int(_all(door))

    def poll(self) -> int | None:
        """None while it runs; how it ended nobody knows here."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    wait = poll  # is asked once it has ended

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Copied(LocalProvisioner):
    """A kernel's process as a copy, where copies are to be had."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        if AT not in os.environ:
            return await super().launch_kernel(cmd, **kwargs)
        where = {"cwd": str(kwargs.get("cwd") or Path.cwd()), "env": kwargs["env"]}
        self.process = Copy(os.environ[AT], {"arguments": cmd[3:], **where})
        self.pid = self.pgid = self.process.pid  # a session of its own
        self.cwd = where["cwd"]
        return self.connection_info


class Manager(AsyncKernelManager):
    """A manager whose kernels are such copies."""

    async def _async_pre_start_kernel(self, **kw: Any) -> Any:
        self.kernel_id = self.kernel_id or str(uuid.uuid4())
        how: dict[str, Any] = {"kernel_spec": self.kernel_spec, "parent": self}
        self.provisioner = self.provisioner or Copied(kernel_id=self.kernel_id, **how)
        return await super()._async_pre_start_kernel(**kw)


def _all(door: socket.socket) -> bytes:
    parts = []
    while part := door.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def _asked(door: socket.socket) -> dict[str, Any]:
    """The wish for a copy, in each copy alone: the first process ends with its own."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a copy
    parent = os.getppid()
    door.settimeout(1)
    while os.getppid() == parent:
        try:
            client, _ = door.accept()
        except TimeoutError:
            continue
        with client:
            asked = json.loads(_all(client))
            if os.fork() == 0:
                os.setsid()
                client.sendall(str(os.getpid()).encode())
                return asked
    raise SystemExit


def main(number: int) -> None:
    door = socket.socket(fileno=number)
    for name in IMPORTED:
        import_module(name)
    os.environ["JPY_PARENT_PID"] = str(os.getpid())  # without it a copy ends, too
    from ipykernel.kernelapp import launch_new_instance

    asked = _asked(door)
    door.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    ours = asked["env"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [*filter(None, ours), *sys.path[1:]]
    sys.argv = ["ipykernel_launcher", *asked["arguments"]]
    launch_new_instance()


if __name__ == "__main__":
    main(int(sys.argv[1]))
