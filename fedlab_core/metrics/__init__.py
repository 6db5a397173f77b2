"""What a round or a method needs to measure: scores, label skew, agreement, intervals.

Everything takes a stacked tree of states where it can, so that one call judges the
models of many clients, rounds or settings. Accuracies are fractions in [0, 1].
"""

from fedlab_core.metrics.labels import DISCREPANCIES as DISCREPANCIES
from fedlab_core.metrics.labels import discrepancy as discrepancy
from fedlab_core.metrics.labels import (
    heterogeneity_coherence as heterogeneity_coherence,
)
from fedlab_core.metrics.labels import heterogeneity_degree as heterogeneity_degree
from fedlab_core.metrics.labels import weight_correlations as weight_correlations
from fedlab_core.metrics.scores import Own as Own
from fedlab_core.metrics.scores import Scores as Scores
from fedlab_core.metrics.scores import evaluate as evaluate
from fedlab_core.metrics.scores import evaluate_own as evaluate_own
from fedlab_core.metrics.scores import logits as logits
from fedlab_core.metrics.seeds import mean_interval as mean_interval
from fedlab_core.metrics.updates import coherence as coherence
from fedlab_core.metrics.updates import critical_round as critical_round
from fedlab_core.metrics.updates import shrinking as shrinking
