"""Parts of the ledger: cells, claims, lines of results, verdicts."""

from fedlab_ledger.model.cells import SCALES, Cell, Setting, Table
from fedlab_ledger.model.claim import Claim
from fedlab_ledger.model.headline import Headline
from fedlab_ledger.model.store import Store
from fedlab_ledger.model.verdict import Verdict, judge, judge_gain
