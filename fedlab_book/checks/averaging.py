"""Chapter 1: who holds what."""

import numpy as np

from fedlab_book.checks._tools import Answer, call, fail


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
