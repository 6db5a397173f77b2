"""FedImpro (Tang et al. 2024): Tables 1 to 3, 6 to 11, Figures 2, 3, 8 and 9.

Readings, of the authors' code where the paper is silent: FedImpro's "code" form, cut
after the second stage; SCAFFOLD's server variate moves by the mean of the participants'
changes, without their share of all clients; FedProx with mu = .1; Fashion-MNIST scaled
to 32 pixels; CIFAR images cropped and mirrored, SVHN's as they are; every client holds
as many samples as there are classes, or more. Learning rates are those of the paper's
Table 5. FedDyn's alpha is not given: .01 here. Runs of five epochs have 400 rounds, the
others 1,000.
"""

from pathlib import Path

from fedlab_ledger.papers.fedimpro.readings import READINGS
from fedlab_ledger.papers.fedimpro.tables import TABLES
from fedlab_ledger.papers.paper import paper

PAPER = paper(Path(__file__).parent, TABLES, READINGS)
