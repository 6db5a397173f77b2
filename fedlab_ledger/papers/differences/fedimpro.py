"""Where FedImpro and FedCollab differ from their published code."""

from fedlab_ledger.papers.common import Plain
from fedlab_ledger.papers.differences.record import Difference
from fedlab_ledger.papers.differences.worlds import method, pair

_RAMPED: Plain = {"alpha": 1000 / 20}  # 0 to 2, as over the paper's 1000 rounds
_IMPRO = method("fedimpro", **_RAMPED)


def _impro(**options) -> Plain:
    return {"options": options}


FEDIMPRO = (
    Difference(
        "fedimpro",
        "all of FedImpro",
        "the method as written",
        "everything below together, and no momentum on the server",
        "fedimpro(form=)",
        **pair("fedimpro", method("fedimpro", form="paper"), _IMPRO),
    ),
    Difference(
        "fedimpro",
        "memory of the statistics",
        "a moving mean over mini-batches (.9 is our guess)",
        "the last mini-batch counts fully",
        "fedimpro(omega=)",
        **pair("fedimpro", _impro(omega=0.1), {}, _IMPRO),
    ),
    Difference(
        "fedimpro",
        "cap of the deviations",
        "none",
        "no deviation is above .1",
        "fedimpro(cap=)",
        **pair("fedimpro", _impro(cap=1e9), {}, _IMPRO),
    ),
    Difference(
        "fedimpro",
        "synthetic labels",
        "those of the mini-batch",
        "all classes in turn",
        "fedimpro(matching=)",
        **pair("fedimpro", _impro(matching=True), {}, _IMPRO),
    ),
    Difference(
        "fedimpro",
        "weight of the synthetic loss",
        "1",
        "grows from 0 to 2",
        "fedimpro(ramp=)",
        **pair("fedimpro", _impro(ramp=False, alpha=1.0), {}, _IMPRO),
    ),
    Difference(
        "fedimpro",
        "FedImpro's SCAFFOLD",
        "the server's variate moves by the participants' share",
        "it moves fully: too far, when not all take part",
        "scaffold(factor=)",
        **pair("fedimpro", method("scaffold"), method("scaffold", factor=False)),
    ),
    Difference(
        "fedimpro",
        "what is sent",
        "two vectors of a feature's length",
        "two for every class",
        "history.rows[-1]['bytes']",
        why="it changes no accuracy",
    ),
)

FEDCOLLAB = (
    Difference(
        "fedcollab",
        "distances below zero",
        "not mentioned",
        "count as zero in the solver",
        "none: ours do as the code",
        why="we have no switch for it",
    ),
    Difference(
        "fedcollab",
        "what discriminators look at",
        "features of a network trained on ImageNet (for photographs)",
        "the same",
        "distances(features=)",
        why="nothing is downloaded: ours see averaged pixels, in the ledger too",
    ),
)
