"""A split as data: which samples each client holds, and the call that made it."""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from fedlab_core.arguments import Axes, Count, Labels, Within, checked
from fedlab_core.atomic_files import replacing
from fedlab_core.errors import InputError, require

_UNREADABLE = (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError)


@checked
@dataclass(frozen=True, eq=False)
class Partition:
    """Sample indices per client, none of them twice, and the call that made them.

    Samples that no client holds, as of a split with a long tail, train nobody.
    """

    kind: str
    asked: dict
    indices: tuple[Annotated[np.ndarray, Axes("_", "whole", Within(0))], ...]

    def __post_init__(self) -> None:
        whole = tuple(held.astype(np.int64) for held in self.indices)
        object.__setattr__(self, "indices", whole)
        try:
            self._asked()
        except (TypeError, ValueError, RecursionError):
            raise InputError("asked must be what JSON can hold") from None
        require(len(whole) > 0, "a partition must have one client or more")
        held = np.concatenate(whole)
        sample, times = np.unique(held, return_counts=True)
        twice = sample[times > 1]
        who = [k for k, own in enumerate(whole) if len(twice) and twice[0] in own]
        owners = " and ".join(f"client {k}" for k in who[:2])
        require(not len(twice), f"sample {twice[:1].tolist()} is twice in {owners}")

    def __repr__(self) -> str:
        sizes, asked = self.sizes, ", ".join(f"{n}={v}" for n, v in self.asked.items())
        held = f"{sizes.min():,} to {sizes.max():,} of {sizes.sum():,} samples"
        return f"{self.kind}({asked}): {len(self)} clients with {held}"

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def sizes(self) -> np.ndarray:
        """Samples per client, m_k."""
        return np.array([len(i) for i in self.indices])

    @checked
    def counts(self, labels: Labels, classes: Count | None = None) -> np.ndarray:
        """Samples per client and class: (clients, classes)."""
        self.within(len(labels))
        most = int(labels.max(initial=-1)) + 1
        classes = most if classes is None else classes
        require(most <= classes, f"counts: a label is {most - 1} of {classes} classes")
        held = [np.bincount(labels[i], minlength=classes) for i in self.indices]
        return np.stack(held)

    def within(self, samples: int, what: str = "") -> None:
        """Refuse a split of more samples than there are."""
        most = max((int(i.max()) for i in self.indices if len(i)), default=-1)
        require(most < samples, f"no {what}sample {most}: there are {samples}")

    @property
    def digest(self) -> str:
        """A short hash of everything that defines the split."""
        h = hashlib.sha256(self._asked())
        for held in self.indices:
            h.update(len(held).to_bytes(8, "little") + held.astype("<i8").tobytes())
        return h.hexdigest()[:16]

    def _asked(self) -> bytes:
        """The call as JSON, NumPy's numbers as plain ones."""
        call = [self.kind, self.asked]
        return json.dumps(call, sort_keys=True, default=np.generic.item).encode()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Partition) and self.digest == other.digest

    def __hash__(self) -> int:
        return int(self.digest, 16)

    def save(self, path: str | os.PathLike) -> None:
        """Write as JSON, whole or not at all."""
        body = {"kind": self.kind, "asked": self.asked, "digest": self.digest}
        body["indices"] = [held.tolist() for held in self.indices]
        with replacing(path) as file:
            file.write(json.dumps(body, default=np.generic.item).encode())

    @classmethod
    def read(cls, path: str | os.PathLike) -> "Partition":
        """Read what `save` wrote; a file that was changed since is refused."""
        try:
            body = json.loads(Path(path).read_text())
            held = tuple(np.array(i, dtype=np.int64) for i in body["indices"])
            made = cls(body["kind"], body["asked"], held)
            sound = made.digest == body["digest"]
        except _UNREADABLE as error:
            raise InputError(f"{path} is not a saved partition ({error})") from None
        require(sound, f"{path} does not match its own digest: it was changed by hand")
        return made


def make(kind: str, asked: dict[str, Any], held: Sequence[np.ndarray]) -> Partition:
    """A partition with sorted indices, and with a record that JSON can hold."""
    plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in asked.items()}
    return Partition(kind, plain, tuple(np.sort(i).astype(np.int64) for i in held))


def origin(made: Partition) -> dict[str, Any]:
    """Record of the split that another one is made from."""
    return {"kind": made.kind, "asked": made.asked, "digest": made.digest}


def mark(values: np.ndarray) -> str:
    """A short hash that stands for a long array in a record."""
    h = hashlib.sha256(str(values.shape).encode())
    for value in values.tolist():
        h.update(f"{value!r}\n".encode())
    return h.hexdigest()[:16]


def check(labels: np.ndarray, clients: int, min_size: int = 1) -> None:
    """Refuse a number of clients that the samples are too few for."""
    need = clients * max(min_size, 1)
    require(
        need <= len(labels),
        f"{clients} clients with at least {max(min_size, 1)} samples each need {need} "
        f"samples, but there are {len(labels)}: ask for fewer clients",
    )


def each(name: str, values: Any, clients: int) -> np.ndarray:
    """One entry a client: from one, one a client, or one for each of equal groups.

    Groups are made of consecutive clients: two values for 20 clients are one for the
    first ten and one for the last ten.
    """
    given = np.asarray(values)
    given = given[None] if given.ndim == 0 else given
    fits = 1 <= len(given) <= clients and clients % len(given) == 0
    require(
        fits,
        f"{name}: {len(given)} entries for {clients} clients: give one, one a client, "
        "or one for each of equal groups of clients",
    )
    return np.repeat(given, clients // len(given), axis=0)
