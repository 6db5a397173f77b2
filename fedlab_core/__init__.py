"""The core of "Who Counts?": federated methods as five choices, exact and fast.

One round, from the call to a gradient step and back:

    federate(world, method)         rounds/run.py        one run, or many as one cohort
      a round begins                rounds/simulation.py  who takes part, with what
        train(cohort, ClientInput)  engine/cohort.py      which engine, in which parts
          which samples, when       engine/plan.py        drawn from the clients' keys
          a step of SGD             engine/looped.py or stacked.py, with engine/step.py
            rule.loss(net, ...)     client/rule.py        what a client minimises
              net(params, x)        models/network.py     the network as a function
        weigh(members)              rounds/weigh.py       how much each model counts
        server.step(gathered)       rounds/server.py      the next model
        is it good?                 rounds/evaluation.py  and the round is written down
"""

import signal
import sys
from typing import Any

if sys.argv[:1] == ["-m"]:  # as a program, until it listens: Ctrl-C ends it, no more
    signal.signal(signal.SIGINT, signal.SIG_DFL)

# ruff: noqa: E402
from fedlab_core.client.exchange import Exchange
from fedlab_core.client.rule import Batch, ClientInput, Rule
from fedlab_core.client.training import Cosine, Decay, Training
from fedlab_core.data import Dataset, load
from fedlab_core.engine import train
from fedlab_core.errors import InputError
from fedlab_core.methods import METHODS
from fedlab_core.methods.cfl import cfl
from fedlab_core.methods.combined import compose
from fedlab_core.methods.ditto import ditto
from fedlab_core.methods.fedadam import fedadam
from fedlab_core.methods.fedavg import BySize, Equal, fedavg, local_only
from fedlab_core.methods.fedavgm import fedavgm
from fedlab_core.methods.fedbe import fedbe
from fedlab_core.methods.fedcollab import fedcollab
from fedlab_core.methods.feddc import feddc
from fedlab_core.methods.feddf import feddf
from fedlab_core.methods.feddisco import Disco, feddisco
from fedlab_core.methods.feddyn import feddyn
from fedlab_core.methods.fedimpro import fedimpro
from fedlab_core.methods.fedlaw import attentive, fedlaw, fedlaw_swa, gws, shrunk
from fedlab_core.methods.fednova import fednova
from fedlab_core.methods.fedprox import fedprox
from fedlab_core.methods.fesem import fesem
from fedlab_core.methods.finetune import finetune
from fedlab_core.methods.ifca import ifca
from fedlab_core.methods.kmeans import kmeans
from fedlab_core.methods.moon import moon
from fedlab_core.methods.per_fedavg import per_fedavg
from fedlab_core.methods.pfedme import pfedme
from fedlab_core.methods.qfedavg import qfedavg
from fedlab_core.methods.rfedavg import rfedavg, rfedavg_plus
from fedlab_core.methods.scaffold import scaffold
from fedlab_core.methods.server_ft import server_ft
from fedlab_core.metrics.measures import auc, r2
from fedlab_core.models import build
from fedlab_core.models.losses import logistic, squared
from fedlab_core.partition import (
    Partition,
    clusters,
    designed,
    dirichlet,
    hold_out,
    hybrid,
    iid,
    keep,
    long_tail,
    long_tail_sizes,
    natural,
    niid2,
    similarity,
    stratified,
)
from fedlab_core.partition.scenarios import Scenario, scenario
from fedlab_core.rounds.checkpoint import Checkpoint
from fedlab_core.rounds.extensions import brought as _brought
from fedlab_core.rounds.extensions import playground
from fedlab_core.rounds.groups import Groups, everyone, nobody
from fedlab_core.rounds.history import History
from fedlab_core.rounds.method import Method, Personal
from fedlab_core.rounds.records import Round, Run
from fedlab_core.rounds.run import federate, run_all
from fedlab_core.rounds.server import Gathered, Server, ServerState
from fedlab_core.rounds.weigh import Members
from fedlab_core.rounds.worlds import Proxy, World, world, world_of

__version__ = "0.1.0"
# Names that packages beside the core bring: `fl.save_model` and so on.
BESIDE = (
    *("Best", "EachClient", "OwnModels", "Patience", "adapted", "by_client", "curves"),
    *("dataset", "load_model", "read_dataset", "save_model", "together", "tracker"),
    *("DrawByChance", "DrawBySize", "DropOut", "UpAndDown"),
    *("fedper", "fedrep", "lg_fedavg"),
)


def __getattr__(name: str) -> Any:
    """A name of `BESIDE`, once it is asked for."""
    if name in BESIDE:
        return _brought(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
