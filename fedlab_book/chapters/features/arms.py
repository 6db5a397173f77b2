"""Methods and federations of chapter 6: pulled to each other, to zero, or not."""

from dataclasses import dataclass

from torch import Tensor

from fedlab_book.arms import amplified, as_sure, course
from fedlab_book.bench import Bench, Comparison, Place
from fedlab_core.client import Batch, ClientInput, Net, Rule, Training, entropies
from fedlab_core.methods.fedavg import Equal, fedavg
from fedlab_core.rounds import Method
from fedlab_core.tree import Tree

APART, ALIKE = "two letters each", "alike"
EACH, ZERO = "pulled to each other", "pulled to zero"
HARDER = f"{EACH}, harder"
SURE = f"FedAvg, as sure as {ZERO}"


@dataclass(frozen=True)
class ToZero:
    """Cross-entropy + lambda |mean feature|^2: nobody else is asked."""

    lam: float

    def __call__(
        self, net: Net, params: Tree, batch: Batch, given: ClientInput
    ) -> Tensor:
        h = net.features(params, batch.x)
        entropy = entropies(net.head(params, h), batch.y)
        far = (batch.weight @ h.flatten(1)).square().sum()
        return batch.mean(entropy) + self.lam * far


def to_zero(training: Training, lam: float) -> Method:
    """FedAvg whose clients pull their own mean features to zero."""
    return fedavg(training, Equal(), rule=Rule(loss=ToZero(lam)), name=ZERO)


def places(bench: Bench) -> dict[str, Place]:
    """Nine clinics with two letters each and one with all; and ten that are alike."""
    two = bench.place("niid2", biased=9, unbiased=1)
    return {APART: two, ALIKE: bench.place("stratified", clients=10)}


def less_sure(
    found: Comparison, plain: Method, place: Place
) -> tuple[Place, dict[str, Method]]:
    """FedAvg whose server keeps it as sure as the runs pulled to zero in `found` were.

    The place is the same, its network with a number that multiplies its outputs.
    """
    loud = amplified(place)
    return loud, {SURE: as_sure(plain, loud, course(found, ZERO, APART))}
