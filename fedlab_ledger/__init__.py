"""The ledger: what the papers report, what was measured here, and how they compare."""

from fedlab_ledger.cells import SCALES, Cell, Setting, Table
from fedlab_ledger.claims import Claim, judged
from fedlab_ledger.player import jobs, play, play_all
from fedlab_ledger.show import shown
from fedlab_ledger.store import Store
from fedlab_ledger.verdict import Verdict, judge, judge_gain
