"""Who holds what: the splits of the papers, each one seeded function, as data.

A `Partition` is a list of sample indices per client plus what was asked for. It can be
hashed, compared, saved and drawn. Two ways of reading `alpha` circulate: here a class
is shared out among the clients by Dirichlet(alpha), so a small alpha means that few
clients hold a class.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedlab_core.errors import InputError, require


@dataclass(frozen=True, eq=False)
class Partition:
    """Sample indices per client, and the call that made them."""

    kind: str
    asked: dict
    indices: tuple[np.ndarray, ...]

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def sizes(self) -> np.ndarray:
        """Samples per client, m_k."""
        return np.array([len(i) for i in self.indices])

    def counts(self, labels: np.ndarray, classes: int | None = None) -> np.ndarray:
        """Samples per client and class: (clients, classes)."""
        classes = classes or int(labels.max()) + 1
        held = [np.bincount(labels[i], minlength=classes) for i in self.indices]
        return np.stack(held)

    @property
    def digest(self) -> str:
        """A short hash of everything that defines the split."""
        h = hashlib.sha256(json.dumps([self.kind, self.asked], sort_keys=True).encode())
        for held in self.indices:
            h.update(len(held).to_bytes(8, "little") + held.astype("<i8").tobytes())
        return h.hexdigest()[:16]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Partition) and self.digest == other.digest

    def __hash__(self) -> int:
        return int(self.digest, 16)

    def save(self, path: str | os.PathLike) -> None:
        """Write as JSON, whole or not at all."""
        body = {"kind": self.kind, "asked": self.asked, "digest": self.digest}
        body["indices"] = [held.tolist() for held in self.indices]
        part = Path(path).with_suffix(".part")
        try:
            part.write_text(json.dumps(body))
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)

    @classmethod
    def read(cls, path: str | os.PathLike) -> "Partition":
        """Read what `save` wrote; a file that was changed since is refused."""
        try:
            body = json.loads(Path(path).read_text())
            held = tuple(np.array(i, dtype=np.int64) for i in body["indices"])
            made = cls(body["kind"], body["asked"], held)
            sound = made.digest == body["digest"]
        except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
            raise InputError(f"{path} is not a saved partition ({error})") from None
        require(sound, f"{path} does not match its own digest: it was changed by hand")
        return made


def _check(labels: np.ndarray, clients: int, min_size: int = 1) -> None:
    require(clients >= 1, f"clients must be 1 or more, not {clients}")
    require(min_size >= 0, f"min_size must be 0 or more, not {min_size}")
    need = clients * max(min_size, 1)
    require(
        need <= len(labels),
        f"{clients} clients with at least {max(min_size, 1)} samples each need {need} "
        f"samples, but there are {len(labels)}: ask for fewer clients",
    )


def _make(kind: str, asked: dict, held: Sequence[np.ndarray]) -> Partition:
    plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in asked.items()}
    return Partition(kind, plain, tuple(np.sort(i).astype(np.int64) for i in held))


def iid(labels: np.ndarray, clients: int, *, seed: int = 0) -> Partition:
    """Equal shares (to within one sample) drawn at random."""
    _check(labels, clients)
    order = np.random.default_rng(seed).permutation(len(labels))
    asked = {"clients": clients, "seed": seed}
    return _make("iid", asked, np.array_split(order, clients))


def dirichlet(
    labels: np.ndarray,
    clients: int,
    alpha: float,
    *,
    seed: int = 0,
    capacity: bool = True,
    min_size: int = 10,
    pool: np.ndarray | None = None,
) -> Partition:
    """Share each class among the clients by Dirichlet(alpha): the papers' NIID-1.

    With `capacity`, a client that already holds an equal share of all samples gets no
    more of the classes still to come. The draw is repeated until everyone holds
    `min_size` samples; if that does not happen in 100 draws, the best of them is
    completed from the largest clients, and `asked["moved"]` says by how many samples.
    `pool` restricts the split to those samples (see `long_tail`).

    Paper: FedDisco App. B.1.3 (NIID-1).
    """
    positive = np.isfinite(alpha) and alpha > 0
    require(bool(positive), f"alpha must be a positive number, not {alpha}")
    pool = np.arange(len(labels)) if pool is None else np.asarray(pool)
    _check(pool, clients, min_size)
    rng = np.random.default_rng(seed)
    best: list[np.ndarray] = []
    for _ in range(100):
        held = share_out(labels, pool, clients, alpha, capacity, rng)
        if not best or min(map(len, held)) > min(map(len, best)):
            best = held
        if min(map(len, best)) >= min_size:
            break
    moved = _top_up(best, min_size, rng)
    asked = {
        "clients": clients,
        "alpha": alpha,
        "seed": seed,
        "capacity": capacity,
        "min_size": min_size,
        "moved": moved,
    }
    return _make("dirichlet", asked, best)


def share_out(labels, pool, clients, alpha, capacity, rng) -> list[np.ndarray]:
    """One draw of `dirichlet`, class after class: the samples each client gets."""
    held: list[list[np.ndarray]] = [[] for _ in range(clients)]
    sizes = np.zeros(clients, dtype=int)
    for c in np.unique(labels[pool]):
        mine = rng.permutation(pool[labels[pool] == c])
        share = rng.dirichlet(np.full(clients, alpha))
        if capacity:
            share = share * (sizes < len(pool) / clients)
        # alpha near 0 can underflow to all zeros: one client then takes the class
        share = share if share.sum() > 0 else np.eye(clients)[np.argmin(sizes)]
        edges = np.cumsum(share)
        cuts = (edges[:-1] / edges[-1] * len(mine)).astype(int)
        for k, part in enumerate(np.split(mine, cuts)):
            held[k].append(part)
            sizes[k] += len(part)
    return [np.concatenate(parts) for parts in held]


def _top_up(held: list[np.ndarray], min_size: int, rng) -> int:
    """Move samples from the largest client to those below `min_size`; how many."""
    moved = 0
    for k in range(len(held)):
        while len(held[k]) < min_size:
            rich = int(np.argmax([len(i) for i in held]))
            gift = int(rng.integers(len(held[rich])))
            held[k] = np.append(held[k], held[rich][gift])
            held[rich] = np.delete(held[rich], gift)
            moved += 1
    return moved


def niid2(
    labels: np.ndarray,
    *,
    biased: int = 5,
    unbiased: int = 1,
    classes_each: int = 2,
    seed: int = 0,
) -> Partition:
    """Biased clients with a few classes each, unbiased ones with all; equal sizes.

    Biased client i holds classes `classes_each * i` and on (cyclically). 5 + 1 is the
    papers' NIID-2, 50 + 10 its form for partial participation.

    Paper: FedDisco Sec. 7.1 (NIID-2).
    """
    clients, total = biased + unbiased, int(labels.max()) + 1
    require(min(biased, unbiased) >= 0, "biased and unbiased must be 0 or more")
    _check(labels, clients)
    allowed = 1 <= classes_each <= total and total % classes_each == 0
    require(allowed, f"classes_each must divide the number of classes, {total}")
    # In units of s samples: a biased client takes total / classes_each of each of its
    # classes and an unbiased one 1 of every class, so that all hold `total` units.
    demand = np.full((clients, total), 1)
    for i in range(biased):
        demand[i] = 0
        mine = (classes_each * i + np.arange(classes_each)) % total
        demand[i, mine] = total // classes_each
    wanted = demand.sum(axis=0)
    there = np.bincount(labels, minlength=total)
    unit = int((there[wanted > 0] // wanted[wanted > 0]).min())
    require(
        unit >= 1, f"{len(labels)} samples are too few for {clients} NIID-2 clients"
    )
    rng = np.random.default_rng(seed)
    held: list[list[np.ndarray]] = [[] for _ in range(clients)]
    for c in range(total):
        mine = rng.permutation(np.flatnonzero(labels == c))
        ends = np.cumsum(unit * demand[:, c])
        for k, part in enumerate(np.split(mine[: ends[-1]], ends[:-1])):
            held[k].append(part)
    asked = {"biased": biased, "unbiased": unbiased, "classes_each": classes_each}
    return _make("niid2", {**asked, "seed": seed}, [np.concatenate(h) for h in held])


def long_tail(labels: np.ndarray, rho: float, *, seed: int = 0) -> np.ndarray:
    """Keep exponentially fewer samples of each later class: a pool for `dirichlet`.

    Class c of C keeps floor(n * rho ** (-c / (C - 1))) samples, n being the size of
    the smallest class, so that the first class has rho times as many as the last.

    Paper: FedDisco Sec. 7.2 (global imbalance).
    """
    positive = np.isfinite(rho) and rho >= 1
    require(bool(positive), f"rho must be a number of 1 or more, not {rho}")
    rng = np.random.default_rng(seed)
    counts = np.bincount(labels)
    kept = []
    for c in range(len(counts)):
        n = int(counts.min() * rho ** (-c / max(len(counts) - 1, 1)))
        require(n >= 1, f"rho = {rho} leaves no sample of class {c}: ask for less")
        kept.append(rng.permutation(np.flatnonzero(labels == c))[:n])
    return np.sort(np.concatenate(kept))


def designed(labels: np.ndarray, counts: np.ndarray, *, seed: int = 0) -> Partition:
    """Give client k `counts[k, c]` samples of class c, drawn without replacement."""
    counts = np.asarray(counts)
    have = np.bincount(labels)
    sound = counts.ndim == 2 and counts.shape[1] == len(have)
    require(sound, f"counts must be (clients, {len(have)} classes), not {counts.shape}")
    require(bool((counts >= 0).all()), "counts must be 0 or more")
    _check(labels, len(counts))
    for c, (want, there) in enumerate(zip(counts.sum(0), have, strict=True)):
        require(want <= there, f"class {c}: {want} samples asked for, {there} there")
    rng = np.random.default_rng(seed)
    held: list[list[np.ndarray]] = [[] for _ in counts]
    for c, column in enumerate(counts.T):
        mine, ends = rng.permutation(np.flatnonzero(labels == c)), np.cumsum(column)
        for k, part in enumerate(np.split(mine[: ends[-1]], ends[:-1])):
            held[k].append(part)
    asked = {"counts": counts.tolist(), "seed": seed}
    return _make("designed", asked, [np.concatenate(h) for h in held])
