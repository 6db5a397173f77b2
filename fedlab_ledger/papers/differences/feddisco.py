"""Where FedDisco and its published code differ."""

from fedlab_ledger.papers.common import Plain
from fedlab_ledger.papers.differences.record import Difference
from fedlab_ledger.papers.differences.worlds import local, method, pair, read


def _disco(**options) -> Plain:
    return {"method": "fedavg", "weigh": {"name": "disco", **options}}


FEDDISCO = (
    Difference(
        "feddisco",
        "normalised discrepancies",
        "weights are n - a d + b, made positive and normalised",
        "d is first divided by its sum over the round",
        "feddisco(normalise=)",
        **pair("feddisco", _disco(normalise=False), _disco()),
    ),
    Difference(
        "feddisco",
        "momentum of clients",
        "SGD with a step size; no momentum is mentioned",
        "momentum .9, anew in every round",
        "Training(momentum=)",
        **pair("feddisco", local(momentum=0.0), local(momentum=0.9), _disco()),
    ),
    Difference(
        "feddisco",
        "weight decay",
        "not mentioned",
        "1e-5",
        "Training(weight_decay=)",
        **pair("feddisco", {}, local(weight_decay=1e-5), _disco()),
    ),
    Difference(
        "feddisco",
        "short mini-batches",
        "not mentioned",
        "the last, incomplete mini-batch is dropped",
        "Training(drop_last=)",
        **pair("feddisco", {}, local(drop_last=True), _disco()),
    ),
    Difference(
        "feddisco",
        "FedDyn's average",
        "baselines average by size",
        "FedDyn averages equally, and by size only with Disco",
        "feddyn(), weigh=",
        **pair("uneven", {"weigh": {"name": "size"}}, {}, method("feddyn")),
    ),
    Difference(
        "feddisco",
        "FedDyn's linear term",
        "as in FedDyn's paper",
        "rescaled by a client's size",
        "feddyn(rescale=)",
        **pair("uneven", method("feddyn", rescale=False), method("feddyn")),
    ),
    Difference(
        "feddisco",
        "FedDC's average",
        "baselines average by size",
        "FedDC averages equally, and by size only with Disco",
        "feddc(), weigh=",
        **pair(
            "uneven", {"weigh": {"name": "size"}}, {}, method("feddc", correction=False)
        ),
    ),
    Difference(
        "feddisco",
        "FedDC's correction",
        "a gradient correction is part of the loss",
        "it is computed and never added",
        "feddc(correction=)",
        **pair("uneven", method("feddc"), method("feddc", correction=False)),
    ),
    Difference(
        "feddisco",
        "where SCAFFOLD corrects",
        "the gradient is corrected (run with momentum .5: above it, that may diverge)",
        "the step is, after momentum and weight decay",
        "scaffold(after=)",
        **pair(
            "uneven",
            method("scaffold"),
            method("scaffold", after=True),
            local(momentum=0.5),
        ),
    ),
    Difference(
        "feddisco",
        "FedAvgM's momentum",
        "v is beta v + Delta (in FedAvgM's paper)",
        "v is beta v + (1 - beta) Delta",
        "fedavgm(damped=)",
        **pair("uneven", method("fedavgm", damped=False), method("fedavgm")),
    ),
    Difference(
        "feddisco",
        "the reported round",
        "not said; here, the last",
        "the best one, chosen on the test set",
        "history.accuracy('best')",
        stated=read("feddisco", _disco(), metric="last"),
        done=read("feddisco", _disco(), metric="best"),
    ),
    Difference(
        "feddisco",
        "augmentation",
        "not mentioned",
        "photographs are cropped and mirrored",
        "Training(augment=CropFlip())",
        why="a mirrored letter is another letter, or none",
    ),
    Difference(
        "feddisco",
        "SCAFFOLD's first control variates",
        "zero",
        "the parameters of a random network",
        "none: ours begin at zero",
        why="we have no switch for it",
    ),
)
