"""Chapter 1: averaging models, and who holds what."""

import numpy as np
import torch

from fedlab_book.checks._tools import Answer, call, compare, fail


def average(answer: Answer) -> str:
    rng = torch.Generator().manual_seed(1)
    for weights in ([1.0, 3.0], [0.2, 0.3, 0.5], [2.0, 0.0, 5.0, 1.0]):
        shapes = {"w": (3, 2), "bias": (4,), "scale": (), "kernel": (2, 1, 3, 3)}
        models = [
            {key: torch.randn(shape, generator=rng) for key, shape in shapes.items()}
            for _ in weights
        ]
        before = [{key: v.clone() for key, v in model.items()} for model in models]
        given = list(weights)
        case = f"{len(weights)} models, weights {weights}"
        got, _ = call(answer, models, given, case=case)
        if not isinstance(got, dict) or got.keys() != shapes.keys():
            fail("a dict with the models' entries is asked for", case, got=got)
        same = all(
            torch.equal(model[key], old[key])
            for model, old in zip(models, before, strict=True)
            for key in old
        )
        if not same or given != weights:
            fail("the models or weights given were changed: make new ones", case)
        for key in shapes:
            stack = np.stack([model[key].double().numpy() for model in before])
            total = np.tensordot(np.array(weights), stack, 1)
            traps = {
                "the weights are used as they are, but do not sum to one": total,
                "every model counts the same: the weights are not used": stack.mean(0),
            }
            where = f"{case}, entry {key!r}"
            compare(where, got[key], total / sum(weights), traps)
    return "a weighted mean of models of any shapes, the models left as they were"


def size_weights(answer: Answer) -> str:
    for sizes in ([1, 3], [10, 10, 20], [7, 1, 90, 0, 2]):
        m = np.array(sizes)
        got, case = call(answer, m.copy())
        traps = {
            "these are the sizes, not shares of the whole": m,
            "this is divided by the largest, not by the sum": m / m.max(),
            "every client counts the same here": np.full(len(m), 1 / len(m)),
        }
        compare(case, got, m / m.sum(), traps)
    return "each client counts by its share of all samples, and the shares sum to one"


def dirichlet_split(answer: Answer) -> str:
    clients, labels = 5, np.random.default_rng(0).permutation(np.arange(1000) % 10)

    def split(alpha: float, seed: int) -> tuple[str, list[np.ndarray], np.ndarray]:
        case = f"1000 labels of 10 classes, 5 clients, alpha {alpha:g}, seed {seed}"
        rng = np.random.default_rng(seed)
        got, _ = call(answer, labels.copy(), clients, alpha, rng, case=case)
        if not isinstance(got, list | tuple) or len(got) != clients:
            fail("a list with one index array per client is asked for", case, got=got)
        held = [np.asarray(part).ravel() for part in got]
        if any(len(part) and part.dtype.kind not in "iu" for part in held):
            fail("indices are whole numbers", case, got=held[0])
        held = [part.astype(int) for part in held]
        every = np.concatenate(held)
        if len(every) and not 0 <= every.min() <= every.max() < len(labels):
            fail("an index is not a position in labels", case, got=every.max())
        times = np.bincount(every, minlength=len(labels))
        if (times != 1).any():
            fail(
                "every sample belongs to exactly one client",
                case,
                got=f"{(times == 0).sum()} held by nobody, {(times > 1).sum()} shared",
            )
        counts = [np.bincount(labels[part], minlength=10) for part in held]
        return case, held, np.array(counts) / 100  # client k's share of class c

    case, first, skewed = split(0.05, 3)
    same = zip(first, split(0.05, 3)[1], strict=True)
    if not all(np.array_equal(a, b) for a, b in same):
        fail("the same seed gave two splits: draw everything from rng", case)
    if np.array_equal(skewed, split(0.05, 4)[2]):
        fail("seeds 3 and 4 gave the same split: draw the shares from rng", case)
    top = skewed.max(0).mean()
    if top < 0.55:
        hint = "with a small alpha, one client should hold most of a class"
        fail(hint, case, got=f"the largest share of a class is {top:.2f} on average")
    if len(set(skewed.argmax(0))) == 1:
        fail("one client leads in every class: draw anew for each class", case)
    case, _, even = split(1e4, 3)
    if even.max() > 0.25:
        hint = "with a large alpha, every client should hold about 1/5 of each class"
        fail(hint, case, got=f"a client holds {even.max():.2f} of one")
    return "every sample once, the same for a seed, skewed or even as alpha says"


def communication(answer: Answer) -> str:
    for given in ((1000, 10, 5), (61_706, 6, 100), (1000, 10, 5, 2)):
        n, clients, rounds, size = (*given, 4)[:4]
        got, case = call(answer, *given)
        traps = {
            "that is one way only: models also travel back": n
            * clients
            * rounds
            * size,
            "that counts numbers, not bytes": 2 * n * clients * rounds,
            "that is what one client sends and receives": 2 * n * rounds * size,
            "that is one round": 2 * n * clients * size,
        }
        compare(case, got, 2 * n * clients * rounds * size, traps)
    return "bytes down and up, for every client of every round"
