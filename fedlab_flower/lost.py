"""A client that is missing in a round, said for a method's card.

The rule is one for all: it is as one that was not drawn. What that means for what a
server remembers is each server's own, and `tests/flower/test_lost.py` plays it.
"""

from fedlab_core.rounds import Method
from fedlab_core.rounds.groups import everyone, nobody

# What a server that adds up clients' changes does with those of the others.
_ADDS = {
    "controlled": "c moves by the share |S| / N of those who answered",
    "recentred": "the sum of all moves keeps what the client gave before",
    "corrected": "the sum of moves and g keep what the client gave before",
}
_GROUPS = {
    "fedcollab": "before round 1 nobody may be missing: distances are of all pairs",
    "kmeans": "before round 1 nobody may be missing: all models are clustered",
    "fesem": "the first round needs as many answers as there are centres",
}


def if_lost(method: Method) -> str:
    """A sentence on what becomes of a round when a client does not answer."""
    said = []
    exchange = method.rule.exchange
    if method.server.name in _ADDS:
        said.append(_ADDS[method.server.name])
    if exchange and exchange.when == "after":
        said.append("others are still told its last report")
    if method.rule.begin or method.personal.own_model:
        said.append("what it keeps stays as of its last round that counted")
    if method.groups is nobody:
        said.append("its model stays as it is")
    elif method.groups is not everyone:
        said.append("it stays in its group, and a group without answers as it is")
    if late := _GROUPS.get(method.groups.name):
        said.append(late)
    if not said or method.groups is everyone:
        said.insert(0, "the round is of those who answered")
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}."
