"""Many clients' local training at once: the only place that knows how.

`train` runs a client's rule (`local.Local`) for a whole cohort, by one of two engines
that give the same numbers:

- *looped*: one client after another, an ordinary PyTorch loop on every core;
- *stacked*: all clients of a step at once; on a CUDA device as one captured graph.

What is random about a client comes from its key (seed, round, client) alone. So the
cohort's order does not change a bit, and the engine, splitting the cohort, or training
others beside it, no more than the last digits.
"""

from fedlab_core.engine.cohort import Trained as Trained
from fedlab_core.engine.cohort import begin_memories as begin_memories
from fedlab_core.engine.cohort import choose_engine as choose_engine
from fedlab_core.engine.cohort import train as train
from fedlab_core.engine.means import client_means as client_means
from fedlab_core.engine.plan import Client as Client
from fedlab_core.engine.plan import batch_order as batch_order
from fedlab_core.engine.plan import count_steps as count_steps
from fedlab_core.engine.statistics import reestimate as reestimate
