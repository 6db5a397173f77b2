"""FedDisco (Ye et al. 2023): Tables 1 to 7 and 9 to 13, Figures 2, 4, 5 and 8, and the
numbers of its appendix on stragglers, regression and FEMNIST.

Readings, of the authors' code where the paper is silent: momentum .9, weight decay
1e-5, incomplete mini-batches dropped, a new optimiser every round; discrepancies
divided by their sum; CIFAR images cropped and mirrored (CINIC's alike, which is a
guess); FedDyn and FedDC average plainly, FedDC without its gradient correction; best
round reported.
Nobody says which a and b stand behind a number: here .5 and .1, the code's.
"""

from fedlab_ledger.papers.common import in_order
from fedlab_ledger.papers.feddisco import ablations, appendix, figures, tables
from fedlab_ledger.papers.feddisco.claims import CLAIMS

_DECLARED = (*tables.TABLES, *ablations.TABLES, *appendix.TABLES, *figures.TABLES)
TABLES = in_order(_DECLARED)
