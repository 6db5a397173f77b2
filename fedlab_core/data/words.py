"""Texts as numbers: words found by a simple rule, counted, and numbered by frequency.

A text is put in lower case, HTML entities in it are resolved (also those that lost
their `&`, as in AG News), and its words are the runs of letters and digits, with the
apostrophes inside them; punctuation is dropped. The vocabulary is the most frequent
words of the training part, equally frequent ones in alphabetical order. Word 0 is
padding and 1 any word that is not in the vocabulary; a text is cut, or padded at its
end, to a fixed length. A text without a word is one unknown word.
"""

import html
import re
from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fedlab_core.errors import require

PADDING, UNKNOWN = 0, 1
_RESERVED = ("", "<unknown>")
_HALF_ENTITY = re.compile(r"(?<!&)(#\d+|\b(?:quot|amp|lt|gt|nbsp));")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def split(text: str) -> list[str]:
    """The words of a text, in order."""
    whole = html.unescape(_HALF_ENTITY.sub(r"&\1;", text))
    return _WORD.findall(whole.lower().replace("’", "'"))


@dataclass(frozen=True, eq=False)
class Texts:
    """Many texts end to end: places in `words`, and the number of words of each."""

    words: list[str]
    flat: np.ndarray
    lengths: np.ndarray


def gather(texts: Iterable[str]) -> Texts:
    """Split texts one after the other; what they come from is read only once."""
    known: dict[str, int] = {}
    flat, lengths = array("i"), array("i")
    for text in texts:
        found = split(text)
        flat.extend([known.setdefault(word, len(known)) for word in found])
        lengths.append(len(found))
    numbers = (np.array(a, dtype=np.int64) for a in (flat, lengths))
    return Texts(list(known), *numbers)


def number(
    texts: Texts, train: np.ndarray, size: int, length: int
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Texts as int32 (texts, length), and the vocabulary: `size` entries at most.

    `train` marks the texts whose words are counted. The first two entries of the
    vocabulary are padding and the unknown word.
    """
    require(size > 2 and length > 0, f"no texts of {length} words out of {size - 2}")
    seen = texts.flat[np.repeat(train, texts.lengths)]
    counts = np.bincount(seen, minlength=len(texts.words)).tolist()
    there = [i for i, count in enumerate(counts) if count]
    ranked = sorted(there, key=lambda i: (-counts[i], texts.words[i]))[: size - 2]
    renumber = np.full(len(texts.words), UNKNOWN, dtype=np.int32)
    renumber[ranked] = np.arange(2, 2 + len(ranked))
    starts = np.cumsum(texts.lengths) - texts.lengths
    x = np.full((len(texts.lengths), length), PADDING, dtype=np.int32)
    for place in range(length):
        has = texts.lengths > place
        x[has, place] = renumber[texts.flat[starts[has] + place]]
    x[texts.lengths == 0, 0] = UNKNOWN
    return x, (*_RESERVED, *(texts.words[i] for i in ranked))
