"""A federated method as five choices, and the numbers of SGD.

- `rule`: what does a client minimise, remember and send? (`client.Rule`)
- `weigh`: how much does each member count? (`weigh.Weigh`)
- `server`: what becomes of the weighted models? (`server.Server`)
- `groups`: who is averaged with whom? (`groups.Groups`)
- `personal`: what does a client keep for itself? (`Personal`)

`training` says how clients step, whatever the choices. `Method` is a frozen record, so
a method is varied with `replace`: `replace(fl.scaffold(), weigh=fl.Disco())` is
SCAFFOLD with FedDisco's weights.
"""

from dataclasses import dataclass, field
from typing import Literal

from fedlab_core.arguments import checked
from fedlab_core.client.rule import Rule
from fedlab_core.client.training import Training
from fedlab_core.errors import require
from fedlab_core.rounds.groups import Groups, everyone, nobody
from fedlab_core.rounds.server import Server
from fedlab_core.rounds.weigh import Weigh

# What every client can be told: its share of all samples, how many clients there are,
# the round, and the sum of the learning rates of the steps before it.
COMMON = ("share", "clients", "round", "lr_sum")


@checked
@dataclass(frozen=True)
class Personal:
    """A model that a client keeps for itself and is judged by.

    `adapt` is how it trains a copy of the group's model before that is judged;
    `own_model` is the rule of a model of the client's own, which trains in every round
    from where it was, and is sent the group's model as "round.NAME"; it begins as the
    run's first model, or as the group's of then (`own_begin`); `kept` names a model in
    the client's state, or a part of one, which takes its place in the group's, and
    `sent=False` says that the group's has nothing there, since that part never leaves.
    """

    name: str
    adapt: Training | None = None
    own_model: Rule | None = None
    kept: str | None = None
    own_begin: Literal["first", "group"] = "first"
    sent: bool = field(default=True, metadata={"later": True})


nothing = Personal("nothing")


@checked
@dataclass(frozen=True)
class Method:
    """The choices, and a name. A combination without sense is refused when built.
    Equal choices make equal methods; those with closures cannot be pickled."""

    name: str
    training: Training
    rule: Rule
    weigh: Weigh
    server: Server
    groups: Groups = everyone
    personal: Personal = nothing

    def __post_init__(self) -> None:
        alone = self.groups is nobody and self.weigh.scalars > 0
        text = f"{self.name}: weigh={self.weigh.name} compares the members of a group"
        text += ", but groups=nobody leaves every client alone: use groups=everyone"
        require(not alone, text)
        lacks = self.personal.kept and not self.rule.begin
        text = f"{self.name}: personal={self.personal.name} judges what clients keep"
        require(not lacks, f"{text}, but its rule keeps nothing: choose both together")
        unsent = set(self.rule.needs) - {*self.server.sends, *COMMON}
        require(
            not unsent,
            f"{self.name}: its rule needs {', '.join(sorted(unsent))}, "
            f"which server={self.server.name} does not send: choose both together",
        )
        lost = set(self.server.needs) - set(self.rule.sends)
        require(
            not lost,
            f"{self.name}: server={self.server.name} needs "
            f"{', '.join(sorted(lost))}, which the rule does not send: "
            "choose both together",
        )
