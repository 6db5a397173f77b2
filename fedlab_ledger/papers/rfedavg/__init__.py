"""rFedAvg (Wang et al. 2023): Tables I to III, Figures 2 to 12.

Readings, of the authors' code: E counts epochs; mean features come from one mini-batch
of those who take part in the round and, in rFedAvg+, include one's own; plain averages;
FedProx without the factor one half; q-FedAvg with L = 1 and a scaled norm. Their
SCAFFOLD corrects a copy of the parameters and is FedAvg in effect: so it is here. Every
client is tested on its own part of the test data, divided like the training data. The
tables' "±" is over the last 5 rounds.
"""

from pathlib import Path

from fedlab_ledger.papers.paper import paper
from fedlab_ledger.papers.rfedavg.readings import READINGS
from fedlab_ledger.papers.rfedavg.tables import TABLES

PAPER = paper(Path(__file__).parent, TABLES, READINGS)
