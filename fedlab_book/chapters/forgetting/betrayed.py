"""The images that means betray: how many are behind a row, and what can be decoded.

In the published form a row is the mean over a letter's images in the last mini-batch
that had some. The attack is the plainest: a linear map from features to pixels, fit by
least squares to images of the attacker's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

import fedlab_core as fl
from fedlab_book.bench import Comparison
from fedlab_book.chapters.forgetting.law import features
from fedlab_book.figures import canvas, styled
from fedlab_book.findings import Facts, Row
from fedlab_core import tree
from fedlab_core.engine import Client, batch_order
from fedlab_core.rounds.records import Round, draw_participants
from fedlab_core.rounds.worlds import World

IMAGE, FEATURES, SENT, MEAN = "the image", "its features", "the row sent", "class mean"
KINDS = (IMAGE, FEATURES, SENT, MEAN)
SHOWN = 6  # images
_RIDGE = 0.01


def last_batches(
    world: World, seed: int, rounds: int, present: int, training: fl.Training
) -> list[tuple[int, int, int, np.ndarray]]:
    """Of the last round: place of a clinic, itself, letter, images behind its row."""
    found, t = [], rounds - 1
    y = world.y.cpu().numpy()
    for place, k in enumerate(draw_participants(len(world), present, seed, t)):
        client = Client(world.client(k), (seed, t, k))
        order = [np.asarray(i) for i in batch_order(client, training)]
        for c in np.flatnonzero(world.counts[k].numpy()):
            mine = [i[y[i] == c] for i in order]
            final = [i for i in mine if len(i)][-1]
            found.append((place, k, int(c), final))
    return found


def at_paper_scale(seed: int) -> float:
    """Share of rows on one image: 50,000 images, ten clients, batches of 128."""
    rng, y = np.random.default_rng(seed), np.repeat(np.arange(10), 5000)
    one = []
    for held in fl.dirichlet(y, 10, 0.1, seed=seed).indices:
        order = y[rng.permutation(held)]
        for c in np.unique(order):
            final = np.flatnonzero(order == c)[-1] // 128
            batch = order[128 * final : 128 * (final + 1)]
            one.append((batch == c).sum() == 1)
    return float(np.mean(one))


def on_one(rows: list[tuple[int, int, int, np.ndarray]]) -> float:
    """Share of the rows that one image is behind."""
    return float(np.mean([len(images) == 1 for *_, images in rows]))


def sent(now: Round) -> dict[str, Any]:
    """The means that every clinic sends, and how far the server's differ by letter."""
    spread = now.servers[0].broadcast["mu"].std(0).mean()
    return {"mu": now.uploads["mu"].cpu().numpy(), "between": float(spread)}


def drowned(found: Comparison, one: Comparison, noises: Sequence[float]) -> Facts:
    """Whether there is a gain where noise is more than twice what it hides.

    `found` has arms "no noise" and "noise V"; `one` is a run that says how far the
    means differ by letter, its clinics' noise averaged over those that were drawn.
    """
    arms = ["no noise", *(f"noise {v:g}" for v in noises)]
    needed = {arms[0]: 1, arms[-1]: 1}
    rows = [
        Row(f"{arm}, over FedAvg", found.gain(arm), sign=needed.get(arm))
        for arm in arms
    ]
    present = len(one.curves("FedImpro", what="mu")[0, -1])
    hidden, most = float(one.ends("FedImpro", what="between").mean()), max(noises)
    noise = most / present**0.5
    return {
        "rows": rows,
        "holds": noise > 2 * hidden,
        "note": f"By letter, a number of the server's means differs by {hidden:.2f}; "
        f"noise of {most:g} at {present} clinics leaves {noise:.2f} on their mean.",
    }


@dataclass(frozen=True)
class Attack:
    """Rows on one image each: the image, and three vectors that an attacker decodes."""

    images: Tensor  # (rows, pixels)
    vectors: dict[str, Tensor]  # (rows, features), by kind
    decoder: Tensor  # (features + 1, pixels)
    xi: Tensor  # noise of size one
    letters: list[str]
    shape: tuple[int, ...]

    def decoded(self, kind: str, noise: float) -> Tensor:
        """A kind of vector decoded, with noise on it; or the image itself."""
        if kind == IMAGE:
            return self.images
        return with_one(self.vectors[kind] + noise * self.xi) @ self.decoder

    def near(self, kind: str, noise: float = 0.0) -> float:
        """Mean correlation over pixels of what is decoded with the image."""
        pairs = zip(self.decoded(kind, noise), self.images, strict=True)
        return float(np.mean([np.corrcoef(a, b)[0, 1] for a, b in pairs]))


def with_one(h: Tensor) -> Tensor:
    """Rows with a one at their end."""
    return torch.cat([h, torch.ones_like(h[:, :1])], 1)


def attack(
    found: Comparison, arm: str, world: World, seed: int, training: fl.Training
) -> Attack:
    """The attack on the rows of a run's last round that one image is behind."""
    (run,) = [h for h in found.of(arm) if h.seed == seed]
    row, w = run.rows[-1], tree.take(run.states, 0)
    mu = torch.as_tensor(row["mu"]).double()
    last = last_batches(world, seed, len(run.rows), len(mu), training)
    hit = [(p, c, int(i[0])) for p, _, c, i in last if len(i) == 1]
    with torch.no_grad():  # known to the attacker: the model, and images of its own
        see = partial(features, world, w)
        known, truth = (see(x).double().cpu() for x in (world.x_test, world.x))
    basis, pixels = with_one(known), world.x_test.flatten(1).double().cpu()
    ridge = _RIDGE * len(basis) * torch.eye(basis.shape[1]).double()
    decoder = torch.linalg.solve(basis.T @ basis + ridge, basis.T @ pixels)
    at, y = [i for *_, i in hit], world.y.cpu()
    vectors = {
        FEATURES: truth[at],
        SENT: torch.stack([mu[p, c] for p, c, _ in hit]),
        MEAN: torch.stack([truth[y == c].mean(0) for _, c, _ in hit]),
    }
    g = torch.Generator().manual_seed(seed)
    xi = torch.randn(vectors[SENT].shape, generator=g).double()
    images = world.x.flatten(1)[at].double().cpu()
    letters = [world.classes[c] for _, c, _ in hit]
    return Attack(images, vectors, decoder, xi, letters, tuple(world.x.shape[-2:]))


@styled
def picture(found: Attack, noise: float) -> tuple[Figure, str]:
    """Private images, and below each what is decoded of three vectors."""
    many = min(SHOWN, len(found.images))
    fig, axes = canvas(480, 340, nrows=len(KINDS), ncols=many, squeeze=False)
    for line, kind in zip(axes, KINDS, strict=True):
        made = found.decoded(kind, noise).numpy()
        made = made.reshape(len(found.images), -1, *found.shape)
        for ax, one in zip(line, made, strict=False):
            ax.imshow(one.mean(0), cmap="gray_r", vmin=-0.7, vmax=1.6)
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
        line[0].set_ylabel(kind, rotation=0, ha="right", va="center")
    for ax, letter in zip(axes[0], found.letters, strict=False):
        ax.set_title(letter, loc="center")
    near = ", ".join(f"{kind} {found.near(kind, noise):.2f}" for kind in KINDS[1:])
    alt = (
        f"{many} private images, and what a linear decoder makes of features with "
        f"noise {noise:g}. Mean correlation with the image: {near}."
    )
    return fig, alt
