"""The ledger: what the papers report, what was measured here, and how they compare."""

from fedlab_core.ledger.cells import SCALES as SCALES
from fedlab_core.ledger.cells import Cell as Cell
from fedlab_core.ledger.cells import Setting as Setting
from fedlab_core.ledger.cells import Table as Table
from fedlab_core.ledger.claims import Claim as Claim
from fedlab_core.ledger.claims import judged as judged
from fedlab_core.ledger.player import jobs as jobs
from fedlab_core.ledger.player import play as play
from fedlab_core.ledger.player import play_all as play_all
from fedlab_core.ledger.show import shown as shown
from fedlab_core.ledger.store import Store as Store
from fedlab_core.ledger.verdict import Verdict as Verdict
from fedlab_core.ledger.verdict import judge as judge
from fedlab_core.ledger.verdict import judge_gain as judge_gain
