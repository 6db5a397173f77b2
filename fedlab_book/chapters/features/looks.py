"""Pictures of chapter 6: one image in three clinics' eyes, and letters with clinics.

frames(partial(three, done, task, held), Axis("round", (1, 20)))
frames(partial(inside, done, task, held), Axis("pull", arms), Axis("drawn", SCALES))
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnnotationBbox, OffsetImage

from fedlab_book.bench import Comparison
from fedlab_book.chapters.features.arms import APART
from fedlab_book.chapters.features.seen import WHO, plane
from fedlab_book.figures import INK, LETTERS, canvas, styled
from fedlab_core import Dataset

SCALES = ("at one scale", "at its own scale")
LETTER = 4  # the one that is marked: an X
_FEW = 2  # letters, or fewer, that a clinic is said to hold by name
_GREY = "#8a8a8a"


def clearest(data: Dataset, labels: np.ndarray) -> tuple[int, np.ndarray]:
    """Place of the drawn image that is most like its letter on average, and the image.

    `labels` are those of the images drawn, the first of each letter.
    """
    x = data.x_test[data.y_test == LETTER][: int((labels == LETTER).sum())]
    flat = x.reshape(len(x), -1)
    like = (flat * x_mean(data)).sum(1)
    best = int(like.argmax())
    return int(np.flatnonzero(labels == LETTER)[best]), x[best].squeeze()


def x_mean(data: Dataset) -> np.ndarray:
    """The marked letter's mean image, less the mean of all."""
    all_ = data.x_test.reshape(len(data.x_test), -1)
    return all_[data.y_test == LETTER].mean(0) - all_.mean(0)


@styled
def three(
    done: Comparison, data: Dataset, held: np.ndarray, split: str, number: int
) -> tuple[Figure, str]:
    """The same test images in the features of three clinics, in one plane.

    `held` are the clinics' samples by letter: their own are in colour.
    """
    rows = done.of("FedAvg", split)[0].rows
    labels, names = rows[0]["labels"], _names(data)
    at, image = clearest(data, labels)
    middle, ways = plane(np.concatenate(rows[-1]["same"]))
    fig, axes = canvas(520, 230, ncols=3, sharex=True, sharey=True)
    said = []
    for ax, k, h in zip(axes, WHO, rows[number - 1]["same"], strict=True):
        own = set(np.flatnonzero(held[k]).tolist())
        _letters(ax, (h - middle) @ ways.T, labels, names, own)
        x, y = (h[at] - middle) @ ways.T
        box = OffsetImage(image, zoom=1.6, cmap="gray_r")
        ax.add_artist(AnnotationBbox(box, (x, y), pad=0.1))
        few = len(own) <= _FEW
        has = " and ".join(names[c] for c in sorted(own)) if few else "all letters"
        ax.set(title=f"clinic {k + 1}: {has}", xticks=[], yticks=[])
        said.append(f"clinic {k + 1}, which holds {has}: at {x:.1f}, {y:.1f}")
    share = 100 * rows[number - 1]["looks"]
    fig.supxlabel(f"{share:.0f} % of what varies is who looks", fontsize="medium")
    alt = (
        f"Three panels, clinics {split}, round {number}: the same test images as dots, "
        f"by letter, in three clinics' features. One {names[LETTER]} is framed: "
        f"{'; '.join(said)}. Over all clinics and letters {share:.0f} % of what varies "
        "is who looks."
    )
    return fig, alt


@styled
def inside(
    done: Comparison, data: Dataset, held: np.ndarray, arm: str, scale: str
) -> tuple[Figure, str]:
    """Mean features of letters and clinics under the last common model, in a plane."""
    row, names = done.of(arm, APART)[0].rows[-1], _names(data)
    wide = 1.15 * max(
        _reach(done.of(arm if scale == SCALES[1] else "FedAvg", APART)[0]), 1e-6
    )
    middle, ways = plane(row["means"])
    means, delta = ((row[k] - middle) @ ways.T for k in ("means", "delta"))
    fig, ax = canvas(380, 350)
    for place, own in zip(delta, held, strict=True):
        letters = np.flatnonzero(own)
        for c in letters if len(letters) <= _FEW else ():
            line = np.array([place, means[c]]).T
            ax.plot(*line, color=INK, linewidth=0.8, alpha=0.5)
    ax.plot(*delta.T, "o", color=INK, markersize=6)
    for c, (x, y) in enumerate(means):
        style = {"ha": "center", "va": "center", "fontweight": "bold", "fontsize": 14}
        ax.text(x, y, names[c], color=LETTERS[c % len(LETTERS)], **style)
    accuracy = 100 * row["accuracy"]
    ax.set(xlim=(-wide, wide), ylim=(-wide, wide), aspect="equal")
    ax.set(xticks=[], yticks=[], title=f"{arm}: {accuracy:.0f} % right")
    alt = (
        f"Mean features of ten letters, and of ten clinics as dots, in a plane: {arm}, "
        f"{scale}. The letters reach {np.abs(means).max():.2f} from their middle, the "
        f"dots {np.abs(delta).max():.2f}; the model is right in {accuracy:.0f} %."
    )
    return fig, alt


def _reach(history: Any) -> float:
    """How far from their middle the letters of a run's last model are."""
    row = history.rows[-1]
    middle, ways = plane(row["means"])
    return float(np.abs((row["means"] - middle) @ ways.T).max())


def _letters(
    ax: Axes, points: np.ndarray, labels: np.ndarray, names: list[str], own: set[int]
) -> None:
    """Every image as its letter, those of `own` in colour and on top."""
    for c in sorted(set(labels.tolist()), key=lambda c: c in own):
        mine = c in own
        colour = LETTERS[c % len(LETTERS)] if mine else _GREY
        mark: dict[str, Any] = {"marker": f"${names[c]}$", "linewidths": 0}
        size = 60 if mine else 26
        ax.scatter(*points[labels == c].T, s=size, color=colour, **mark)


def _names(data: Dataset) -> list[str]:
    """The classes' names, or their numbers where names are long."""
    long = max(map(len, data.classes)) > _FEW
    return [str(c) if long else name for c, name in enumerate(data.classes)]
