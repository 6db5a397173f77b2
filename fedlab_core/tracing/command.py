"""`python -m fedlab_core trace`: a method's programs, counted or written as JSON."""

import argparse
import json

from fedlab_core import data, models, partition
from fedlab_core.arguments import Count, Fading, NotNegative
from fedlab_core.arguments.line import option, set_by
from fedlab_core.client import Training
from fedlab_core.data.whole import replacing, writable
from fedlab_core.errors import require
from fedlab_core.methods import METHODS
from fedlab_core.methods.combined import named
from fedlab_core.rounds.worlds import Proxy, world
from fedlab_core.tracing.choices import trace

VERBS = ("trace",)


def add_verbs(verbs) -> None:
    """Tell the command line of the verb."""
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


def answer(args: argparse.Namespace) -> int:
    """Trace what was asked for: a line a program, and a line a part without one."""
    require(bool(args.out) or not args.force, "--force: only with --out")
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
