"""Data as they come: arrays, tensors, tables, files; functions by name."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_breast_cancer

import fedlab_core as fl
from fedlab_use.own import named_function

SOURCE: Any = load_breast_cancer()
X, Y = SOURCE.data[:60], SOURCE.target[:60]
WORDS = SOURCE.target_names[Y]
PAIRS = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(Y))
LOADER = torch.utils.data.DataLoader(PAIRS, 8)
SERIES, FIRST = X.reshape(60, 5, 6), np.zeros((60, 3, 9, 9), np.uint8)
NAMED = pd.DataFrame(X[:40]).assign(age="old")


def parts(x, y):
    return x[:40], y[:40], x[40:], y[40:]


@pytest.mark.parametrize("kind", ["array", "float32", "tensor", "pandas", "lists"])
def test_the_same_table_is_the_same_data_set_however_it_is_held(kind):
    as_it_is = {
        "array": lambda v: v,
        "float32": lambda v: np.asarray(v).astype("f4" if v.ndim == 2 else int),
        "tensor": lambda v: torch.tensor(v),
        "pandas": lambda v: pd.DataFrame(v) if v.ndim == 2 else pd.Series(v),
        "lists": lambda v: v.tolist(),
    }[kind]
    made = fl.dataset(*map(as_it_is, parts(X, Y)))
    assert made.shape == (30,) and made.classes == ("0", "1")
    assert made.x_train.dtype == np.float32 and (made.y_train == Y[:40]).all()
    mean = X[:40].astype("f4").mean(0, dtype="f8")
    assert np.allclose(made.mean, mean) and min(made.std) > 0


def test_tables_go_together_by_their_columns_names():
    train, test = (
        pd.DataFrame(x, columns=list("abc")) for x in (X[:40, :3], X[40:, :3])
    )
    straight = fl.dataset(train, Y[:40], test, Y[40:])
    other = fl.dataset(train, Y[:40], test[["c", "a", "b"]], Y[40:])
    assert (other.x_test == straight.x_test).all()
    for one, other, words in (
        (train, test[["a", "b"]], "x_test lacks the column 'c'"),
        (train[["a", "b"]], test, "x_train lacks the column 'c'"),
    ):
        with pytest.raises(fl.InputError, match=words):
            fl.dataset(one, Y[:40], other, Y[40:])
    names = ["low", "high"]
    y, z = (pd.DataFrame(v, columns=names) for v in (X[:40, :2], X[40:, :2]))
    made = fl.dataset(X[:40], y, X[40:], z[names[::-1]], numbers=True)
    assert made.targets_test is not None
    np.testing.assert_allclose(made.targets_test, X[40:, :2], rtol=1e-6)


def test_labels_may_be_words_or_begin_anywhere():
    words = fl.dataset(*parts(X, WORDS))
    assert words.classes == ("benign", "malignant")
    assert [words.classes[k] for k in words.y_test] == WORDS[40:].tolist()
    shifted = fl.dataset(*parts(X, Y + 5))
    assert shifted.classes == ("5", "6") and (shifted.y_test == Y[40:]).all()
    named = fl.dataset(*parts(X, Y), classes=[10, 20, 30])
    assert named.classes == ("10", "20", "30") and (named.y_test == Y[40:]).all()
    order = fl.dataset(*parts(X, WORDS), classes=["malignant", "benign"])
    assert (order.y_test == Y[40:]).all()


def test_a_column_that_never_changes_trains_like_any_other():
    constant = np.column_stack([X, np.ones(60)])
    data = fl.dataset(*parts(constant, Y))
    assert data.std[-1] == 1.0

    def net() -> torch.nn.Module:
        return torch.nn.Linear(31, 2)

    w = fl.world(data, fl.iid(data.y_train, 2), net)
    assert bool(torch.isfinite(w.x).all())
    assert fl.federate(w, fl.fedavg(fl.Training(lr=0.01)), 1).accuracy() > 0


def test_images_and_words_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (60, 8, 8, 3)).astype(np.uint8)
    made = fl.dataset(*parts(images, Y))
    assert made.shape == (3, 8, 8) and len(made.mean) == 3
    assert made.mean[0] == pytest.approx(images[:40, ..., 0].mean() / 255)
    words = rng.integers(0, 9, (60, 5)).astype(np.int32)
    made = fl.dataset(*parts(words, Y))
    assert made.shape == (5,) and made.mean == ()


@pytest.mark.parametrize(
    "given, words",
    [
        ((X[:40], Y[:40, None], X[40:], Y[40:]), "y_train must be one label a sample"),
        ((X[:40], Y[:40] + 0.5, X[40:], Y[40:]), "y_train must be labels, not float"),
        ((X[:40], Y[:40] + 0.5, X[40:], Y[40:]), r"numbers=True \(--numbers\) to pred"),
        ((X[:40], Y[:30], X[40:], Y[40:]), "y_train"),
        ((X[:40, :9], Y[:40], X[40:], Y[40:]), "of shapes"),
        (([[1], [1, 2]], Y[:40], X[40:], Y[40:]), "x_train is not an array"),
        ((X.reshape(60, 5, 6)[:40], Y[:40], X.reshape(60, 5, 6)[40:], Y[40:]), "uint8"),
        ((SERIES[:40], Y[:40], SERIES[40:], Y[40:]), r"float64: .*x.reshape\(len\(x\)"),
        ((FIRST[:40], Y[:40], FIRST[40:], Y[40:]), r"last, as x.transpose\(0, 2, 3, 1"),
        (
            (LOADER, Y[:40], X[40:], Y[40:]),
            r"a DataLoader: give torch.cat\(\[x for x, y",
        ),
        (
            (X[:40], LOADER.dataset, X[40:], Y[40:]),
            r"give torch.stack\(\[y for x, y in",
        ),
        (
            (X[:40].astype(str), Y[:40], X[40:], Y[40:]),
            "x_train must be numbers, not '",
        ),
        (
            (NAMED, Y[:40], X[40:], Y[40:]),
            "not 'old' of the column 'age': give its num",
        ),
        ((X[:40], Y[:40] * 0, X[40:], Y[40:]), "label 1, which no training sample has"),
        (([], [], X[40:], Y[40:]), r"x_train of shape \(0,\) holds no number"),
    ],
)
def test_what_does_not_fit_is_one_line(given, words):
    with pytest.raises(fl.InputError, match=words) as refused:
        fl.dataset(*given)
    assert "\n" not in str(refused.value)


def test_numbers_to_be_predicted_keep_their_quarters_as_labels():
    y = np.arange(60) / 10
    data = fl.dataset(*parts(X, y), numbers=True)
    assert data.targets_train is not None and data.targets_test is not None
    assert data.targets_train.dtype == np.float32
    np.testing.assert_allclose(data.targets_test, y[40:], rtol=1e-6)
    # of 0 to 3.9 the quartiles are .975, 1.95 and 2.925
    assert np.bincount(data.y_train).tolist() == [10, 10, 10, 10]
    assert data.y_test.tolist() == [3] * 20
    assert data.classes == ("to 0.975", "to 1.95", "to 2.925", "above 2.925")
    two = fl.dataset(*parts(X, (y > 2).astype(float)), numbers=True)
    assert set(two.y_train.tolist()) == {0, 1}


def test_several_labels_at_once_are_split_by_the_first():
    rows = np.zeros((60, 3))
    rows[:, 2] = 1
    rows[::2, 1] = 1
    data = fl.dataset(*parts(X, rows), numbers=True)
    assert data.y_train.tolist() == [1, 2] * 20 and data.classes == ("0", "1", "2")
    assert data.targets_train is not None and data.targets_train.shape == (40, 3)


@pytest.mark.parametrize(
    "train, test, words",
    [
        (WORDS[:40], WORDS[40:], "y_train must be a number a sample, or a row of them"),
        (np.full(40, np.nan), Y[40:], "y_train has numbers that are not finite"),
        (np.ones((40, 2)), np.ones((20, 3)), "y_train and y_test are of shapes"),
        (np.ones(30), np.ones(20), "train"),
    ],
)
def test_numbers_that_do_not_fit_are_one_line(train, test, words):
    with pytest.raises(fl.InputError, match=words) as refused:
        fl.dataset(X[:40], train, X[40:], test, numbers=True)
    assert "\n" not in str(refused.value)
    with pytest.raises(fl.InputError, match="classes: numbers=True has none"):
        fl.dataset(*parts(X, Y), numbers=True, classes=["a", "b"])


def test_names_that_lack_a_label_are_refused():
    with pytest.raises(fl.InputError, match="classes lacks"):
        fl.dataset(*parts(X, WORDS), classes=["benign"])
    with pytest.raises(fl.InputError, match="1 names for 2 labels"):
        fl.dataset(*parts(X, Y), classes=["benign"])


def test_a_file_of_ones_own_is_read_and_others_refused(tmp_path):
    names = ("x_train", "y_train", "x_test", "y_test")
    path = tmp_path / "mine.npz"
    np.savez(path, **dict(zip(names, parts(X, WORDS), strict=True)))
    data = fl.read_dataset(path)
    assert data.name == "mine" and data.classes == ("benign", "malignant")
    np.savez(tmp_path / "part.npz", x_train=X)
    np.savez(tmp_path / "objects.npz", x_train=np.array([None]))
    (tmp_path / "text.npz").write_text("hello")
    for name, words in (
        ("part.npz", "lacks y_train, x_test, y_test"),
        ("text.npz", "cannot be read"),
        ("none.npz", "cannot be read"),
        ("objects.npz", "cannot be read"),
    ):
        with pytest.raises(fl.InputError, match=words):
            fl.read_dataset(tmp_path / name)


def test_functions_are_found_by_name_from_here(tmp_path, monkeypatch):
    (tmp_path / "mynet_here.py").write_text("def make():\n    return 7\nsize = 3\n")
    monkeypatch.chdir(tmp_path)
    assert named_function("mynet_here:make", "--model")() == 7
    for text, words in (
        ("mynet_here:made", "no attribute 'made'"),
        ("mynet_here:size", "not a function"),
        ("nothing_here:make", "No module named"),
        (":make", "package.module:make"),
        ("mynet_here.py:make", "--model: mynet_here:make, not"),
        ("./my/net.py:make", "--model: my.net:make, not"),
    ):
        with pytest.raises(fl.InputError, match=words):
            named_function(text, "--model")
