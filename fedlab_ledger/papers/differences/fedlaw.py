"""Where FedLAW and its published code differ."""

from fedlab_ledger.papers.differences.record import Difference
from fedlab_ledger.papers.differences.worlds import local, method, pair

_FAST = local(lr=0.02, momentum=0.9)

FEDLAW = (
    Difference(
        "fedlaw",
        "samples held back",
        "clients train on what they have",
        "30 % of it is put aside and never used",
        "hold_out(partition, labels, 0.3)",
        **pair("fedlaw", {}, {"held": 0.3}, {"method": "fedavg"}),
    ),
    Difference(
        "fedlaw",
        "momentum over rounds",
        "not mentioned; here, anew in every round",
        "clients' momentum goes on from the round before",
        "Training(keep_velocity=)",
        **pair("fedlaw", {}, local(keep_velocity=True), {"method": "fedavg"}, _FAST),
    ),
    Difference(
        "fedlaw",
        "FedLAW's server epochs",
        "100",
        "20, unless asked for more",
        "fedlaw(server_epochs=)",
        why="five times the server's steps take too long here",
    ),
    Difference(
        "fedlaw",
        "where lambda begins",
        "at the clients' sizes",
        "at equal weights, in the quadratic form",
        "fedlaw(start=, parameters='quad')",
        **pair(
            "fedlaw",
            {"options": {"start": "weights"}},
            {"options": {"start": "equal"}},
            method("fedlaw", parameters="quad", server_epochs=20),
        ),
    ),
    Difference(
        "fedlaw",
        "FedDF's optimiser",
        "Adam",
        "SGD with momentum, as for clients",
        "feddf(optimiser=)",
        **pair(
            "fedlaw",
            {"options": {"optimiser": "adam"}},
            {"options": {"optimiser": "sgd"}},
            method("feddf", epochs=20),
        ),
    ),
    Difference(
        "fedlaw",
        "fine-tuning's optimiser",
        "Adam",
        "SGD with momentum, as for clients",
        "server_ft(optimiser=)",
        **pair(
            "fedlaw",
            method("server-ft", optimiser="adam"),
            method("server-ft", optimiser="sgd"),
        ),
    ),
    Difference(
        "fedlaw",
        "FedProx's optimiser",
        "as FedAvg's",
        "bare gradient steps, without momentum and decay",
        "Training(momentum=0)",
        **pair("fedlaw", {}, local(momentum=0.0), _FAST, method("fedprox", mu=0.001)),
    ),
    Difference(
        "fedlaw",
        "FedDyn's distance",
        "squared",
        "not squared",
        "feddyn(form='law', squared=)",
        **pair(
            "fedlaw",
            {"options": {"squared": True}},
            {"options": {"squared": False}},
            method("feddyn", form="law", alpha=0.01),
        ),
    ),
    Difference(
        "fedlaw",
        "BatchNorm on the server",
        "not mentioned",
        "statistics are measured again on the server's images, for FedLAW alone",
        "fedlaw(statistics=)",
        why="the letters' network has no BatchNorm",
    ),
    Difference(
        "fedlaw",
        "order of the SWA variant",
        "gamma first, then lambda",
        "lambda first, then gamma",
        "fedlaw_swa(order=)",
        why="two stages of server training a round take too long here",
    ),
)
