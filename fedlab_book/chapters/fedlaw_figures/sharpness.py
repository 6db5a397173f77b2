"""FedLAW's Figure 4: final models stretched, their parameters, their sharpest way.

bent = {s: sharpness.of(world(s), plain[s], shrunken[s], s) for s in seeds}
show(*sharpness.figure(bent))
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes

from fedlab_book.chapters.fedlaw_figures.common import Numbers, Picture
from fedlab_book.figures import INK, canvas, look, styled
from fedlab_book.findings import Row
from fedlab_core import tree
from fedlab_core.analysis import top_curvature
from fedlab_core.rounds.worlds import World
from fedlab_ledger.model.landscape import along, rescaled

FACTORS = np.linspace(0.5, 1.2, 15)  # that all parameters are multiplied by
AWAY = np.linspace(-1, 1, 17)  # along the sharpest direction, of length one
NEAR = 0.01  # a parameter so small is close to zero
PLAIN, SHRUNKEN, CUT = "FedAvg", "shrunken", "FedAvg, cut to its length"
NAMES: tuple[str, ...] = (PLAIN, SHRUNKEN, CUT)
_AS = ("FedAvg", "FedLAW", "GWS")  # which are drawn
_LOOKS: dict[str, dict[str, Any]] = dict(zip(NAMES, map(look, _AS), strict=True))
_UNIT = int(np.abs(FACTORS - 1).argmin())
_IMAGES = 400  # of the test set
_TABLE = (
    f"Mean of the seeds, on {_IMAGES} test images. Near zero: within {NEAR:g}; the "
    "paper has nearly twice as many there. Last: the factor at which the loss is "
    "lowest."
)


@dataclass(frozen=True, eq=False)
class Bent:
    """One model: stretched, looked at, and left along its sharpest direction."""

    loss: np.ndarray  # at every factor
    accuracy: np.ndarray  # in percent
    values: np.ndarray  # all parameters
    top: float  # the Hessian's largest eigenvalue
    ratio: float  # that over the fifth
    rise: np.ndarray  # of the loss, at every step away

    @property
    def length(self) -> float:
        """Of the vector of all parameters."""
        return float(np.linalg.norm(self.values))

    @property
    def near(self) -> float:
        """How much of 100 parameters is close to zero."""
        return 100 * float((np.abs(self.values) < NEAR).mean())

    @property
    def lowest(self) -> float:
        """The factor of the smallest loss."""
        return float(FACTORS[int(self.loss.argmin())])

    @property
    def right(self) -> float:
        """The accuracy of the model as it is, in percent."""
        return float(self.accuracy[_UNIT])

    @property
    def spread(self) -> float:
        """How much the loss changes over all factors."""
        return float(np.ptp(self.loss))

    @property
    def moved(self) -> float:
        """Points that the accuracy moves by over all factors."""
        return float(np.ptp(self.accuracy))


Models = Mapping[int, Mapping[str, Bent]]  # by seed and name


def of(
    world: World, plain: tree.Tree, shrunken: tree.Tree, seed: int
) -> dict[str, Bent]:
    """FedAvg's model, a shrunken one, and FedAvg's cut to the length of that."""
    names = world.parameters
    a, b = ({n: t[n] for n in names} for t in (plain, shrunken))
    ratio = float(tree.norm(b)) / float(tree.norm(a))
    cut = plain | tree.scale(a, ratio)
    return {
        name: _bent(world, state, seed)
        for name, state in zip(NAMES, (plain, shrunken, cut), strict=True)
    }


def _bent(world: World, state: tree.Tree, seed: int) -> Bent:
    x, y = world.x_test[:_IMAGES], world.y_test[:_IMAGES]
    line = rescaled(world.model, state, FACTORS, x, y)
    rng = torch.Generator().manual_seed(seed)
    found = top_curvature(world.model, state, x, y, rng, k=5, steps=12)
    away = along(world.model, state, found.vector, AWAY, x, y).loss
    rise = away - away[len(AWAY) // 2]
    trained = {n: state[n] for n in sorted(world.parameters)}
    values = tree.flatten(trained).cpu().numpy()
    accuracy = 100 * line.accuracy
    return Bent(line.loss, accuracy, values, found.top, found.ratio, rise)


def each(bent: Models, name: str, what: str) -> np.ndarray:
    """Something of a model, seed by seed."""
    return np.array([getattr(models[name], what) for models in bent.values()])


@styled
def figure(bent: Models) -> Picture:
    """Loss and accuracy by factor, the parameters, and the loss around the models."""
    fig, axes = canvas(680, 540, nrows=2, ncols=2)
    for name, ax in ((n, ax) for n in (PLAIN, SHRUNKEN) for ax in (0, 1)):
        what = ("loss", "accuracy")[ax]
        style = _LOOKS[name] | {"markevery": 4}
        axes[0, ax].plot(FACTORS, each(bent, name, what).mean(0), **style)
    for ax, title in zip(axes[0], ("test loss (nats)", "accuracy (%)"), strict=True):
        ax.axvline(1, color=INK, linestyle=":", linewidth=1.5)
        ax.set(xlabel="all parameters times", title=title)
    bottom, top = axes[0, 1].get_ylim()
    axes[0, 1].set_ylim(bottom - 2, top + 0.3)
    _histogram(axes[1, 0], bent)
    for name in NAMES:
        style = _LOOKS[name] | {"markevery": 4, "label": name}
        axes[1, 1].plot(AWAY, each(bent, name, "rise").mean(0), **style)
    axes[1, 1].set(xlabel="way along the sharpest direction")
    axes[1, 1].set_title("rise of the test loss")
    named = axes[1, 1].get_legend_handles_labels()
    fig.legend(*named, loc="outside upper left", ncols=3)
    for ax in axes.flat:
        ax.grid(axis="y")
    return fig, _alt(bent), _caption(bent)


def _histogram(ax: Axes, bent: Models) -> None:
    import seaborn as sns  # a second that only a drawing has to wait for

    steps: dict[str, Any] = {"bins": 59, "binrange": (-0.4, 0.4)}
    steps |= {"element": "step", "fill": False}
    for name, wide in ((PLAIN, 2.0), (SHRUNKEN, 2.6)):
        style = {n: _LOOKS[name][n] for n in ("color", "linestyle")}
        values = np.concatenate([m[name].values for m in bent.values()])
        sns.histplot(values, ax=ax, linewidth=wide, **steps, **style)
    ax.set(xlabel="value", ylabel="", title="parameters, how many")


def _caption(bent: Models) -> str:
    moved, spread = (
        " and ".join(f"{_mean(bent, n, what):z.1f}" for n in (PLAIN, SHRUNKEN))
        for what in ("moved", "spread")
    )
    return (
        "Shrunken: times 0.93 in every round; the paper's Figure 4 has a learned "
        f"factor. Above: on the way the loss changes by {spread} nats, the accuracy by "
        f"{moved} points. Below: the parameters of all seeds, and how the loss rises "
        "beside the final models."
    )


def _alt(bent: Models) -> str:
    loss = {n: each(bent, n, "loss").mean(0)[_UNIT] for n in (PLAIN, SHRUNKEN)}
    mean = partial(_mean, bent)
    rises = {n: each(bent, n, "rise")[:, [0, -1]].mean() for n in NAMES}
    return (
        "Four panels. Test loss and accuracy of final models with all parameters "
        f"multiplied by {FACTORS[0]:g} to {FACTORS[-1]:g}, mean of {len(bent)} seeds. "
        f"The loss at 1 is {loss[PLAIN]:z.2f} for FedAvg and {loss[SHRUNKEN]:z.2f} for "
        f"the shrunken model; the accuracy moves by {mean(PLAIN, 'moved'):z.1f} and "
        f"{mean(SHRUNKEN, 'moved'):z.1f} points. Histograms of the parameters: "
        f"{mean(PLAIN, 'near'):.0f} and {mean(SHRUNKEN, 'near'):.0f} in 100 lie within "
        f"{NEAR:g} of zero. Rise of the loss one step along the sharpest direction: "
        + ", ".join(f"{name} {rise:z.2f}" for name, rise in rises.items())
        + "."
    )


def _mean(bent: Models, name: str, what: str) -> float:
    return float(each(bent, name, what).mean())


def facts(bent: Models) -> dict[str, Row]:
    """The largest eigenvalues, compared; `cut` is the control that length asks for."""
    plain, shrunken, cut = (each(bent, name, "top") for name in NAMES)
    less = "shrunken less FedAvg"
    control = "FedAvg, merely cut to that length, less shrunken"
    return {
        "trained": Row(less, shrunken - plain, claim=-1),
        "cut": Row(control, cut - shrunken, claim=1),
    }


def numbers(bent: Models) -> Numbers:
    """Measures of each model, mean of the seeds."""
    rows = []
    for name in NAMES:
        mean = partial(_mean, bent, name)
        row = {
            "model": name,
            "length": f"{mean('length'):z.1f}",
            "near zero (%)": f"{mean('near'):z.0f}",
            "largest eigenvalue": f"{mean('top'):z.1f}",
            "over the fifth": f"{mean('ratio'):z.1f}",
            "test accuracy (%)": f"{mean('right'):z.1f}",
            "loss lowest at": f"× {mean('lowest'):z.2f}",
        }
        rows.append(row)
    return pd.DataFrame(rows), _TABLE
