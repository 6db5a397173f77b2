"""Marks in a signature that limit what an argument may be: `lr: Positive`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from types import FunctionType
from typing import Annotated, Any, Literal

import numpy as np
import torch
from torch import Tensor

MOST = 2**31 - 1  # of what is counted
LARGEST = 2.0**127  # of what is multiplied with float32
Sizes = dict[str, int]  # how long the axes of a name are in a call


def shown(value: Any) -> str:
    """A value in at most a line."""
    if isinstance(value, (Tensor, np.ndarray)):
        kind = "a tensor" if isinstance(value, Tensor) else "an array"
        return f"{kind} of shape {tuple(value.shape)}"
    if isinstance(value, FunctionType):
        return value.__name__
    try:
        text = " ".join(repr(value).split())
        kind = type(value).__name__
        if is_dataclass(value) and not text.startswith(kind):
            text = f"{kind} {text}"  # one that prints as a person would read it
    except Exception:  # as of a number of too many digits
        text = f"something of type {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


@dataclass(frozen=True)
class Within:
    """Numbers from `low` to `high`; `above` and `below` leave the end itself out."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    below: bool = False

    def __str__(self) -> str:
        low, high = f"{self.low:.10g}", f"{self.high:.10g}"
        bounded = self.low > -math.inf, self.high < MOST
        if all(bounded) and not (self.above or self.below):
            return f"from {low} to {high}"
        first = f"above {low}" if self.above else f"of {low} or more"
        last = f"below {high}" if self.below else f"at most {high}"
        return " and ".join([first] * bounded[0] + [last] * bounded[1])

    def said(self, what: str) -> str:
        """The allowed values in words; `what` names the unmarked type."""
        return f"{what.replace('a finite number', 'a number')} {self}"

    def fault(self, value: float, sizes: Sizes) -> str | None:
        """The fault of a number, in words; None if there is none."""
        low = value > self.low if self.above else value >= self.low
        high = value < self.high if self.below else value <= self.high
        if low and high:
            return None
        large = not high and self.high >= MOST
        return f"{shown(value)}, which is too large" if large else shown(value)


@dataclass(frozen=True)
class Axes:
    """An array or tensor of these axes, by name: a name has one length in a call.

    "..." stands for any further ones, "_" for one of any length. A tree is held to
    them tensor by tensor. `kind` is "number" (finite), "whole", "measured" (NaN and
    infinity too) or "any".
    """

    names: str
    kind: Literal["number", "whole", "measured", "any"] = "number"
    within: Within = Within()

    def __str__(self) -> str:
        shape = f"of shape ({', '.join(self.names.split())})"
        if self.kind == "any":
            return shape
        kind = "whole numbers" if self.kind == "whole" else "numbers"
        return f"{shape} with {kind} {self.within}".rstrip()

    def said(self, what: str) -> str:
        """The allowed values in words; `what` names the unmarked type."""
        return f"{'an array' if ' or ' in what else what} {self}"

    def fault(self, value: Any, sizes: Sizes) -> str | None:
        """The fault of an array, in words; None if there is none."""
        if isinstance(value, Mapping):
            faults = ((n, self.fault(v, sizes)) for n, v in value.items())
            return next((f"{fault} for {n}" for n, fault in faults if fault), None)
        if isinstance(value, Sequence):
            return "a list of several shapes"
        names, shape = self.names.split(), tuple(value.shape)
        more = names[-1] == "..."
        names = names[:-1] if more else names
        if len(shape) < len(names) or (len(shape) > len(names) and not more):
            return f"one of shape {shape}"
        for name, n in zip(names, shape, strict=False):
            wanted = int(name) if name.isdigit() else sizes.setdefault(name, n)
            wanted = n if name == "_" else wanted
            if n != wanted:
                return f"one of shape {shape}, as {name} is {wanted} here"
        return self._content(value)

    def _content(self, value: Any) -> str | None:
        if self.kind == "any":
            return None
        kind = str(value.dtype).removeprefix("torch.")
        whole = kind.startswith(("int", "uint"))
        if not whole and (self.kind == "whole" or "float" not in kind):
            return f"one of {kind}"
        looked = self.kind != "measured" and 0 not in value.shape
        for end in (value.min(), value.max()) if looked else ():
            if not math.isfinite(end) or self.within.fault(end, {}):
                tensor = isinstance(value, Tensor)
                there = np.asarray(value.cpu()) if tensor else value
                where = np.isnan(there) if math.isnan(end) else there == float(end)
                place = np.argwhere(where)[0].tolist()
                return f"one with {end:g} at {place}"
        return None


Count = Annotated[int, Within(1, MOST)]
Whole = Annotated[int, Within(0, MOST)]
Seed = Annotated[int, Within(0, 2**63 - 1)]
Positive = Annotated[float, Within(0, LARGEST, above=True)]
NotNegative = Annotated[float, Within(0, LARGEST)]
Measured = Annotated[float, "NaN and infinity too"]  # what came of something
Fraction = Annotated[float, Within(0, 1)]
Ratio = Annotated[float, Within(1, LARGEST)]  # of the largest to the smallest
Fading = Annotated[float, Within(0, 1, below=True)]  # a momentum, a smoothing
Labels = Annotated[np.ndarray, Axes("samples", "whole", Within(0, MOST))]
Stacked = Annotated[dict[str, Tensor], Axes("clients ...", "any")]


@dataclass(frozen=True)
class OnDevice:
    """The CPU, or a CUDA device that is there."""

    def said(self, what: str) -> str:
        """The allowed values in words; `what` names the unmarked type."""
        return "cpu or cuda"

    def fault(self, value: Any, sizes: Sizes) -> str | None:
        """The fault of a device, in words; None if there is none."""
        try:
            device = torch.device(value)
        except (RuntimeError, ValueError):
            return shown(value)
        cards = torch.cuda.device_count() if device.type == "cuda" else 0
        if device.type == "cpu" or (device.index or 0) < cards:
            return None
        here = "no CUDA device can be used here" if device.type == "cuda" else ""
        return f"{shown(value)}: {here}" if here else shown(value)


Device = Annotated[str | torch.device, OnDevice()]
