"""A question to one client and its answer, as trees of tensors and a few plain facts.

Nothing here knows how they travel. What arrives is held to what was asked for: an
answer that is anything else is refused in one line.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TypeVar

import torch
from torch import Tensor

from fedlab_core.errors import InputError, require
from fedlab_core.tree import Tree, is_finite

Facts = dict[str, int | str | float]
Trees = dict[str, Tree]
Got = TypeVar("Got")
TRAIN, JUDGE, HELLO = "train", "judge", "hello"  # the kinds that are more than a query


@dataclass(frozen=True)
class Ask:
    """A question: its kind, whom it is for, what goes with it, what must come back."""

    kind: str
    client: int
    facts: Facts
    trees: Trees = field(default_factory=dict)
    like: Trees = field(default_factory=dict)  # names, shapes and dtypes of the answer


@dataclass(frozen=True)
class Reply:
    """An answer; its facts say whose it is, of which run and of which round."""

    facts: Facts
    trees: Trees = field(default_factory=dict)


Answers = dict[int, Reply | str]  # by client: an answer, or why there is none
Talk = Generator[list[Ask], Answers, Got]


def told(**numbers: Tensor) -> Trees:
    """Numbers that are no model, as an answer has them."""
    return {"told": numbers}


def held_to(ask: Ask, reply: Reply) -> Reply:
    """The answer, if it is one to this question and in finite numbers."""
    for name in ("client", "round", "run"):
        wanted, got = ask.facts[name], reply.facts.get(name)
        require(got == wanted, f"its answer is of {name} {got!r:.40}, not {wanted!r}")
    if ask.kind == TRAIN:
        loss = reply.facts.get("loss")
        sound = isinstance(loss, float) and math.isfinite(loss)
        require(sound, f"its loss is {loss!r:.40}")
    for name, tree in reply.trees.items():
        require(is_finite(tree), f"its {name} is not finite")
    return reply


def tensor_of(data: bytes, dtype: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
    """The tensor of an array as NumPy saves it, which must be like another one.

    It is compared byte for byte with the head that an honest client writes before
    anything is read: what claims to be larger than it is makes no memory.
    """
    wanted, kind = tuple(like.shape), str(like.dtype).removeprefix("torch.")
    fits = dtype == kind and tuple(shape) == wanted
    require(fits, f"is {dtype:.20} of {tuple(shape)!s:.60}, not {kind} of {wanted}")
    head = head_of(like)
    require(len(data) == len(head) + like.nbytes, f"has {len(data)} bytes")
    require(data.startswith(head), "is not saved as NumPy does")
    if not like.numel():
        return torch.empty(wanted, dtype=like.dtype)
    rest = bytearray(memoryview(data)[len(head) :])
    found = torch.frombuffer(rest, dtype=like.dtype).view(wanted)
    return found.clone()  # where PyTorch lays tensors: sums are the same to the bit


def head_of(like: Tensor) -> bytes:
    """The bytes before the numbers in NumPy's file of an array like this tensor."""
    import io

    import numpy as np

    file, kind = io.BytesIO(), str(like.dtype).removeprefix("torch.")
    descr = np.lib.format.dtype_to_descr(np.dtype(kind))
    shape = {"descr": descr, "fortran_order": False, "shape": tuple(like.shape)}
    np.lib.format.write_array_header_1_0(file, shape)
    return file.getvalue()


def enough(answers: Answers, least: int, what: str) -> dict[int, Reply]:
    """The answers, in order of their clients, if there are enough to go on."""
    there = {k: r for k, r in sorted(answers.items()) if isinstance(r, Reply)}
    if len(there) < least:
        why = "; ".join(
            f"client {k}: {r}" for k, r in sorted(answers.items()) if k not in there
        )
        raise InputError(
            f"{what}: {len(there)} of {len(answers)} clients answered and {least} are "
            f"needed ({why})"
        )
    return there
