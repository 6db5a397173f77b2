"""Chapter 4: averages that shrink, shares that are learned."""

from functools import partial

import numpy as np
import torch

from fedlab_book.checks._tools import Answer, Traps, call, compare, fail

_SEEDS, _T = 8, 2.364624  # Student's, for eight seeds
_RUNS = 30


def _two(got, case: str, what: str):
    if not isinstance(got, tuple | list) or len(got) != 2:
        fail(f"two things are asked for: {what}", case, got=got)
    return got


def where_it_hurts(answer: Answer) -> str:
    seeds = list(range(901, 901 + _SEEDS))
    got, case = call(answer, seeds)
    pair = _two(got, case, "the accuracies with the factor, and those without")
    with_, without = (np.atleast_1d(np.asarray(v, dtype=float)) for v in pair)
    if with_.shape != (_SEEDS,) or without.shape != (_SEEDS,):
        fail(f"an accuracy for each of {_SEEDS} seeds is asked for", case, got=got)
    gaps = with_ - without
    mean = float(np.mean(gaps))
    half = _T * float(np.std(gaps, ddof=1)) / len(gaps) ** 0.5
    found = f"{mean:+.1f} ± {half:.1f} points"
    if mean - half > 0:
        fail("there it helps: clients that walk far bear more of it", case, got=found)
    if mean + half >= 0:
        fail("we cannot tell: the interval contains zero", case, got=found)
    return f"on {len(gaps)} new seeds shrinking costs {-mean:.1f} ± {half:.1f} points"


def slopes(answer: Answer) -> str:
    rng = np.random.default_rng(1)
    for clients, gamma in ((3, 0.5), (2, 1.2), (5, 3.0)):
        models, goal = rng.normal(size=(clients, 4)), rng.normal(size=4)
        a = torch.tensor(np.log(gamma)).requires_grad_()
        b = torch.tensor(rng.normal(size=clients)).requires_grad_()
        shares = b.softmax(0)
        w = a.exp() * (shares[:, None] * torch.tensor(models)).sum(0)
        loss = (w - torch.tensor(goal)).square().sum() / 2
        along = [g.numpy() for g in torch.autograd.grad(loss, (a, b))]
        lam, grad = shares.detach().numpy(), w.detach().numpy() - goal
        given = (models.copy(), grad.copy(), gamma, lam.copy())
        got, case = call(answer, *given)
        of_a, of_b = _two(got, case, "the slope along a, and those along b")

        mean = lam @ models
        traps: Traps = {
            "along a, not gamma: gamma is e to the a": grad @ mean,
            "the loss sees gamma times the average": gamma * gamma * grad @ mean,
        }
        compare(case, of_a, along[0], traps)
        traps = {
            "the shares sum to one: what one gets, the others lose": gamma
            * lam
            * (models @ grad),
            "the slope of a softmax has the share itself in it": gamma
            * ((models - mean) @ grad),
            "the loss sees gamma times the average": lam * ((models - mean) @ grad),
        }
        compare(case, of_b, along[1], traps)
    return "both slopes, as autograd finds them"


def _valley(best: float, bend: float, runs: list[float], gamma: float) -> float:
    """A loss that falls to its lowest and rises again, otherwise than it fell."""
    runs.append(float(gamma))
    off = float(np.log(float(gamma) / best))
    return 2.3 + bend * (off * off if off < 0 else float(np.expm1(off)) - off)


def best_factor(answer: Answer) -> str:
    for best, bend in ((1.0, 1.0), (0.313, 4.0), (2.718, 0.2), (0.9305, 9.0)):
        runs: list[float] = []

        loss = partial(_valley, best, bend, runs)
        got, case = call(answer, loss, case=f"a loss that is lowest at {best}")
        if len(runs) > _RUNS:
            fail(f"{len(runs)} runs; a server has {_RUNS}", case)
        try:
            found = float(got)
        except (TypeError, ValueError):
            fail("one number is asked for, the factor", case, got=got)
        if abs(np.log(max(found, 1e-9)) - np.log(best)) > 1e-3:
            grid = len(runs) > 3 and np.ptp(np.diff(np.sort(runs))) < 1e-6
            hint = "an even grid is too coarse: use what two runs tell of the rest"
            fail(hint if grid else "not close enough", case, got=found, expected=best)
    return f"the best factor to three digits, in at most {_RUNS} runs and no gradient"
