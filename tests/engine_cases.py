"""Cases for the engine's tests: networks, problems, and a plain loop to compare with.

`ordinary` is a loop around `torch.optim.SGD` and PyTorch's own layers. Most comparisons
are in double precision, where a difference is a mistake and not a rounding.
"""

import copy
from collections.abc import Callable
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from fedlab_core import ClientInput, Training, build, tree
from fedlab_core.engine import Client, Trained, batch_order
from fedlab_core.engine.plan import make_plan
from fedlab_core.models import Split, initial_state
from fedlab_core.models.layers import BatchNorm, Dropout

CLASSES, SAMPLES = 4, 120
ENGINES = ("stacked", "looped")


def small_cnn(shape, classes, norm: Callable[[int], nn.Module] = BatchNorm):
    features = nn.Sequential(
        nn.Conv2d(shape[0], 3, 3), norm(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    )
    width = 3 * ((shape[1] - 2) // 2) * ((shape[2] - 2) // 2)
    return Split(features, nn.Linear(width, classes))


NETS = {
    "mlp": ((1, 4, 4), {"hidden": (7,)}),
    "mlp, batch norm, dropout": (
        (1, 4, 4),
        {"hidden": (7, 6), "batch_norm": True, "dropout": 0.3},
    ),
    "small cnn": ((2, 6, 6), {}),
    "small cnn, group norm": ((2, 6, 6), {}),
    "disco cnn": ((1, 16, 16), {}),
    "resnet": ((1, 8, 8), {"depth": 8}),
}
# What the built-in networks need most, for tests of everything else.
PLAIN, TRICKY = "mlp", "mlp, batch norm, dropout"


def network(name: str):
    shape, options = NETS[name]
    if name.startswith("small cnn"):
        norm = partial(nn.GroupNorm, 3) if "group" in name else BatchNorm
        return lambda: small_cnn(shape, CLASSES, norm)
    return build(name.split(",")[0].replace(" ", "_"), shape, CLASSES, **options)


def problem(name: str, sizes, dtype=torch.float64, seed: int = 0, t: int = 0):
    """A network, data, clients of those sizes, and a different start for each.

    They are what `train` takes, up to how it trains.
    """
    make = network(name)
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(SAMPLES, *NETS[name][0], generator=g).to(dtype)
    y = torch.randint(CLASSES, (SAMPLES,), generator=g)
    cohort = [
        Client(torch.randperm(SAMPLES, generator=g)[:n], (seed, t, k))
        for k, n in enumerate(sizes)
    ]
    starts = [initial_state(make, 10 + k) for k in range(len(sizes))]
    start = tree.tree_map(lambda v: v.to(dtype), tree.stack(starts))
    return make().to(dtype), x, y, cohort, ClientInput(start)


def trees(trained: Trained) -> dict[str, torch.Tensor]:
    """All that the clients end with, by names that no two trees share."""
    return (
        tree.nest("model", trained.states)
        | tree.nest("kept", trained.kept)
        | tree.nest("upload", trained.uploads)
    )


def assert_same(a: Trained, b: Trained, tolerance: float):
    ours, theirs = trees(a), trees(b)
    assert ours.keys() == theirs.keys()
    assert a.steps.tolist() == b.steps.tolist()
    torch.testing.assert_close(a.loss, b.loss.to(a.loss), rtol=1e-5, atol=1e-6)
    for name, v in ours.items():
        w = theirs[name]
        gap = float((v - w).abs().max()) / max(float(w.abs().max()), 1e-3)
        assert gap < tolerance, f"{name} differs by {gap}"


def assert_same_bits(a: Trained, b: Trained):
    assert a.steps.tolist() == b.steps.tolist() and torch.equal(a.loss, b.loss)
    ours, theirs = trees(a), trees(b)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(v, theirs[n]) for n, v in ours.items())


def pick(trained: Trained, rows) -> Trained:
    states, kept, uploads = (
        tree.take(t, rows) for t in (trained.states, trained.kept, trained.uploads)
    )
    return Trained(states, trained.loss[rows], trained.steps[rows], kept, uploads)


# -- the plain loop ----------------------------------------------------------------


def with_pytorchs_norms(module: nn.Module, x: torch.Tensor) -> nn.Module:
    """A copy in which our BatchNorm is PyTorch's own."""
    own = copy.deepcopy(module)
    for parent in list(own.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, BatchNorm):
                kind = (
                    nn.BatchNorm2d if x.ndim == 4 and _after_conv(own, child) else None
                )
                fresh = (kind or nn.BatchNorm1d)(len(child.weight))
                setattr(parent, name, fresh.to(x.dtype))
    return own


def _after_conv(net: nn.Module, norm: nn.Module) -> bool:
    return any(isinstance(m, nn.Conv2d) for m in net.modules())


# what the engine and torch.optim call the same thing
KEPT = {"exp_avg": "velocity", "exp_avg_sq": "squares", "momentum_buffer": "velocity"}


def optimizer_of(net: nn.Module, training: Training) -> torch.optim.Optimizer:
    how: dict = {"lr": training.lr, "weight_decay": training.weight_decay}
    if training.adam is None:
        return torch.optim.SGD(net.parameters(), momentum=training.momentum, **how)
    kind = torch.optim.AdamW if training.decoupled else torch.optim.Adam
    return kind(net.parameters(), betas=training.adam, **how)


def put(optimizer: torch.optim.Optimizer, net: nn.Module, kept: dict) -> None:
    """Go on from what one client kept."""
    for name, w in net.named_parameters():
        if "count/steps" not in kept:
            own = {"momentum_buffer": kept[f"velocity/{name}"].clone()}
        else:
            own = {n: kept[f"{KEPT[n]}/{name}"].clone() for n in list(KEPT)[:2]}
            own["step"] = kept["count/steps"].clone()
        optimizer.state[w] = own


def memory_of(optimizer: torch.optim.Optimizer, net: nn.Module) -> dict:
    """The tensors that one client keeps; of Adam also how many steps it took."""
    adam = isinstance(optimizer, torch.optim.Adam)
    names = list(KEPT)[:2] if adam else ["momentum_buffer"]
    kept = {}
    for name, w in net.named_parameters():
        own = optimizer.state[w]
        for n in names:
            v = own.get(n)
            kept[f"{KEPT[n]}/{name}"] = torch.zeros_like(w) if v is None else v
        if adam:
            kept["count/steps"] = w.detach().new_tensor(float(own.get("step", 0.0)))
    return kept


def ordinary(
    model, x, y, cohort, given, training: Training, penalty=None, correct=None
) -> Trained:
    """One client after another with torch.optim, batches in the engine's order."""
    states, losses, steps, memories = [], [], [], []
    for k, client in enumerate(cohort):
        net, first = with_pytorchs_norms(model, x), tree.take(given.start, k)
        net.load_state_dict(first, strict=False)
        net.train()
        optimizer = optimizer_of(net, training)
        if given.state:
            put(optimizer, net, {n: v[k] for n, v in given.state.items()})
        marks, seen = make_plan([client], training).marks(0), []
        batches = batch_order(client, training)
        for step, i in enumerate(batches):
            key = marks[step]
            for m in net.modules():
                if isinstance(m, Dropout):
                    m.key = key
            if training.schedule:
                time = torch.tensor(client.key[1] + step / len(batches)).double()
                optimizer.param_groups[0]["lr"] = training.lr * float(
                    training.schedule(time)
                )
            images = training.augment(x[i], key) if training.augment else x[i]
            loss = F.cross_entropy(net(images), y[i])
            if penalty:
                loss = loss + penalty(dict(net.named_parameters()), first)
            optimizer.zero_grad()
            loss.backward()
            if correct:
                correct(net, first)
            if training.clip:
                nn.utils.clip_grad_norm_(net.parameters(), training.clip)
            optimizer.step()
            seen.append(loss.detach())
        states.append({n: net.state_dict()[n] for n in first})
        losses.append(torch.stack(seen).mean() if seen else torch.zeros(()).to(x))
        steps.append(len(seen))
        if training.keep_velocity:
            memories.append(memory_of(optimizer, net))
    return Trained(
        tree.stack(states),
        torch.stack(losses),
        torch.tensor(steps),
        tree.stack(memories) if memories else {},
    )


ROUND = Training(lr=0.05, epochs=2, batch_size=8, momentum=0.9, weight_decay=0.01)
UNEQUAL = [30, 8, 19, 30, 5, 16]
