"""Write requirements.lock: the exact version of every package in this environment."""

import re
import subprocess
import sys

from tools.paths import ROOT

HEADER = """\
# Exact versions of everything in requirements.txt and of what that needs.
# Written by `make lock`; read by `make book` and `make test`.

"""
# PyTorch's CUDA libraries have no builds for other systems, and it needs none there.
LINUX_ONLY = re.compile(r"(nvidia|cuda)-|triton==")


def lock_text(frozen: str) -> str:
    """Turn the output of `pip freeze` into the text of a portable lock file.

    Raises ValueError on a package that did not come from an index by version: a lock
    with a local path in it works on one machine only.
    """
    lines = []
    for line in frozen.splitlines():
        if line.startswith(("-e ", "#")):
            continue  # this project itself
        if "==" not in line:
            raise ValueError(f"not an exact version: {line}")
        marker = ' ; sys_platform == "linux"' if LINUX_ONLY.match(line) else ""
        lines.append(line + marker)
    return HEADER + "\n".join(lines) + "\n"


def main() -> int:
    freeze = [sys.executable, "-m", "pip", "freeze", "--exclude-editable"]
    frozen = subprocess.run(freeze, check=True, capture_output=True, text=True).stdout
    try:
        text = lock_text(frozen)
    except ValueError as error:
        print(f"requirements.lock not written: {error}", file=sys.stderr)
        return 2
    (ROOT / "requirements.lock").write_text(text)
    print(f"requirements.lock: {text.count(chr(10))} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
