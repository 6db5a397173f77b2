"""Where a paper and its published code differ, as pairs of readings that can be run."""

from fedlab_ledger.papers.differences.feddisco import FEDDISCO
from fedlab_ledger.papers.differences.fedimpro import FEDCOLLAB, FEDIMPRO
from fedlab_ledger.papers.differences.fedlaw import FEDLAW
from fedlab_ledger.papers.differences.record import Difference as Difference
from fedlab_ledger.papers.differences.record import Reading as Reading
from fedlab_ledger.papers.differences.record import effects as effects
from fedlab_ledger.papers.differences.rfedavg import RFEDAVG

DIFFERENCES = (*FEDDISCO, *FEDLAW, *RFEDAVG, *FEDIMPRO, *FEDCOLLAB)
