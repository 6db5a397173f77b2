"""Answers to the exercises on rFedAvg."""


def _pull(d, others):
    mean = others.mean(0)
    return ((d - mean) ** 2).sum(), ((others - mean) ** 2).sum(1).mean()


RIGHT = {"6.2": _pull, "6.3": lambda w, b, head, by: (by * w, by * b, head / by)}
WRONG = [
    ("6.2", lambda d, o: _pull(d, o)[::-1], "the two are swapped"),
    (
        "6.2",
        lambda d, o: (((o - d) ** 2).sum(1).mean(), _pull(d, o)[1]),
        "the first is the distance to the mean",
    ),
    (
        "6.2",
        lambda d, o: (_pull(d, o)[0], _pull(d, o)[1] * len(o)),
        "the rest is a mean over",
    ),
    ("6.2", lambda d, o: 1.0, "two numbers are asked for"),
    ("6.3", lambda w, b, head, by: (by * w, b, head / by), "the bias is part"),
    ("6.3", lambda w, b, head, by: (w / by, b / by, head * by), "not by times as long"),
    ("6.3", lambda w, b, head, by: (by * w, by * b, head), "the head has to make up"),
    ("6.3", lambda w, b, head, by: (w, b), "three are asked for"),
    ("6.3", lambda w, b, head, by: (w.T, b, head), "each keeps its shape"),
]
