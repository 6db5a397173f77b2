"""A data set in memory: samples, labels, and their owners where those are known."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from fedlab_core.arguments import Axes, Within, checked
from fedlab_core.errors import require


@checked
@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples, integer labels, and what is known about both.

    `x_train` and `x_test` hold images as bytes (NHW or NHWC), texts as int32 words
    (see `fedlab_core.data.words`), or rows of float32 numbers. `mean` and `std`
    normalise images, per channel in units of byte / 255, and numbers, per column;
    texts have none. The arrays are read when the first world is made of them.

    `owners_train` and `owners_test` say who made each sample, as numbers that mean the
    same person in both, where the source tells. Where a number is to be predicted, or
    several, `targets_train` and `targets_test` hold them, for a world with a `loss`;
    the labels are then ranges of it, by which data are split.
    """

    name: str
    x_train: Annotated[np.ndarray, Axes("train _ ...", "number")]
    y_train: Annotated[np.ndarray, Axes("train", "whole", Within(0))]
    x_test: Annotated[np.ndarray, Axes("test _ ...", "number")]
    y_test: Annotated[np.ndarray, Axes("test", "whole", Within(0))]
    classes: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    owners_train: Annotated[np.ndarray, Axes("train", "any")] | None = None
    owners_test: Annotated[np.ndarray, Axes("test", "any")] | None = None
    targets_train: Annotated[np.ndarray, Axes("train ...")] | None = None
    targets_test: Annotated[np.ndarray, Axes("test ...")] | None = None
    vocabulary: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        known, dims = len(self.classes), self.x_train.ndim
        for x, y in (("x_train", "y_train"), ("x_test", "y_test")):
            labels = np.asarray(getattr(self, y), np.int64)
            most, kind = labels.max(initial=-1), getattr(self, x).dtype
            require(most < known, f"{self.name}: a label is {most}, of {known} classes")
            object.__setattr__(self, y, labels)
            word = dims == 2 and kind.kind in "iu" and not self.mean
            sound = word or kind == (np.float32 if dims == 2 else np.uint8)
            kinds = "images are uint8, numbers float32, and words have no mean"
            require(sound, f"{self.name}: {x} is {kind}: {kinds}")
        sound = 2 <= dims <= 4 and self.x_train.shape[1:] == self.x_test.shape[1:]
        shapes = f"{self.x_train.shape} and {self.x_test.shape}"
        require(sound, f"{self.name}: x_train and x_test are of shapes {shapes}")

    @property
    def shape(self) -> tuple[Any, ...]:
        """One sample as a network sees it: channels, height and width of an image,
        words of a text, or columns of a row."""
        if self.x_train.ndim == 2:
            return (self.x_train.shape[1],)
        height, width, *channels = self.x_train.shape[1:]
        return (channels[0] if channels else 1, height, width)
