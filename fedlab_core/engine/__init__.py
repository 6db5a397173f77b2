"""Many clients' local training at once: the only place that knows how.

`train` runs a client's rule (`client.Rule`) for a whole cohort, by one of two engines
that give the same numbers:

- *looped*: one client after another, an ordinary PyTorch loop on every core;
- *stacked*: all clients of a step at once; on a CUDA device as one captured graph.

What is random about a client comes from its key (seed, round, client) alone. So the
cohort's order does not change a bit, and the engine, splitting the cohort, or training
others beside it, no more than the last digits.
"""

from fedlab_core.engine.cohort import Trained, begin_states, choose_engine, train
from fedlab_core.engine.mean_statistics import client_means
from fedlab_core.engine.plan import Client, batch_order, count_steps
from fedlab_core.engine.statistics import reestimate
