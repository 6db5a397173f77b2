"""Measures for rounds and methods: scores, label skew, agreement, intervals.

Everything takes a stacked tree of states where it can, so that one call judges the
models of many clients, rounds or settings. Accuracies are fractions in [0, 1].
"""

from fedlab_core.metrics.labels import (
    DISCREPANCIES,
    discrepancy,
    heterogeneity_coherence,
    heterogeneity_degree,
    weight_correlations,
)
from fedlab_core.metrics.measures import auc, r2
from fedlab_core.metrics.scores import (
    Own,
    Scores,
    evaluate,
    evaluate_own,
    mean_interval,
)
from fedlab_core.metrics.updates import coherence, shrinking
from fedlab_core.models.network import logits
