"""Networks at a size at which they train in milliseconds, rows, and a plain loop."""

import numpy as np
import torch
from torch.nn import functional as F

import fedlab_core as fl

_G = np.random.default_rng(0)
ROWS = _G.standard_normal((120, 8)).astype(np.float32)
LABELS = (ROWS[:, 0] > 0).astype(np.int64) + (ROWS[:, 1] > 0)
DATA = fl.Dataset("rows", ROWS[:90], LABELS[:90], ROWS[90:], LABELS[90:],
                  ("a", "b", "c"), (0.0,), (1.0,))  # fmt: skip
SPLIT = fl.dirichlet(DATA.y_train, 4, 1.0)
LOCAL = fl.Training(lr=0.1, epochs=2, batch_size=16)

WORDS = 11
_PHRASES = {"vocabulary": WORDS, "width": 3, "hidden": 2, "kernels": (2, 3)}
_READER = {"vocabulary": WORDS, "width": 3, "hidden": 4}

# What makes it, of which shape of sample, with which options
TINY = {
    "mlp": ("mlp", (1, 2, 3), {"hidden": (4, 3), "dropout": 0.3, "batch_norm": True}),
    "mlp_200": ("mlp_200", (1, 2, 3), {}),
    "disco_cnn": ("disco_cnn", (1, 16, 16), {}),
    "simple_cnn": ("simple_cnn", (1, 18, 19), {"channels": (2, 3, 2), "hidden": 4}),
    "collab_cnn": ("collab_cnn", (2, 18, 18), {"channels": (1, 2, 3), "hidden": 3}),
    "mcmahan_cnn": ("mcmahan_cnn", (1, 8, 9), {"channels": (2, 3), "hidden": 5}),
    "lenet": ("lenet", (1, 9, 8), {"channels": (2, 3)}),
    "alexnet": ("alexnet", (1, 29, 31), {"base": 1, "hidden": (4, 3)}),
    "vgg9": ("vgg9", (1, 8, 9), {"base": 2, "hidden": (4, 3), "channel_dropout": 0.3}),
    "resnet": ("resnet", (1, 6, 8), {"depth": 8, "base": 2, "stem_bias": True}),
    "law_resnet": ("law_resnet", (1, 8, 8), {"depth": 8, "base": 2}),
    "wrn56_4": ("wrn56_4", (1, 8, 8), {"depth": 8, "base": 3}),
    "resnet18": ("resnet18", (1, 8, 8), {"base": 2}),
    "resnet18, group norm": ("resnet18", (1, 8, 8), {"base": 2, "norm": "group"}),
    "resnet18, cut": ("resnet18", (1, 8, 8), {"base": 2, "split": "stage2"}),
    "resnet18, large stem": ("resnet18", (1, 32, 32), {"base": 1, "stem": "imagenet"}),
    "resnet50": ("resnet50", (1, 8, 8), {"base": 2, "blocks": (2, 1, 1, 1)}),
    "densenet121": ("densenet121", (1, 8, 8), {"growth": 2, "blocks": (2, 1, 1, 1)}),
    "textcnn": ("textcnn", (6,), _PHRASES | {"dropout": 0.3}),
    "lstm": ("lstm", (5,), _READER),
    "lstm, frozen": ("lstm", (5,), _READER | {"frozen": True}),
}


def samples(shape: tuple[int, ...], n: int, seed: int = 0) -> torch.Tensor:
    """Images, or texts of which some end in padding."""
    g = torch.Generator().manual_seed(seed)
    if len(shape) == 3:
        return torch.randn(n, *shape, generator=g)
    words = torch.randint(1, WORDS, (n, *shape), generator=g)
    lengths = torch.randint(1, shape[0] + 1, (n, 1), generator=g)
    return words * (torch.arange(shape[0]) < lengths)


def plainly(make, first: dict, w: fl.World, steps: int, lr: float) -> dict:
    """A round of FedAvg in PyTorch alone, all of a client's samples in each step."""
    total, mean = sum(w.partition.sizes), {n: 0 * v for n, v in first.items()}
    for k in range(len(w)):
        mine, net = w.client(k), make()
        net.load_state_dict(first)
        sgd = torch.optim.SGD(net.parameters(), lr=lr)
        for _ in range(steps if len(mine) else 0):
            sgd.zero_grad()
            F.cross_entropy(net(w.x[mine]), w.y[mine]).backward()
            sgd.step()
        for n, v in net.state_dict().items():
            mean[n] = mean[n] + len(mine) / total * v
    return mean
