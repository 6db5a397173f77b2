"""From published tables to the arrays of a data file: two of texts, one of numbers."""

import csv
import io
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from fedlab_core.data import words
from fedlab_core.data.unpack import zip_member
from fedlab_core.errors import require

Arrays = dict[str, np.ndarray]
Paths = Sequence[Path]

SENT140_WORDS, SENT140_LENGTH = 3_000, 25
AG_NEWS_WORDS, AG_NEWS_LENGTH = 20_000, 64
AG_NEWS = ("World", "Sports", "Business", "Sci/Tech")


def _rows(file, columns: int, what: str) -> Iterator[list[str]]:
    for row in csv.reader(file):
        fits = len(row) == columns
        require(fits, f"{what} has a line of {len(row)} columns, not {columns}")
        yield row


def sent140(paths: Paths, scratch: Path) -> Arrays:
    """1.6 million tweets, negative or positive by their emoticons, and who wrote them.

    A tenth of every user's tweets, rounded down, is drawn for the test set. The 498
    tweets of the published test set are left out: their writers have no others.
    """
    users: dict[str, int] = {}
    labels, owners = array("b"), array("q")

    def texts(file) -> Iterator[str]:
        for polarity, _, _, _, user, text in _rows(file, 6, member):
            known = polarity in ("0", "4")
            require(known, f"{member} has polarity {polarity!r}, neither 0 nor 4")
            labels.append(int(polarity == "4"))
            owners.append(users.setdefault(user, len(users)))
            yield text

    member = "training.1600000.processed.noemoticon.csv"
    with zip_member(paths[0], member) as file:
        text = io.TextIOWrapper(file, encoding="latin-1", newline="")
        gathered = words.gather(texts(text))
    y, who = np.array(labels, dtype=np.uint8), np.array(owners, dtype=np.int64)
    test = tenth(who)
    x, vocabulary = words.number(gathered, ~test, SENT140_WORDS, SENT140_LENGTH)
    arrays: Arrays = {"classes": np.array(["negative", "positive"])}
    for part, which in (("train", ~test), ("test", test)):
        arrays[f"x_{part}"], arrays[f"y_{part}"] = x[which], y[which]
        arrays[f"owners_{part}"] = who[which]
    return {**arrays, "vocabulary": np.array(vocabulary)}


def tenth(owners: np.ndarray, seed: int = 0) -> np.ndarray:
    """Mask of a random tenth of every owner's samples, rounded down."""
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(owners)), owners))
    held = np.bincount(owners)
    first = np.cumsum(held) - held
    rank = np.empty(len(owners), dtype=np.int64)
    rank[order] = np.arange(len(owners)) - first[owners[order]]
    return rank < (held // 10)[owners]


def ag_news(paths: Paths, scratch: Path) -> Arrays:
    """120,000 and 7,600 news in four classes: title and description are one text."""
    labels: dict[str, list[int]] = {"train": [], "test": []}

    def texts(part: str, path: Path) -> Iterator[str]:
        with path.open(encoding="utf-8", newline="") as file:
            for number, title, description in _rows(file, 3, path.name):
                known = number in ("1", "2", "3", "4")
                require(known, f"{path.name} has class {number!r}, not 1 to 4")
                labels[part].append(int(number) - 1)
                yield f"{title} {description}".replace("\\", " ")  # lost line breaks

    both = chain.from_iterable(texts(*pair) for pair in zip(labels, paths, strict=True))
    gathered = words.gather(both)
    train = np.arange(len(gathered.lengths)) < len(labels["train"])
    x, vocabulary = words.number(gathered, train, AG_NEWS_WORDS, AG_NEWS_LENGTH)
    arrays = {"classes": np.array(AG_NEWS), "vocabulary": np.array(vocabulary)}
    for part, which in (("train", train), ("test", ~train)):
        arrays[f"x_{part}"] = x[which]
        arrays[f"y_{part}"] = np.array(labels[part], dtype=np.uint8)
    return arrays


FACEBOOK = ("0", "1-10", "11-100", "over 100")


def facebook(paths: Paths, scratch: Path) -> Arrays:
    """Posts described by 53 numbers; the target is the comments in the next hours.

    The classes are ranges of the target, as FedDisco makes them to get a distribution
    out of a regression (Paper: FedDisco App. B.8); of its ranges only 1 to 10 is
    published. The training set is the first of the five published variants, which are
    samplings of the same posts.
    """
    arrays: Arrays = {"classes": np.array(FACEBOOK)}
    parts = {"train": "Features_Variant_1.csv", "test": "Features_TestSet.csv"}
    for part, member in parts.items():
        with zip_member(paths[0], member) as file:
            table = np.loadtxt(file, dtype=np.float32, delimiter=",", ndmin=2)
        fits = table.shape[1] == 54
        require(fits, f"{member} has {table.shape[1]} columns, not 54")
        target = table[:, 53].copy()
        arrays[f"x_{part}"], arrays[f"targets_{part}"] = table[:, :53].copy(), target
        arrays[f"y_{part}"] = np.digitize(target, [1, 11, 101]).astype(np.uint8)
    return arrays
