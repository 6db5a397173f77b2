"""The least and the largest number that a method takes: it, and nothing beyond."""

import math

import numpy as np
import pytest

import fedlab_core as fl
from fedlab_core.client import CropFlip
from fedlab_core.errors import InputError
from fedlab_core.methods.cfl import SplitInTwo
from fedlab_core.methods.collab_distance import pooled_pixels
from fedlab_core.methods.fedadam import ServerAdam
from fedlab_core.methods.fedavgm import Momentum
from fedlab_core.methods.fedcollab import FedCollab
from fedlab_core.methods.fedimpro import Pooled
from fedlab_core.methods.fedlaw import Law
from fedlab_core.methods.kmeans import KMeans
from fedlab_core.methods.server_steps import Fit
from fedlab_core.partition import iid, similarity

ABOVE_0, BELOW_1 = math.ulp(0.0), math.nextafter(1, 0)

# Who takes it, its name, the last that is taken, and the first that is not.
EDGES = [
    *((fl.Training, n, 0, -1) for n in ("epochs", "weight_decay", "iterations", "cap")),
    *((fl.Training, n, ABOVE_0, 0.0) for n in ("lr", "clip")),
    (fl.Training, "batch_size", 1, 0),
    *((fl.Training, n, v, w) for n in ("momentum", "rmsprop")
      for v, w in ((0.0, -ABOVE_0), (BELOW_1, 1.0))),
    (fl.Proxy, "per_class", 1, 0),
    (fl.Proxy, "rho", 1.0, BELOW_1),
    (CropFlip, "pad", 0, -1),
    *((SplitInTwo, n, 0.0, -ABOVE_0) for n in ("eps1", "eps2", "gamma_max")),
    (SplitInTwo, "after", 0, -1),
    *((KMeans, n, 1, 0) for n in ("k", "alone")),
    *((fl.METHODS[n], "k", 1, 0) for n in ("ifca", "fesem", "kmeans")),
    *((Law, n, 1, 0) for n in ("batch", "halve_every")),
    *((Law, n, 0, -1) for n in ("server_epochs", "early_stop")),
    *((Law, n, ABOVE_0, 0.0) for n in ("lr", "global_lr", "x_lr")),
    (fl.shrunk, "gamma", ABOVE_0, 0.0),
    (Fit, "batch", 1, 0),
    (Fit, "epochs", 0, -1),
    (Fit, "momentum", BELOW_1, 1.0),
    (FedCollab, "C", 0.0, -ABOVE_0),
    (FedCollab, "restarts", 1, 0),
    *((ServerAdam, n, BELOW_1, 1.0) for n in ("beta1", "beta2")),
    *((ServerAdam, n, ABOVE_0, 0.0) for n in ("lr", "tau")),
    (Momentum, "beta", BELOW_1, 1.0),
    (Momentum, "lr", ABOVE_0, 0.0),
    (Pooled, "momentum", BELOW_1, 1.0),
    (Pooled, "noise", 0.0, -ABOVE_0),
    (pooled_pixels, "side", 1, 0),
    (fl.METHODS["finetune"], "steps", 1, 0),
    (fl.METHODS["pfedme"], "lam", ABOVE_0, 0.0),
    *((fl.METHODS[n], "lam", 0.0, -ABOVE_0) for n in ("ditto", "rfedavg")),
    *((fl.METHODS[n], "alpha", ABOVE_0, 0.0) for n in ("feddyn", "feddc")),
    *((fl.METHODS[n], "mu", 0.0, -ABOVE_0) for n in ("fedprox", "moon")),
    *((fl.METHODS["feddisco"], n, 0.0, -ABOVE_0) for n in ("a", "b")),
    *((fl.METHODS["fedbe"], n, 0.0, -ABOVE_0) for n in ("spread", "floor")),
    (fl.METHODS["q-fedavg"], "q", 0.0, -ABOVE_0),
    (fl.METHODS["scaffold"], "lr", ABOVE_0, 0.0),
]  # fmt: skip


NAMES = {id(entry): name for name, entry in fl.METHODS.items()}
IDS = [f"{NAMES.get(id(e[0])) or e[0].__name__} {e[1]} {e[3]}" for e in EDGES]


@pytest.mark.parametrize("take, name, last, beyond", EDGES, ids=IDS)
def test_the_edge_is_taken_and_nothing_beyond(take, name, last, beyond):
    take(**{name: last})
    with pytest.raises(InputError):
        take(**{name: beyond})


def test_splits_have_edges_too():
    labels = np.arange(3)
    assert len(iid(labels, 1)) == 1
    for share in (0.0, 1.0):
        assert len(similarity(labels, 1, share)) == 1
    for share in (-ABOVE_0, math.nextafter(1, 2), math.nan):
        with pytest.raises(InputError, match="similarity: s must be"):
            similarity(labels, 1, share)
