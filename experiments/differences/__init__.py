"""Where a paper and its published code differ, as pairs of readings that can be run."""

from experiments.differences.feddisco import FEDDISCO
from experiments.differences.fedimpro import FEDCOLLAB, FEDIMPRO
from experiments.differences.fedlaw import FEDLAW
from experiments.differences.record import Difference as Difference
from experiments.differences.record import Reading as Reading
from experiments.differences.record import effects as effects
from experiments.differences.rfedavg import RFEDAVG

DIFFERENCES = (*FEDDISCO, *FEDLAW, *RFEDAVG, *FEDIMPRO, *FEDCOLLAB)
