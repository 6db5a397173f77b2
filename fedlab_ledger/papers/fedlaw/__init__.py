"""FedLAW (Li et al. 2023): Tables 1 to 11 and Figures 1 to 14.

Readings, of the authors' code where the paper is silent: 30 % of every client's samples
are never used; momentum goes on from round to round; the learning rate falls by 1 % a
round; CIFAR images between -1 and 1; FedProx takes bare gradient steps; FedDyn has the
penalty without a square and mu = .001; FedDF, FedBE and Server-FT use SGD. The proxy
set is taken out of the test set, 10 a class, 200 a class where the training dynamics
are studied. Clients with fewer than 2 samples are completed from the largest.
Figures 15 to 17 are the curves of Table 3.
"""

from pathlib import Path

from fedlab_ledger.papers.fedlaw.readings import READINGS
from fedlab_ledger.papers.fedlaw.tables import TABLES
from fedlab_ledger.papers.paper import paper

PAPER = paper(Path(__file__).parent, TABLES, READINGS)
