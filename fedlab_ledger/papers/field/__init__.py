"""Everyone on one field: no paper's table, but the question that none of them asks.

"for_all" and "for_own" play every method on the home field of each of the five papers,
and on a real data set at home to none: a small world in which that paper's effect has
been seen or looked for, with the clients' training that goes with it. Each run is
judged twice: all models on test samples that are nobody's own, and each client's on
samples like its own. "tuning" is how the methods' constants were chosen for each field
and judgement, by one budget; "collapse" looks for why a run of FedLAW ends at chance;
"composer" plays every combination of choices on two of the fields, in fewer rounds.

What is measured is the "small" scale. All arms of a field share their seeds: data,
split, first model and the order of mini-batches.
"""

from fedlab_ledger.papers.field import composer, tuning, twice, worlds
from fedlab_ledger.papers.field.arms import ARMS, CHOSEN, TRIED, TUNED, constant
from fedlab_ledger.papers.field.composer import COMPOSED, combinations, possible, row
from fedlab_ledger.papers.field.twice import JUDGED, at_chance
from fedlab_ledger.papers.field.worlds import FIELDS

TABLES = (*twice.TABLES, tuning.TABLE, composer.TABLE)

__all__ = [
    "ARMS",
    "CHOSEN",
    "COMPOSED",
    "FIELDS",
    "JUDGED",
    "TABLES",
    "TRIED",
    "TUNED",
    "at_chance",
    "combinations",
    "constant",
    "possible",
    "row",
    "tuning",
    "worlds",
]
