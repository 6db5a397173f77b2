"""Texts, numbers and owners: read, refused, and put into a world."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlab_core import Partition, data, world
from fedlab_core.data import words
from fedlab_core.errors import InputError

# -- texts, numbers and owners ---------------------------------------------------------


@pytest.mark.parametrize(
    "text, want",
    [
        ("Wall St. isn't UP 3.5%!", "wall st isn't up 3 5"),
        ("quot;Talks#39; &amp; &lt;b&gt; amp; lamp;", "talks b lamp"),
        ("'tis Anna’s snake_case Ünïcode", "tis anna's snake case ünïcode"),
        ("http://t.co/aB @User #tag", "http t co ab user tag"),
        (" ... ", ""),
    ],
)
def test_a_text_is_its_words(text, want):
    assert words.split(text) == want.split()


def test_words_are_numbered_by_how_often_training_uses_them():
    """Training has b three times, a and c twice, d once; e is the test's alone. With
    five entries b, a, c are known; d and e are 1, and padding is 0."""
    texts = words.gather(["b b c", "", "d a b c a", "e a b d"])
    train = np.array([True, True, True, False])
    x, vocabulary = words.number(texts, train, size=5, length=4)
    assert vocabulary == ("", "<unknown>", "b", "a", "c") and x.dtype == np.int32
    assert x.tolist() == [[2, 2, 4, 0], [1, 0, 0, 0], [1, 3, 2, 4], [1, 3, 2, 1]]
    with pytest.raises(InputError, match="no texts of 4 words out of 0"):
        words.number(texts, train, size=2, length=4)


@given(
    lists=st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), min_size=1),
    size=st.integers(3, 9),
    length=st.integers(1, 7),
    data_=st.data(),
)
def test_numbered_texts_say_what_was_said(lists, size, length, data_):
    n = len(lists)
    train = np.array(data_.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    gathered = words.gather(" ".join(said) for said in lists)
    x, vocabulary = words.number(gathered, train, size, length)
    count = Counter(
        w for said, here in zip(lists, train, strict=True) if here for w in said
    )
    ranked = sorted(count, key=lambda w: (-count[w], w))[: size - 2]
    assert vocabulary == ("", "<unknown>", *ranked)
    for said, row in zip(lists, x, strict=True):
        want = [w if w in ranked else "<unknown>" for w in said or ["no word"]][:length]
        assert [vocabulary[i] for i in row] == want + [""] * (length - len(want))


def texts_file(**changed):
    made = {
        "classes": np.array(["bad", "good"]),
        "vocabulary": np.array(["", "?", "a"]),
    }
    for part, n in (("train", 4), ("test", 2)):
        made[f"x_{part}"] = np.arange(3 * n, dtype=np.int32).reshape(n, 3) % 3
        made[f"y_{part}"] = np.arange(n) % 2
        made[f"owners_{part}"] = np.arange(n) // 2
    return {k: v for k, v in {**made, **changed}.items() if v is not None}


def numbers_file(**changed):
    made = {"classes": np.array(["none", "some"])}
    for part, n in (("train", 4), ("test", 2)):
        x = np.arange(3 * n, dtype=np.float32).reshape(n, 3)
        x[:, 2] = 7
        made[f"x_{part}"], made[f"y_{part}"] = x, np.arange(n) % 2
        made[f"targets_{part}"] = np.arange(n, dtype=np.float32)
    return {k: v for k, v in {**made, **changed}.items() if v is not None}


LONE = {
    "no vocabulary": ("sent140", {"vocabulary": None}, "lacks vocabulary"),
    "a word of no entry": (
        "sent140",
        {"x_train": np.full((4, 3), 3, np.int32)},
        "x_train must hold words 0 to 2",
    ),
    "words before the first": (
        "sent140",
        {"x_test": np.full((2, 3), -1, np.int32)},
        "x_test must hold words 0 to 2",
    ),
    "bytes for words": ("sent140", {"x_test": np.zeros((2, 3), np.uint8)}, "uint8"),
    "texts of two lengths": (
        "sent140",
        {"x_test": np.zeros((2, 4), np.int32)},
        r"x_test.*\(2, 4\)",
    ),
    "too few owners": ("sent140", {"owners_test": np.zeros(1, int)}, "owners_test are"),
    "no whole owners": ("sent140", {"owners_train": np.zeros(4)}, "float64"),
    "owners below 0": ("sent140", {"owners_test": np.full(2, -1)}, "owners_test are"),
    "no targets": ("facebook", {"targets_test": None}, "lacks targets_test"),
    "too few targets": (
        "facebook",
        {"targets_train": np.zeros(3, np.float32)},
        r"targets_train are float32 \(3,\)",
    ),
    "infinite numbers": (
        "facebook",
        {"x_train": np.full((4, 3), np.inf, np.float32)},
        "x_train has numbers not finite",
    ),
    "infinite targets": (
        "facebook",
        {"targets_train": np.full(4, np.nan, np.float32)},
        "targets_train are",
    ),
}


@pytest.mark.parametrize("case", LONE)
def test_a_broken_file_of_texts_or_numbers_is_refused(tmp_path, case):
    name, changed, message = LONE[case]
    make = texts_file if name == "sent140" else numbers_file
    data.write(tmp_path / f"{name}.npz", **make(**changed))
    with pytest.raises(InputError, match=message) as caught:
        data.load(name, root=tmp_path)
    assert "\n" not in str(caught.value) and f"{name}.npz" in str(caught.value)


def test_owners_are_there_where_the_file_has_them(tmp_path):
    data.write(tmp_path / "sent140.npz", **texts_file())
    got = data.load("sent140", root=tmp_path)
    assert got.owners_train is not None and got.owners_train.tolist() == [0, 0, 1, 1]
    assert got.targets_train is None and (got.mean, got.std) == ((), ())
    none = {"owners_train": None, "owners_test": None}
    data.write(tmp_path / "ag_news.npz", **texts_file(**none))
    assert data.load("ag_news", root=tmp_path).owners_test is None
    assert data.load("digits").vocabulary is None


def test_a_file_of_no_known_set_is_refused(tmp_path):
    data.write(tmp_path / "mine.npz", **texts_file())
    with pytest.raises(InputError, match="mine.npz is not named after a data set"):
        data.read(tmp_path / "mine.npz")


def test_a_world_takes_words_as_they_are_and_numbers_normalised(tmp_path):
    who = Partition("by hand", {}, (np.array([0, 1]), np.array([2, 3])))
    data.write(tmp_path / "sent140.npz", **texts_file())
    got = data.load("sent140", root=tmp_path)
    cut = (torch.nn.Flatten(), torch.nn.Linear(3, 2))
    w = world(got, who, lambda: torch.nn.Sequential(torch.nn.Embedding(3, 1), *cut))
    assert got.shape == (3,) and w.x.dtype == torch.int64
    assert w.x.tolist() == got.x_train.tolist()
    data.write(tmp_path / "facebook.npz", **numbers_file())
    got = data.load("facebook", root=tmp_path)
    w = world(got, who, lambda: torch.nn.Linear(3, 2))
    # rows 0 3 6 9 in each moving column: their mean 4.5, their deviation sqrt(11.25);
    # the column that never moves is 0 throughout
    want = (torch.tensor([0.0, 3, 6, 9]) - 4.5) / 11.25**0.5
    assert torch.allclose(w.x[:, 0], want) and torch.allclose(w.x[:, 1], want)
    assert (w.x[:, 2] == 0).all() and (w.x_test[:, 2] == 0).all()
    assert torch.allclose(w.x_test[:, 0], want[:2])  # by the training columns
