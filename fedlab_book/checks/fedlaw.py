"""Chapter 4: averages that shrink, shares that are learned."""

import numpy as np
import torch
from torch.nn import functional as F

from fedlab_book.checks._tools import Answer, Traps, call, compare, fail


def _two(got, case: str, what: str):
    if not isinstance(got, tuple | list) or len(got) != 2:
        fail(f"two things are asked for: {what}", case, got=got)
    return got


def shrink(answer: Answer) -> str:
    cases = (
        ([1.0], [[0.8], [0.4]], [5, 5], 0.9),
        ([3.0, 4.0], [[2.0, 4.0], [3.0, 1.0], [0.0, 0.0]], [6, 3, 1], 0.8),
    )
    for start, models, sizes, gamma in cases:
        given = (np.array(start), np.array(models), np.array(sizes), gamma)
        got, case = call(answer, *given)
        model, balance = _two(got, case, "the new parameters, and r")
        w, rows, m = given[:3]
        mean = sum(k * row for k, row in zip(m, rows, strict=True)) / m.sum()
        traps: Traps = {
            "weigh the clients by their sizes": gamma * rows.mean(0),
            "the sum is not multiplied by gamma yet": mean,
            "only the move is shrunk: the whole sum has to be": w + gamma * (mean - w),
        }
        compare(case, model, gamma * mean, traps)
        step, pull = np.sqrt(((w - mean) ** 2).sum()), np.sqrt((w**2).sum())
        r = gamma * step / ((1 - gamma) * pull)
        traps = {
            "that is the other way round: step over shrinking": 1 / r,
            "the step, too, is multiplied by gamma": r / gamma,
            "the shrinking is 1 - gamma of where the round began": gamma
            * step
            / ((1 - gamma) * np.sqrt((mean**2).sum())),
        }
        compare(case, balance, r, traps)
    return "gamma times the average by size, and the balance r of its two terms"


def slopes(answer: Answer) -> str:
    rng = np.random.default_rng(0)
    for clients, g in ((2, 0.0), (4, -0.3)):
        models, x = rng.normal(size=(clients, 3)), rng.normal(size=clients)
        target = rng.normal(size=3)
        knobs = [torch.tensor(v, requires_grad=True) for v in (g, x)]
        shares = knobs[1].softmax(0)
        w = knobs[0].exp() * (shares @ torch.from_numpy(models))
        loss = ((w - torch.from_numpy(target)) ** 2).sum() / 2
        along = [v.numpy() for v in torch.autograd.grad(loss, knobs)]
        gradient = w.detach().numpy() - target
        got, case = call(answer, gradient, models, g, x.copy())
        first, second = _two(got, case, "the slope along g, and those along x")
        s, gamma = shares.detach().numpy(), np.exp(g)
        mean = s @ models
        traps: Traps = {
            "that is along gamma; gamma = exp(g) brings a factor gamma": gradient
            @ mean,
            "the mean is the one by shares, not the plain one": gamma
            * gradient
            @ models.mean(0),
        }
        compare(case, first, along[0], traps)
        traps = {
            "raising one share lowers the others: take away the mean": gamma
            * s
            * (models @ gradient),
            "the whole sum is multiplied by gamma": along[1] / gamma,
            "softmax brings a factor lambda_i": gamma * ((models - mean) @ gradient),
        }
        compare(case, second, along[1], traps)
    return "both slopes, as automatic differentiation through the sum gives them"


def after_rescaling(answer: Answer) -> str:
    rng = np.random.default_rng(1)
    for layers, gamma in ((2, 0.5), (3, 1.2), (1, 40.0)):
        outputs, labels = 8 * rng.normal(size=(6, 4)), rng.integers(0, 4, 6)
        got, case = call(answer, outputs.copy(), labels.copy(), layers, gamma)
        loss, right = _two(got, case, "the loss, and the accuracy")

        def at(scale: float, z: np.ndarray = outputs, y: np.ndarray = labels) -> float:
            found = F.cross_entropy(torch.tensor(scale * z), torch.tensor(y))
            return float(found)

        expected = at(gamma**layers)
        traps: Traps = {
            "each layer brings a factor gamma": at(gamma) if layers > 1 else np.nan,
            "the outputs grow by a power of gamma, not gamma times the layers": at(
                gamma * layers
            )
            if layers > 1
            else np.nan,
            "the mean is asked for, not the sum": len(labels) * expected,
            "take away each row's largest output first: exp overflows": np.inf,
            "exp overflows: take away each row's largest output first": np.nan,
        }
        compare(case, loss, expected, traps)
        hit = sum(int(np.argmax(z)) == y for z, y in zip(outputs, labels, strict=True))
        traps = {"a fraction is asked for, not a count": hit}
        hint = "the largest output stays the largest: accuracy does not change"
        compare(case, right, hit / len(labels), traps, hint)
    return "outputs times gamma to the layers; the loss follows, the accuracy stays"


def critical_point(answer: Answer) -> str:
    a, b = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    apart = [3 * a, b - a, -b - a]  # every two at 135 or 90 degrees
    cases = (
        ([[a, a + b, 2 * a], [a, a, b], apart, [a, a, a], apart], 3),
        ([apart, apart, [a, 2 * a, a], [a, b, a]], None),
        ([[a, b], [a, -b - a]], 2),
    )
    for rounds, expected in cases:
        moves = np.array(rounds)
        got, case = call(answer, moves.copy(), case=f"{len(moves)} rounds of moves")
        mean, when = _two(got, case, "the cosines, and the round")
        right, plain, whole = [], [], []
        for each in moves:
            k = len(each)
            dots = np.array([[u @ v for v in each] for u in each])
            length = np.sqrt(np.diag(dots))
            cosines = dots / length[:, None] / length
            off = ~np.eye(k, dtype=bool)
            right.append(cosines[off].mean())
            plain.append(dots[off].mean())
            whole.append(cosines.mean())
        traps: Traps = {
            "the pairs of a client with itself do not count": whole,
            "divide the products by both lengths: cosines are asked for": plain,
        }
        compare(case, mean, right, traps)
        if when is None or expected is None:
            if when is not expected:
                hint = "None is for no fall below zero: one that begins there is none"
                fail(hint, case, got=when, expected=expected)
            continue
        traps = {"rounds are counted from 1": expected - 1}
        compare(case, when, expected, traps)
    return "cosines of different clients, and the round they fall below zero"
