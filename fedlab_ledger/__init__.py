"""The ledger: what the papers report, what was measured here, and how they compare."""

from fedlab_ledger.cells import SCALES as SCALES
from fedlab_ledger.cells import Cell as Cell
from fedlab_ledger.cells import Setting as Setting
from fedlab_ledger.cells import Table as Table
from fedlab_ledger.claims import Claim as Claim
from fedlab_ledger.claims import judged as judged
from fedlab_ledger.player import jobs as jobs
from fedlab_ledger.player import play as play
from fedlab_ledger.player import play_all as play_all
from fedlab_ledger.show import shown as shown
from fedlab_ledger.store import Store as Store
from fedlab_ledger.verdict import Verdict as Verdict
from fedlab_ledger.verdict import judge as judge
from fedlab_ledger.verdict import judge_gain as judge_gain
