"""Verbs `trace` and `play` of `python -m fedlab_core`, and `fedlab_core.playground`.

What traces a method is imported where it is needed: it takes PyTorch a second to load.
"""

import argparse
import json
from typing import Any

from fedlab_browser.playground import state as can
from fedlab_core import Method, Run, data, models, partition, run_all
from fedlab_core.arguments import Count, Fading, NotNegative
from fedlab_core.arguments.cli import option, set_by
from fedlab_core.atomic_files import replacing, writable
from fedlab_core.client import Training
from fedlab_core.errors import require
from fedlab_core.methods import METHODS
from fedlab_core.methods.combined import named
from fedlab_core.rounds.worlds import Proxy, world

VERBS = ("trace", "play")


def add_verbs(verbs) -> None:
    """Add both verbs to the command line."""
    _add_trace(verbs)
    _add_play(verbs)


def answer(args: argparse.Namespace) -> int:
    """Exit code of the verb in `args`."""
    return (_trace if args.verb == "trace" else _play)(args)


def playground(method: Method) -> Any:
    """The playground with this method in it."""
    from fedlab_browser.playground.own import playground as shown

    return shown(method)


OFFERS = {"playground": playground}


def _add_trace(verbs) -> None:
    parser = verbs.add_parser(
        "trace",
        help="write a method as programs that run without PyTorch",
        description="What a method does in a round, as small programs: loops over "
        "float32 numbers, as JSON. A part that cannot be one is named, with why.",
    )
    add = parser.add_argument
    add("method", help=f"one of {', '.join(METHODS)}")
    add(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="the method's own numbers, as of train",
    )
    add("--batch", type=option(Count), default=16, help="mini-batch B (16)")
    add("--momentum", type=option(Fading), default=0.0)
    add("--weight-decay", type=option(NotNegative), default=0.0)
    add("--clients", type=option(Count), default=10, help="members of a group (10)")
    add("--model", default="mlp", help="the network, for the built-in letters (mlp)")
    add("--out", metavar="FILE", help="write the programs as JSON")
    add("--force", action="store_true", help="replace FILE if it is there")


def _trace(args: argparse.Namespace) -> int:
    """Trace what was asked for: a line a program, and a line a part without one."""
    from fedlab_browser.tracing import trace

    require(bool(args.out) or not args.force, "--force: only with --out")
    require(args.clients <= 100, f"--clients must be at most 100, not {args.clients}")
    out = None if args.out is None else writable(args.out, "--out", args.force)
    sgd = {"momentum": args.momentum, "weight_decay": args.weight_decay}
    training = Training(batch_size=args.batch, **sgd)
    method = named(args.method, training, set_by(args.set))
    letters = data.load("letters", n_train=max(200, 4 * args.clients), n_test=100)
    make = models.build(args.model, letters.shape, len(letters.classes))
    who = partition.iid(letters.y_train, args.clients)
    made = trace(method, world(letters, who, make, proxy=Proxy(2)))
    for name, program in made.every.items():
        print(f"{name}: {len(program.steps)} steps, {sum(program.sizes)} numbers")
    for part, why in made.refused.items():
        print(f"{part}: none, {why}")
    if out:
        with replacing(out) as file:
            file.write(json.dumps(made.plain(), separators=(",", ":")).encode())
        print(f"wrote {out}")
    return 0


def _add_play(verbs) -> None:
    parser = verbs.add_parser(
        "play",
        help="play what the playground's page shows, in Python",
        description="The page's address, or what stands behind its ?: "
        "NAME=VALUE&NAME=VALUE. What is not said is as the page has it at first.",
        epilog="names: " + ", ".join(can.USUAL),
    )
    parser.add_argument(
        "state", nargs="?", default="", help="of the page (as it opens)"
    )
    most = f"up to {can.ROUNDS}, or until {can.WORK} steps are taken (10)"
    parser.add_argument("--rounds", type=option(Count), default=10, help=most)


def _play(args: argparse.Namespace) -> int:
    """Play the state; a line a round."""
    state = can.parsed(args.state)
    most = can.rounds_of(state)
    fits = args.rounds <= most
    require(fits, f"--rounds: 1 to {most}, as the page, not {args.rounds}")
    world, method = can.world_of(state), can.method_of(state, can.group_of(state))
    run = Run(world, method, args.rounds, int(state["seed"]), can.present(state))
    (history,) = run_all([run])
    for row in history.rows:
        print(f"round {row['round']:>2}: accuracy {100 * row['accuracy']:.2f} %")
    return 0
