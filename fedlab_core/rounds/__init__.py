"""Rounds: a world, a method of five choices, and the loop that plays one in the other.

`worlds` has who holds what, `method` the choices, `weigh`, `server` and `groups` three
of them; `play` begins a run, and `simulation` is the loop, with a drawing of a round.
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
