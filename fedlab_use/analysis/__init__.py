"""Measures by which the papers explain a result: curvature, drift, fairness.

Everything takes a stacked tree of states where it can, so that one call judges the
models of many clients, rounds or settings.
"""

from fedlab_use.analysis.curvature import Curvature, top_curvature
from fedlab_use.analysis.drift import divergence, layer_divergence, mean_divergence
from fedlab_use.analysis.fairness import client_variance, head_middle_tail, ipr, rsd
from fedlab_use.analysis.features import mmd, regulariser, spread
from fedlab_use.analysis.transport import conditional_wasserstein, wasserstein
from fedlab_use.analysis.variance import Synthetic, gradient_variance
