"""rFedAvg and rFedAvg+: pull the clients' mean features together while they train.

Citation: Wang et al. 2023, "Distribution-Regularized Federated Learning on Non-IID
Data" (ICDE 2023). Agreement of rFedAvg+: 8e-17 with rFedAvg's code (83de4b9).

Symbols: phi -> `Net.features`; delta^k -> "delta" of what a client reports; the target
of client k -> "target" of its broadcast; lambda -> `lam`; d -> as many numbers.

Algorithm: Alg. 1 (rFedAvg) -> `Regularised` with `Others` of means taken after
training; Alg. 2 (rFedAvg+) -> the same with means taken before, under the new model.

Deviations from the paper:
1. `form="paper"`, the default, takes delta over all of a client's samples, and a target
   leaves its client out. `form="code"` takes it over one mini-batch, and rFedAvg+'s
   target is the mean of all participants. Both algorithms are written for everyone
   taking part. Where a part does, rFedAvg's targets are of all who ever reported, each
   its last, as Alg. 1 keeps a delta of every client; in the code's form, of those
   who take part now.
2. In both algorithms the local mean in the loss is the mini-batch's, as in the code.
3. rFedAvg's sum of squared distances to the others' deltas is computed as the distance
   to their mean and their spread around it: the same number, and d numbers to send.
   `bytes` of the history counts what the paper's form would send only in rFedAvg+.
4. Without a target the term is 0: nobody else has reported. The code begins rFedAvg
   with means under a network that each client draws for itself.
5. Features are those before the last layer, after their activation.
6. `noise` is the standard deviation of what is added to a delta; the paper's is
   sigma_2 C_0 / L, with `clip` = C_0 and L samples. Its code does not clip.
7. Clients count equally, as in the code, in either form; the paper weighs them by p_k:
   `replace(rfedavg(), weigh=BySize())`.
"""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from fedlab_core.arguments import NotNegative, Positive, checked
from fedlab_core.client import Batch, ClientInput, Exchange, Net, Rule, Training
from fedlab_core.methods.fedavg import Equal, fedavg
from fedlab_core.rounds import Method
from fedlab_core.tree import Tree, stack


def delta(net: Net, params: Tree, x: Tensor, y: Tensor) -> Tree:
    """phi(x), whose mean over a client's samples is its delta."""
    return {"delta": net.features(params, x).flatten(1)}


@checked
@dataclass(frozen=True)
class Clipped:
    """phi(x), no longer than `most`: one sample then moves delta by 2 most / m_k."""

    most: Positive

    def __call__(self, net: Net, params: Tree, x: Tensor, y: Tensor) -> Tree:
        phi = delta(net, params, x, y)["delta"]
        length = phi.norm(dim=1, keepdim=True)
        return {"delta": phi * (self.most / length.clamp(min=self.most))}


@checked
@dataclass(frozen=True)
class Others:
    """To each of `ids`: the mean delta of the others, and their spread around it."""

    own: bool = False  # the mean of all, oneself included
    present: bool = False  # of those alone who take part now

    def __call__(self, known: Tree, who: list[int], ids: list[int]) -> Tree:
        rows, told = known["delta"], []
        asked = set(ids if self.present else who)
        for k in ids:
            count = [j in asked and (self.own or j != k) for j in who]
            here = rows[[i for i, counts in enumerate(count) if counts]]
            zero, there = rows.new_zeros(()), rows.new_tensor(float(len(here) > 0))
            mean = here.mean(0) if len(here) else zero.expand(rows.shape[1])
            around = (here - mean).square().sum(1).mean() if len(here) else zero
            told.append({"target": mean, "around": around, "there": there})
        return stack(told)


@checked
@dataclass(frozen=True)
class Regularised:
    """CE + lambda |mean feature - target|^2, and the others' spread if `spread`."""

    lam: NotNegative
    spread: bool = False

    def __call__(
        self, net: Net, params: Tree, batch: Batch, given: ClientInput
    ) -> Tensor:
        h = net.features(params, batch.x)
        entropy = net.each(net.head(params, h), batch.y)
        mean = batch.weight @ h.flatten(1)
        far = (mean - given.broadcast["target"]).square().sum()
        if self.spread:
            far = far + given.broadcast["around"]
        return batch.mean(entropy) + self.lam * given.broadcast["there"] * far


@checked
def rfedavg(
    training: Training | None = None,
    lam: NotNegative = 1e-4,
    plus: bool = False,
    form: Literal["paper", "code"] = "paper",
    noise: NotNegative = 0.0,
    clip: Positive | None = None,
) -> Method:
    """FedAvg whose clients' mean features are drawn together; `plus` for rFedAvg+.

    For privacy, features may be cut to the length `clip` and every number of a delta
    gets Gaussian noise of standard deviation `noise`.
    """
    training, code = training or Training(), form == "code"
    share = Others(own=plus and code, present=code)
    batch = training.batch_size if code else None
    of = delta if clip is None else Clipped(clip)
    exchange = Exchange(of, "before" if plus else "after", share, batch, noise)
    rule = Rule(loss=Regularised(lam, not plus), exchange=exchange)
    return fedavg(training, Equal(), name="rFedAvg+" if plus else "rFedAvg", rule=rule)


@checked
def rfedavg_plus(training: Training | None = None, **options) -> Method:
    """rFedAvg+; `options` are those of `rfedavg`."""
    return rfedavg(training, plus=True, **options)
