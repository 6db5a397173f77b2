"""Examples for the reference: their code, what each is said to give, and running them.

python -m tools.examples    # runs all, and writes what they give into `examples.md`
"""

import ast
import os
import re
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from fedlab_ledger.report.book import opened
from tools import paths

FILE = paths.ROOT / "tools" / "examples.md"
GIVES = "# gives "
_WIDTH = 80
# Ends that are a matter of training, so of the machine's arithmetic: not written down.
_TRAINED = re.compile(r"accuracy|federate\(.*\)$|frame|evaluate|\.rows|found\.values")


@cache
def setup() -> str:
    """The lines that every example stands on."""
    (lines,) = re.findall(r"```python\n(.*?)```", FILE.read_text(), re.DOTALL)
    return lines.strip()


@cache
def examples() -> dict[str, str]:
    """The code of each example, by the name that it is of."""
    _, *parts = re.split(r"(?m)^## ", FILE.read_text())
    named = (part.split("\n", 1) for part in parts)
    return {name: code.strip() for name, code in named}


def given(name: str) -> str:
    """The value that the file says an example gives; empty if it says nothing."""
    *_, last = examples()[name].splitlines()
    return last.removeprefix(GIVES) if last.startswith(GIVES) else ""


@cache
def _begun() -> dict[str, Any]:
    known: dict[str, Any] = {"__name__": "example"}
    exec(setup(), known)  # noqa: S102
    return known


def run(name: str) -> str:
    """The value of an example's last line, printed in one line."""
    known = dict(_begun())
    with tempfile.TemporaryDirectory() as folder:
        known["folder"] = Path(folder)
        if re.search(r"\bfound\b", examples()[name]):
            known["found"] = opened().found
        *lines, last = ast.parse(examples()[name]).body
        if not isinstance(last, ast.Expr):
            raise ValueError(f"the example {name} ends without a value")
        exec(compile(ast.Module(lines, []), name, "exec"), known)  # noqa: S102
        value = eval(compile(ast.Expression(last.value), name, "eval"), known)  # noqa: S307
    return " ".join(repr(value).split())


def _written(name: str, code: str) -> str:
    """An example as it stands in the file, with what it gives."""
    *lines, last = code.splitlines()
    lines += [] if last.startswith(GIVES) else [last]
    gives = run(name)
    short = len(gives) <= _WIDTH and " at 0x" not in gives and gives != "None"
    lines += [GIVES + gives] * (short and not _TRAINED.search(lines[-1]))
    return "\n".join([f"## {name}", "", *lines, ""])


def main() -> int:
    """Run all, and write what they give."""
    os.environ["FEDLAB_PROGRESS"] = "0"
    head = FILE.read_text().split("## ", 1)[0]
    FILE.write_text(head + "\n".join(_written(n, c) for n, c in examples().items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
