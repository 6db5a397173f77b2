"""Splits of samples among clients, as in the papers: seeded functions, as data.

A `Partition` is a list of sample indices per client plus what was asked for. It can be
hashed, compared, saved and drawn. Two ways of reading `alpha` circulate: here a class
is shared out among the clients by Dirichlet(alpha), so a small alpha means that few
clients hold a class.
"""

from fedlab_core.partition.designs import (
    FEDCOLLAB_LABEL_SHIFT,
    clusters,
    designed,
    niid2,
)
from fedlab_core.partition.dirichlets import dirichlet, hybrid, long_tail, share_out
from fedlab_core.partition.even import iid, long_tail_sizes, similarity, stratified
from fedlab_core.partition.owners import natural
from fedlab_core.partition.record import Partition
from fedlab_core.partition.thinned import hold_out, keep
