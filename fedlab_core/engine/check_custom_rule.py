"""A rule of somebody's own, tried before it trains: do both engines agree on it?

They do not where a loss counts padding, or where a hook looks at other clients. The
rules of the core are held to it by tests; any other is, once, by its first step.
"""

import torch

from fedlab_core.client import ClientInput, Rule
from fedlab_core.engine.looped import train_looped
from fedlab_core.engine.plan import Plan
from fedlab_core.engine.stacked import StackedCohort
from fedlab_core.engine.step import Task
from fedlab_core.errors import require
from fedlab_core.models.losses import name_of
from fedlab_core.tree import flatten

CLOSE = 0.01  # of a step's length; rounding is a thousandth of that


def foreign(rule: Rule) -> list[str]:
    """The hooks of a rule that are not the core's, by name."""
    hooks = (rule.loss, rule.gradient, rule.push, rule.begin, rule.finish)
    inside = [getattr(hook, "hook", hook) for hook in hooks if hook]  # of runs as one
    homes = [getattr(hook, "__module__", type(hook).__module__) for hook in inside]
    pairs = zip(inside, homes, strict=True)
    return [
        name_of(hook) for hook, home in pairs if not home.startswith("fedlab_core.")
    ]


def agree(task: Task, plan: Plan, given: ClientInput) -> None:
    """Refuse a rule whose step depends on the engine: on padding, if there is any."""
    size = plan.at.shape[2]
    padded = ((plan.real > 0) & (plan.real < size)).nonzero().tolist()
    taken = (plan.real > 0).nonzero().tolist()
    if not taken:
        return
    t, k = (padded or taken)[0]
    at, who = slice(t, t + 1), slice(k, k + 1)
    lr = plan.lr[at, who] if isinstance(plan.lr, torch.Tensor) else plan.lr
    steps = torch.ones(1, dtype=torch.int64)
    step = Plan(
        at=plan.at[at, who],
        real=plan.real[at, who],
        lr=lr,
        keys=plan.keys[who],
        steps=steps,
        lr_sum=plan.lr_sum[who] / plan.steps[who],
    )
    here = given.of(who)
    alone, *_, loss = train_looped(task, step, here)
    padded_one, *_, other = StackedCohort(task).play(step, here)
    trees = (alone, padded_one, here.start)
    end, other_end, begun = (flatten({n: t[n] for n in alone}) for t in trees)
    far, went = (float((v - end).norm()) for v in (other_end, begun))
    near = far <= CLOSE * went + 1e-6 * float(begun.norm())
    near &= abs(float(loss - other)) <= CLOSE * max(1.0, abs(float(loss)))
    near |= not torch.isfinite(end).all()  # which is said elsewhere
    require(
        near,
        f"{' + '.join(foreign(task.rule))}: a mini-batch of {int(plan.real[t, k])} "
        f"samples gives the loss {float(loss):.5g} alone and {float(other):.5g} when "
        f"padded to {size}: leave padding out by batch.mean(values)",
    )
