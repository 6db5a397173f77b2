"""The ledger: what the papers report, what was measured here, and how they compare.

A `Cell` (`cells`) is a number of a paper and a setting for each scale; `papers` has all
of them. `build` makes a run of a setting, `work` says what there is to play, `player`
and `cluster` play it, in `turns` with others, `measures` and `observers` say what is
looked at, `store` keeps the `lines`, and `again` compares them with another run.
`verdict`, `claims` and `show` compare with the papers; `book` is what the pages ask,
`export` hands out models, and `command` has the verbs of the command line, with
their `options` and what they print (`terminal`).
"""

from fedlab_ledger.cells import SCALES, Cell, Setting, Table
from fedlab_ledger.claims import Claim, judged
from fedlab_ledger.player import play, play_all
from fedlab_ledger.show import shown
from fedlab_ledger.store import Store
from fedlab_ledger.verdict import Verdict, judge, judge_gain
from fedlab_ledger.work import jobs
