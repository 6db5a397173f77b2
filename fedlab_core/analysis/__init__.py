"""What the papers measure to explain a result: bounds, curvature, drift, fairness.

Everything takes a stacked tree of states where it can, so that one call judges the
models of many clients, rounds or settings. No round of a federation needs any of it.
"""

from fedlab_core.analysis.bounds import Constants as Constants
from fedlab_core.analysis.bounds import Descent as Descent
from fedlab_core.analysis.bounds import descend as descend
from fedlab_core.analysis.bounds import stationary as stationary
from fedlab_core.analysis.curvature import Curvature as Curvature
from fedlab_core.analysis.curvature import top_curvature as top_curvature
from fedlab_core.analysis.drift import divergence as divergence
from fedlab_core.analysis.drift import layer_divergence as layer_divergence
from fedlab_core.analysis.drift import mean_divergence as mean_divergence
from fedlab_core.analysis.drift import relative_to_peak as relative_to_peak
from fedlab_core.analysis.fairness import client_variance as client_variance
from fedlab_core.analysis.fairness import head_middle_tail as head_middle_tail
from fedlab_core.analysis.fairness import ipr as ipr
from fedlab_core.analysis.fairness import rsd as rsd
from fedlab_core.analysis.features import mmd as mmd
from fedlab_core.analysis.features import regulariser as regulariser
from fedlab_core.analysis.features import spread as spread
from fedlab_core.analysis.transport import (
    conditional_wasserstein as conditional_wasserstein,
)
from fedlab_core.analysis.transport import wasserstein as wasserstein
from fedlab_core.analysis.variance import Synthetic as Synthetic
from fedlab_core.analysis.variance import gradient_variance as gradient_variance
