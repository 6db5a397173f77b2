"""Rounds: a world, a method of five choices, and the loop that plays one in the other.

`worlds` has who holds what, `method` the choices, of which `weigh`, `server` and
`groups` have files of their own; `run` begins runs, `simulation` is the loop.
"""

from fedlab_core.rounds.groups import (
    GroupOf,
    Groups,
    Losses,
    Regrouping,
    everyone,
    nobody,
)
from fedlab_core.rounds.method import Method, Personal
from fedlab_core.rounds.server import Gathered, Server, ServerState, ServerView
from fedlab_core.rounds.weigh import Members, Weigh
from fedlab_core.rounds.worlds import World
