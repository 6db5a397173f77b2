"""The work of a round, written for one client.

`training` has the numbers of SGD, `rule` what it minimises, remembers and sends (and
how a rule is written), `exchange` what it reports besides its model, `augment` what it
does to its images.
"""

from fedlab_core.client.augment import CropFlip
from fedlab_core.client.exchange import Exchange, Quantity
from fedlab_core.client.rule import (
    PLAIN,
    Batch,
    ClientInput,
    Loss,
    Rule,
    cross_entropy,
    losses,
)
from fedlab_core.client.training import Cosine, Decay, Training
from fedlab_core.models.losses import entropies
from fedlab_core.models.network import Net
