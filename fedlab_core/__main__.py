"""The command line: `python -m fedlab_core --help`.

Its verbs `methods` and `data` are here; the packages that are installed beside the core
bring the others, as `fedlab_use` brings `train`.
"""

import argparse
import io
import os
import signal
import sys
import warnings
from collections.abc import Sequence

import pandas as pd

from fedlab_core import METHODS, __version__, data
from fedlab_core.arguments.cli import Parser, as_note, plain, silence
from fedlab_core.errors import InputError
from fedlab_core.methods import named_rule
from fedlab_core.rounds.extensions import installed

_EPILOG = """\
example:
  python -m fedlab_core train letters --method feddisco --split niid2 --lr .01 \\
      --momentum .9 --rounds 12 --seeds 0 1 2

exit codes:
  0    done; of run: every cell that has this scale is there
  1    train: a run diverged; run: an error ended a job; verify: a number differs
  2    wrong input, in one line; of run: some cells cannot be run, each in a line
  3    run: the budget is used up and cells are left; the same command goes on
  130  stopped with Ctrl-C; what was reported as done is kept
  141  nobody reads the output any more, as after "| head"

Results go to the standard output, notes and errors to the standard error.
"""


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="fedlab_core",
        description="Federated methods on real or built-in data, on a CPU or a GPU.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    verbs = parser.add_subparsers(dest="verb", required=True, parser_class=Parser)
    verbs.add_parser("methods", help="list the methods")
    verbs.add_parser("data", help="list the data sets, and where they are looked for")
    brought = {}
    for package in (p for p in installed() if hasattr(p, "VERBS")):
        package.add_verbs(verbs)
        brought |= dict.fromkeys(package.VERBS, package.answer)
    parser.set_defaults(brought=brought)
    return parser


_WRITERS = ("", " train", " split")  # of one file, at the end


def _list_methods() -> None:
    rows = []
    for name, entry in METHODS.items():
        made = entry.make()
        rows.append(
            {
                "method": name,
                "rule": named_rule(made.rule),
                "weigh": made.weigh.name,
                "server": made.server.name,
                "groups": made.groups.name,
                "personal": made.personal.name,
                "paper": entry.paper,
                "equals the plain version by": entry.proof,
            }
        )
    table = pd.DataFrame(rows)
    wide = {c: max(len(c), *table[c].map(len)) for c in table}
    for row in [dict(zip(wide, wide, strict=True)), *rows]:
        print("  ".join(f"{row[c]:{w}}" for c, w in wide.items()).rstrip())


def _list_data(root: str | os.PathLike | None = None) -> None:
    for name in data.NAMES:
        path = data.data_root(root) / f"{name}.npz"
        how = "fetched by hand for" if name in data.BY_HAND else "downloaded to"
        where = f"there: {path}" if path.exists() else f"to be {how} {path}"
        print(f"{name:16} {'built in' if name in data.BUILT_IN else where}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 if it worked, 2 with one line if the input was bad."""
    verb, code = "", 0
    try:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # "?" for what cannot be shown
                stream.reconfigure(errors="replace")
        signal.signal(signal.SIGINT, signal.default_int_handler)
        args = _parser().parse_args(argv)
        verb = f" {args.verb}"
        if args.verb in args.brought:
            code = args.brought[args.verb](args)
        elif args.verb == "methods":
            _list_methods()
        else:
            _list_data()
        if sys.stdout:  # None, where it was closed
            sys.stdout.flush()
    except InputError as error:
        return _failed(verb, str(error))
    except BrokenPipeError:  # who read the output has seen enough, as `head` has
        silence()
        return 141
    except OSError as error:
        silence()
        where = f"{error.filename}: " if error.filename else ""
        return _failed(verb, f"{where}{error.strerror or error}")
    except MemoryError as error:
        return _failed(verb, f"not enough memory: {error}")
    except KeyboardInterrupt:
        kept = (
            "nothing was written" if verb in _WRITERS else "what was reported is kept"
        )
        print(f"fedlab_core{verb}: stopped, {kept}", file=sys.stderr)
        return 130
    return code


def _failed(verb: str, why: str) -> int:
    print(f"fedlab_core{verb}: {plain(why)}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    warnings.showwarning = as_note
    sys.exit(main())
