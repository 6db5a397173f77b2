"""Core and ledger are imported where a system lacks what Linux has."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
UNIX = ("fcntl", "resource", "termios", "tty", "pty", "grp", "pwd", "syslog")
# What Windows has not: macOS lacks the last alone, a C library by glibc's name.
LACKS = {
    "os": "fork forkpty pread pwrite fchmod fchown getuid geteuid setsid killpg "
    "mkfifo O_DIRECTORY O_NOFOLLOW O_NONBLOCK sched_getaffinity",
    "signal": "SIGKILL SIGHUP SIGPIPE SIGALRM SIGCHLD SIGUSR1 setitimer alarm",
    "ctypes": "CDLL",
}
PACKAGES = "fedlab_core", "fedlab_use", "fedlab_ledger"
SCRIPT = """
import importlib, json, pkgutil, sys, warnings
unix, lacks, planted, packages = map(json.loads, sys.argv[1:])
warnings.simplefilter("ignore")  # filelock's: there is no lock but by a file's presence
for name in unix:
    sys.modules[name] = None
import filelock, numpy, pandas, safetensors.torch, scipy.special, sklearn.cluster
import torch, torch.func, torchvision, tqdm.auto
for home, names in lacks.items():
    module = importlib.import_module(home)
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
for text in planted:
    try:
        exec(text)
        print("took", text)
    except (ImportError, AttributeError):
        print("refused", text)
for package in packages:
    path = importlib.import_module(package).__path__
    for found in pkgutil.walk_packages(path, package + "."):
        importlib.import_module(found.name)
print("imported", len([name for name in sys.modules if name.startswith("fedlab_")]))
"""


PLANTED = ["import fcntl", "import os; os.fork", "from signal import SIGKILL"]


@pytest.mark.slow
def test_core_and_ledger_are_imported_whole_without_what_linux_has():
    """All their modules; and what is planted shows that it is not there."""
    given = [json.dumps(what) for what in (UNIX, LACKS, PLANTED, PACKAGES)]
    env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    line = [sys.executable, "-c", SCRIPT, *given]
    done = subprocess.run(line, env=env, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    *refused, last = done.stdout.splitlines()
    assert refused == [f"refused {text}" for text in PLANTED]
    modules = [p for name in PACKAGES for p in (ROOT / name).rglob("*.py")]
    assert last == f"imported {len(modules)}" and len(modules) > 150
