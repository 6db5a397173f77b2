"""`python -m fedlab_core play`: a state of the playground, played by the core."""

import argparse

from fedlab_book.playground import state as can
from fedlab_core import Run, run_all
from fedlab_core.arguments import Count
from fedlab_core.arguments.line import option
from fedlab_core.errors import require

VERBS = ("play",)


def add_verbs(verbs) -> None:
    """Tell the command line of the verb."""
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
    most = f"up to {can.ROUNDS} (10)"
    parser.add_argument("--rounds", type=option(Count), default=10, help=most)


def answer(args: argparse.Namespace) -> int:
    """Play the state; a line a round."""
    state = can.parsed(args.state)
    fits = args.rounds <= can.ROUNDS
    require(fits, f"--rounds: 1 to {can.ROUNDS}, as the page, not {args.rounds}")
    world, method = can.world_of(state), can.method_of(state, can.group_of(state))
    run = Run(world, method, args.rounds, int(state["seed"]), can.present(state))
    (history,) = run_all([run])
    for row in history.rows:
        print(f"round {row['round']:>2}: accuracy {100 * row['accuracy']:.2f} %")
    return 0
