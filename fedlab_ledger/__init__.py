"""The ledger: what the papers report, what was measured here, and how they compare.

`model` has what everything is made of: a `Cell` is a number of a paper with a setting
for each scale, a `Claim` a pair of them, a line of the `Store` a measured number, a
`Verdict` what it comes to. `run` plays what is missing. `judge` compares with the
papers, whose cells and claims are in `papers`. `report` is what the pages ask, `export`
hands out models, and `cli` has the verbs of the command line. Each of these folders
imports from those before it alone.
"""

from fedlab_ledger.judge.claims import judged
from fedlab_ledger.judge.show import shown
from fedlab_ledger.model import (
    SCALES,
    Cell,
    Claim,
    Setting,
    Store,
    Table,
    Verdict,
    judge,
    judge_gain,
)
from fedlab_ledger.run.jobs import jobs
from fedlab_ledger.run.player import play, play_all
