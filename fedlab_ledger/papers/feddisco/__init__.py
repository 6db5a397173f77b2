"""FedDisco (Ye et al. 2023): Tables 1 to 7 and 9 to 13, Figures 2, 4, 5 and 8, and the
numbers of its appendix on stragglers, regression and FEMNIST.

Readings, of the authors' code where the paper is silent: momentum .9, weight decay
1e-5, incomplete mini-batches dropped, a new optimiser every round; discrepancies
divided by their sum; CIFAR images cropped and mirrored (CINIC's alike, which is a
guess); FedDyn and FedDC average plainly, FedDC without its gradient correction; best
round reported.
Nobody says which a and b stand behind a number: here .5 and .1, the code's.

Table 3 is judged to within a point. Its numbers are means of ten rounds, and by how far
these lie apart in Table 10 such a mean is itself uncertain by up to about a point: that
SCAFFOLD and FedDyn differ hangs on less.
"""

from pathlib import Path

from fedlab_ledger.papers.feddisco.readings import READINGS
from fedlab_ledger.papers.feddisco.tables import TABLES
from fedlab_ledger.papers.paper import paper

PAPER = paper(Path(__file__).parent, TABLES, READINGS)
