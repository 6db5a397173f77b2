"""rFedAvg (Wang et al. 2023): Tables I to III, Figures 2 to 12.

Readings, of the authors' code: E counts epochs; mean features come from one mini-batch
of those who take part in the round and, in rFedAvg+, include one's own; plain averages;
FedProx without the factor one half; q-FedAvg with L = 1 and a scaled norm. Their
SCAFFOLD corrects a copy of the parameters and is FedAvg in effect: so it is here. Every
client is tested on its own part of the test data, divided like the training data. The
tables' "±" is over the last 5 rounds.
"""

from fedlab_ledger.model import Table
from fedlab_ledger.papers.rfedavg import figures, tables
from fedlab_ledger.papers.rfedavg.claims import CLAIMS

TABLES: tuple[Table, ...] = (*tables.TABLES, *figures.TABLES)
