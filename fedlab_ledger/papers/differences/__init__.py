"""Where a paper and its published code differ, as pairs of readings that can be run."""

from fedlab_ledger.papers.differences.feddisco import FEDDISCO
from fedlab_ledger.papers.differences.fedimpro import FEDCOLLAB, FEDIMPRO
from fedlab_ledger.papers.differences.fedlaw import FEDLAW
from fedlab_ledger.papers.differences.record import Difference, Reading, effects
from fedlab_ledger.papers.differences.rfedavg import RFEDAVG

DIFFERENCES = (*FEDDISCO, *FEDLAW, *RFEDAVG, *FEDIMPRO, *FEDCOLLAB)
