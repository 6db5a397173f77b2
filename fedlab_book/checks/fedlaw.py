"""Chapter 5: a factor that is learned."""

from functools import partial

import numpy as np

from fedlab_book.checks._tools import Answer, call, fail

_RUNS = 30


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
