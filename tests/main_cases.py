"""Short commands, and calls of them in this process."""

import shlex

from fedlab_core import __main__

SHORT = "train letters --rounds 2 --epochs 1"
FAST = f"{SHORT} --clients 4"


def call(line: str, capsys) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of one command."""
    capsys.readouterr()
    try:
        code = __main__.main(shlex.split(line))
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def fast(options: str) -> str:
    """A short run; what the options say again is not said twice."""
    usual = {"--rounds": 2, "--epochs": 1, "--clients": 4}
    kept = {n: v for n, v in usual.items() if n not in options}
    if "niid2" in options:
        del kept["--clients"]
    return " ".join(["train letters", *(f"{n} {v}" for n, v in kept.items()), options])
