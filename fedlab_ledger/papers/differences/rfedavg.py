"""Where rFedAvg and its published code differ."""

from fedlab_ledger.papers.differences.record import Difference
from fedlab_ledger.papers.differences.worlds import local, method, pair

RFEDAVG = (
    Difference(
        "rfedavg",
        "rFedAvg+'s means",
        "over all samples of a client; the target leaves itself out",
        "over one mini-batch; the target is the mean of all, itself included",
        "rfedavg_plus(form=)",
        **pair(
            "rfedavg",
            {"options": {"form": "paper"}},
            {"options": {"form": "code"}},
            method("rfedavg-plus", lam=0.03),
        ),
    ),
    Difference(
        "rfedavg",
        "rFedAvg's means",
        "over all samples of a client; of all clients, for everyone takes part",
        "over one mini-batch; of those alone who take part in the round",
        "rfedavg(form=)",
        **pair(
            "rfedavg",
            {"options": {"form": "paper"}},
            {"options": {"form": "code"}},
            method("rfedavg", lam=0.03),
            {"participants": 5},
        ),
    ),
    Difference(
        "rfedavg",
        "what E counts",
        "steps of SGD",
        "epochs",
        "Training(iterations=) or Training(epochs=)",
        **pair(
            "rfedavg",
            local(iterations=5),
            local(epochs=5),
            method("rfedavg-plus", lam=0.03),
        ),
    ),
    Difference(
        "rfedavg",
        "rFedAvg's SCAFFOLD",
        "SCAFFOLD",
        "the correction is lost: FedAvg with equal weights",
        "scaffold() or equal()",
        **pair("rfedavg", method("scaffold"), method("equal")),
    ),
    Difference(
        "rfedavg",
        "rFedAvg's FedProx",
        "mu/2 times the squared distance",
        "without the half: twice as strong",
        "fedprox(half=)",
        **pair(
            "rfedavg",
            {"options": {"half": True}},
            {"options": {"half": False}},
            method("fedprox", mu=1.0),
        ),
    ),
    Difference(
        "rfedavg",
        "rFedAvg's q-FedAvg",
        "L = 1 / step size; the norm of the update",
        "L = 1; the norm of the update times the loss",
        "qfedavg(lipschitz=, scaled_norm=)",
        **pair(
            "rfedavg",
            method("q-fedavg"),
            method("q-fedavg", lipschitz=1.0, scaled_norm=True),
        ),
    ),
    Difference(
        "rfedavg",
        "what ± means",
        "not said",
        "the deviation over the last five rounds of one run",
        "our intervals are over seeds",
        why="it changes no accuracy",
    ),
)
