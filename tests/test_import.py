"""Modules that a process loads: the core's own, and nothing slow without need.

PyTorch itself loads some parts of its tracer, newer versions more of them: the core is
held to what it loads besides.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import fedlab_browser.tracing

pytestmark = pytest.mark.slow  # fresh processes import PyTorch
TRACER = ("torch.fx", "torch.fx.experimental.proxy_tensor", "torch._decomp")
SLOW = ("pandas", "scipy", "sklearn", "PIL", "torchvision", "matplotlib", "wasmtime")
OURS = ("fedlab_use", "fedlab_browser", "fedlab_ledger", "fedlab_book")


def loaded(code: str) -> dict[str, str]:
    """Modules that a process has loaded once it has run this, and their files."""
    said = f"""
import sys
{code}
for name, module in list(sys.modules.items()):
    print(name, getattr(module, "__file__", None) or "", sep="\t", file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", said], capture_output=True, text=True, check=True
    )
    lines = (line.partition("\t") for line in done.stderr.splitlines())
    return {name: file for name, _, file in lines}


@pytest.fixture(scope="module")
def besides_torch() -> dict[str, str]:
    """Modules that the core loads, and PyTorch alone does not."""
    plain, core = loaded("import torch"), loaded("import fedlab_core")
    return {name: core[name] for name in core.keys() - plain.keys()}


def imported(file: str | Path) -> set[str]:
    """Modules that a file imports, and those that it may mean by a name of them."""
    found = set()
    for node in ast.walk(ast.parse(Path(file).read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {
                str(node.module),
                *(f"{node.module}.{a.name}" for a in node.names),
            }
    return found


@pytest.mark.parametrize("name", [*SLOW, *OURS])
def test_importing_the_core_loads_nothing_slow(besides_torch, name):
    assert "fedlab_core.rounds.run" in besides_torch
    assert name not in besides_torch


def test_importing_the_core_loads_no_more_of_pytorch_than_pytorch(besides_torch):
    assert [n for n in besides_torch if n.split(".")[0] == "torch"] == []


def test_no_module_of_the_core_asks_for_the_tracer(besides_torch):
    """Whatever PyTorch does; the tracer's own modules show that it would be seen."""
    core = [f for n, f in besides_torch.items() if n.split(".")[0] == "fedlab_core"]
    assert len(core) > 90
    assert not [file for file in core if imported(file) & {*TRACER}]
    tracing = Path(fedlab_browser.tracing.__file__).parent
    asked = set.union(*(imported(file) for file in tracing.glob("*.py")))
    assert asked >= {*TRACER}


def test_the_command_line_loads_no_tracer():
    """Its verbs `trace` and `play` are there all the same."""
    seen = loaded(
        "from fedlab_core.__main__ import _parser, main\n"
        "assert main(['methods']) == 0\n"
        "assert {'trace', 'play'} <= _parser().get_default('brought').keys()"
    )
    assert "fedlab_browser.command" in seen
    assert not seen.keys() & {"fedlab_browser.tracing", "wasmtime", "PIL", "matplotlib"}
