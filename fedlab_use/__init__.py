"""Use of the core: what stands around training, beside it and above it.

Its names are also names of `fedlab_core`: `fl.save_model`, `fl.Patience`, and so on.
"""

from fedlab_use.adapt import adapted
from fedlab_use.heads import fedper, fedrep, lg_fedavg
from fedlab_use.keep import Best, OwnModels, load_model, save_model
from fedlab_use.own import dataset, read_dataset
from fedlab_use.presence import DrawByChance, DrawBySize, DropOut, UpAndDown
from fedlab_use.trackers import tracker
from fedlab_use.watch import EachClient, Patience, by_client, curves, together
