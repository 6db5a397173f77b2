"""Data sets: the file convention, every way a file can be broken, and downloads."""

import errno
import inspect
import os
import pickle
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlab_core import data
from fedlab_core.data.sources import SOURCES
from fedlab_core.errors import InputError
from tests.data_cases import arrays, leftovers, store


@pytest.mark.parametrize(
    "name, shape", [("mnist", (1, 28, 28)), ("cifar10", (3, 32, 32))]
)
def test_a_file_loads_as_it_is(tmp_path, name, shape):
    made = store(tmp_path, name)
    got = data.load(name, root=tmp_path)
    assert got.name == name and got.shape == shape
    assert got.classes == tuple(made["classes"])
    assert len(got.mean) == len(got.std) == shape[0]
    for key in ("x_train", "x_test"):
        assert getattr(got, key).dtype == np.uint8
        assert (getattr(got, key) == made[key]).all()
    for key in ("y_train", "y_test"):
        assert getattr(got, key).dtype == np.int64
        assert (getattr(got, key) == made[key]).all()


def test_where_a_file_is_looked_for(tmp_path, monkeypatch):
    for folder in ("argument", "variable", "cache/fedlab"):
        (tmp_path / folder).mkdir(parents=True)
        store(tmp_path / folder, classes=np.array([folder] * 10))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("FEDLAB_DATA", str(tmp_path / "variable"))
    assert data.load("mnist", root=tmp_path / "argument").classes[0] == "argument"
    assert data.load("mnist").classes[0] == "variable"
    monkeypatch.delenv("FEDLAB_DATA")
    assert data.load("mnist").classes[0] == "cache/fedlab"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data.data_root() == tmp_path / ".cache" / "fedlab"


def test_unknown_name_lists_the_known_ones(tmp_path):
    with pytest.raises(InputError, match="unknown data set 'mnits': .*letters.*mnist"):
        data.load("mnits", root=tmp_path)


def test_only_built_in_tasks_take_options(tmp_path):
    store(tmp_path)
    with pytest.raises(InputError, match="mnist takes no options, got noise"):
        data.load("mnist", root=tmp_path, noise=0.1)
    with pytest.raises(InputError, match="letters: .*colour"):
        data.load("letters", colour=True)
    with pytest.raises(InputError, match="digits: .*noise"):
        data.load("digits", noise=0.1)


# What is broken in the file -> what the message must name.
ODD = {
    "missing key": ({"y_test": None}, "lacks y_test"),
    "float images": ({"x_train": np.zeros((100, 28, 28))}, "x_train.*float64"),
    "flat images": (
        {"x_test": np.zeros((100, 784), np.uint8)},
        r"x_test.*\(100, 784\)",
    ),
    "too few labels": ({"y_train": np.zeros(99, np.uint8)}, r"y_train.*\(99,\)"),
    "label too large": (
        {"y_train": np.full(100, 10)},
        "y_train must hold labels 0 to 9",
    ),
    "negative label": ({"y_test": np.full(100, -1)}, "y_test must hold labels 0 to 9"),
    "fractional labels": ({"y_train": np.full(100, 0.5)}, "y_train.*float64"),
    "no images": (
        {"x_test": np.zeros((0, 28, 28), np.uint8), "y_test": np.zeros(0, np.uint8)},
        "y_test must hold labels",
    ),
    "other channels": ({"x_train": np.zeros((100, 28, 28, 3), np.uint8)}, "x_train.*3"),
    "two sizes": ({"x_test": np.zeros((100, 14, 14), np.uint8)}, r"x_test.*14, 14"),
    "pickled objects": (
        {"classes": np.array([{}] * 10, dtype=object)},
        r"not a readable data file \(it is not plain arrays\)",
    ),
    "one name, no list": ({"classes": np.array("digits")}, "classes"),
}


@pytest.mark.parametrize("case", ODD)
def test_a_broken_file_is_refused_in_one_line(tmp_path, case):
    changed, message = ODD[case]
    store(tmp_path, **changed)
    with pytest.raises(InputError, match=message) as caught:
        data.load("mnist", root=tmp_path)
    assert "\n" not in str(caught.value) and "mnist.npz" in str(caught.value)


def pickled(path) -> None:
    path.write_bytes(pickle.dumps({"x_train": [1]}))


def folder(path) -> None:
    path.mkdir()


@pytest.mark.parametrize(
    "make, message",
    [(pickled, "it is not plain arrays"), (folder, "cannot be read: Is a directory$")],
)
def test_nobody_is_told_to_unpickle_or_to_delete_what_cannot_be_read(
    tmp_path, make, message
):
    make(tmp_path / "mnist.npz")
    with pytest.raises(InputError, match=message) as caught:
        data.load("mnist", root=tmp_path)
    said = str(caught.value)
    assert "pickle" not in said and "trust" not in said and "\n" not in said
    assert ("delete it" in said) == (make is pickled)


def test_a_file_without_permission_is_not_to_be_deleted(tmp_path, monkeypatch):
    store(tmp_path)

    def refuses(path, mode):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuses)  # root may read everything
    with pytest.raises(InputError, match="mnist.npz cannot be read: Permission denied"):
        data.load("mnist", root=tmp_path)


@pytest.mark.parametrize("name", ["mnist", "ham10000"])
def test_a_folder_that_cannot_be_looked_into_is_refused(tmp_path, torchvision, name):
    """Here by a name that no file system takes; without permission, the same."""
    with pytest.raises(InputError, match=f"{name} is .*x{{300}}") as caught:
        data.load(name, root=tmp_path / ("x" * 300))
    assert "\n" not in str(caught.value)


def test_a_refused_run_leaves_no_empty_folder(tmp_path, torchvision):
    def fails(root, train, download):
        raise RuntimeError("no network")

    torchvision.MNIST = fails
    mine = tmp_path / "mine"
    mine.mkdir()
    for root in (tmp_path / "new" / "data", mine / "data"):
        with pytest.raises(InputError, match="no network"):
            data.load("mnist", root=root)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["mine"]


def test_a_grey_file_is_not_taken_for_a_colour_set(tmp_path):
    data.write(tmp_path / "cifar10.npz", **arrays((32, 32)))
    with pytest.raises(InputError, match=r"x_train.*\(100, 32, 32\)"):
        data.load("cifar10", root=tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    data.write(folder / "mnist.npz", **arrays((3, 3), per_class=1))
    return folder / "mnist.npz", (folder / "mnist.npz").read_bytes()


@given(share=st.floats(0, 1, exclude_max=True))
def test_a_truncated_file_is_refused(whole, share):
    path, body = whole
    path.write_bytes(body[: int(share * len(body))])
    with pytest.raises(InputError, match="not a readable data file"):
        data.read(path)


@given(at=st.integers(0, 10**6), flip=st.integers(1, 255))
def test_a_damaged_file_loads_unharmed_or_is_refused(whole, at, flip):
    path, body = whole
    spoilt = bytearray(body)
    spoilt[at % len(body)] ^= flip
    path.write_bytes(spoilt)
    try:
        got = data.read(path)
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert (got.x_train == arrays((3, 3), per_class=1)["x_train"]).all()


def test_another_kind_of_file_is_refused(tmp_path):
    path = tmp_path / "mnist.npz"
    with path.open("wb") as file:
        np.save(file, np.zeros(3))  # one array, not an archive
    with pytest.raises(InputError, match="not a readable data file"):
        data.load("mnist", root=tmp_path)
    path.write_text("hello")
    with pytest.raises(InputError, match="not a readable data file"):
        data.load("mnist", root=tmp_path)


# -- downloads: torchvision's own classes are stood in for -------------------------

NCHW, NHW = (3, 32, 32), (28, 28)


class _Half:
    """Stand-in for a torchvision set that is there."""

    raw: tuple[int, ...] = NHW

    def __init__(self, root, part):
        self.root, n = root, 20 if part else 10
        rng = np.random.default_rng(n)
        self.data = rng.integers(0, 256, (n, *self.raw), dtype=np.uint8)
        self.answers = [i % 10 for i in range(n)]
        self.classes = [f"name {c}" for c in range(10)]


class _MNIST(_Half):
    def __init__(self, root, train=True, download=False):
        assert download
        super().__init__(root, train)
        self.data, self.targets = torch.tensor(self.data), torch.tensor(self.answers)


class _SVHN(_Half):
    raw = NCHW

    def __init__(self, root, split="train", download=False):
        assert download and split in ("train", "test")
        super().__init__(root, split == "train")
        self.labels = np.array(self.answers)
        del self.classes


STAND_INS = {
    "mnist": ("MNIST", _MNIST, (1, 28, 28)),
    "fashion_mnist": ("FashionMNIST", _MNIST, (1, 28, 28)),
    "svhn": ("SVHN", _SVHN, (3, 32, 32)),
}


@pytest.fixture
def torchvision(monkeypatch):
    """A torchvision without a network; returns its `datasets` to be changed."""
    fake = types.ModuleType("torchvision")
    kinds = {kind: stand_in for kind, stand_in, _ in STAND_INS.values()}
    fake.__dict__["datasets"] = types.SimpleNamespace(**kinds)
    monkeypatch.setitem(sys.modules, "torchvision", fake)
    return fake.__dict__["datasets"]


def test_every_downloadable_set_is_tested():
    archived = {name for name, source in SOURCES.items() if source.archives}
    assert {"letters", "digits", *STAND_INS, *archived} == set(data.NAMES)
    assert {n for n, s in SOURCES.items() if s.torchvision} == set(STAND_INS)


@pytest.mark.parametrize("name", STAND_INS)
def test_stand_ins_take_what_torchvision_takes(name):
    from torchvision import datasets

    kind, stand_in, _ = STAND_INS[name]
    real = inspect.signature(getattr(datasets, kind)).parameters
    assert set(inspect.signature(stand_in).parameters) <= set(real)


@pytest.mark.parametrize("name", STAND_INS)
def test_a_set_is_downloaded_once_into_one_file(tmp_path, torchvision, name):
    kind, stand_in, shape = STAND_INS[name]
    root = tmp_path / "new" / "folder"
    got = data.load(name, root=root)
    assert leftovers(root) == [f"{name}.npz"]
    delattr(torchvision, kind)  # a second download would fail
    again = data.load(name, root=root)
    assert got.shape == shape and (got.x_train == again.x_train).all()
    assert len(got.x_train) == 20 and len(got.x_test) == 10
    source = stand_in("", *([True] if name != "svhn" else ["train"]), download=True)
    for i in (0, 7):
        image = np.asarray(source.data[i])
        mine = got.x_train[i]
        assert (mine == (image.transpose(1, 2, 0) if name == "svhn" else image)).all()
    assert got.y_train.tolist() == source.answers
    named = name not in ("mnist", "svhn")
    assert got.classes == tuple(f"name {c}" if named else str(c) for c in range(10))


def test_a_failed_download_leaves_nothing_behind(tmp_path, torchvision):
    def fails(root, train, download):
        (np.zeros(3)).tofile(f"{root}/half.gz")
        raise RuntimeError("no network:\nurlopen error")

    torchvision.MNIST = fails
    with pytest.raises(
        InputError, match=r"could not be downloaded \(no network\)"
    ) as e:
        data.load("mnist", root=tmp_path)
    assert "\n" not in str(e.value) and "FEDLAB_DATA" in str(e.value)
    assert leftovers(tmp_path) == []


def test_a_root_that_is_a_file_is_refused(tmp_path, torchvision):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="mnist is not at .*file"):
        data.load("mnist", root=tmp_path / "file")


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "mnist.npz"
    data.write(path, **arrays(per_class=1))
    before = path.read_bytes()

    def half(file, **_):
        file.write(b"PK")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", half)
    with pytest.raises(InputError, match="mnist.npz cannot be written: disk full"):
        data.write(path, **arrays())
    assert path.read_bytes() == before and leftovers(tmp_path) == ["mnist.npz"]


def test_objects_are_never_written(tmp_path):
    with pytest.raises(ValueError, match="allow_pickle=False"):
        data.write(tmp_path / "mnist.npz", x=np.array([{}], dtype=object))
    assert leftovers(tmp_path) == []


# -- the built-in sets -------------------------------------------------------------


def test_letters_draws_training_and_test_apart():
    got = data.load("letters", n_train=300, n_test=200)
    assert got.shape == (1, 14, 14) and len(got.classes) == 10
    assert len(got.x_train) == 300 and len(got.x_test) == 200
    seen = {image.tobytes() for image in got.x_train}
    assert not seen & {image.tobytes() for image in got.x_test}
    next_seed = data.load("letters", n_train=300, n_test=200, seed=1)
    assert not seen & {image.tobytes() for image in next_seed.x_train}


def test_letters_refuses_what_it_cannot_draw():
    with pytest.raises(
        InputError, match="n_test must be a whole number from 1 to 1000000"
    ):
        data.load("letters", n_test=0)
    for noise in (-0.1, float("nan")):
        with pytest.raises(InputError, match="noise must be .* 0 or more"):
            data.load("letters", noise=noise)


def test_digits_are_scikit_learns():
    from sklearn.datasets import load_digits

    got = data.load("digits")
    pixels, labels = load_digits(return_X_y=True)
    assert got.shape == (1, 8, 8)
    assert len(got.x_test) == len(labels) // 5
    together = np.concatenate([got.x_train, got.x_test]).reshape(len(labels), -1)
    # 16 grey levels come back from the bytes, whatever the order
    back = np.rint(together / 255 * 16)
    assert sorted(map(tuple, back)) == sorted(map(tuple, pixels))
    assert (got.x_train != data.load("digits", seed=1).x_train).any()


@pytest.mark.parametrize("name", ["letters", "digits"])
def test_built_in_constants_about_standardise(name):
    got = data.load(name)
    seen = (got.x_train / 255 - got.mean[0]) / got.std[0]
    assert abs(seen.mean()) < 0.25 and 0.5 < seen.std() < 1.5


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes with names")
def test_a_pipe_is_no_data_file(tmp_path):
    os.mkfifo(tmp_path / "mnist.npz")
    with pytest.raises(InputError, match=r"mnist.npz is a pipe, not a file"):
        data.load("mnist", tmp_path)


def test_an_archive_that_unpacks_to_a_thousand_times_its_size_is_refused(tmp_path):
    """Before anything of it is unpacked."""
    np.savez_compressed(tmp_path / "mnist.npz", x_train=np.zeros(10**7, np.uint8))
    with pytest.raises(InputError, match=r"unpacks \d+ bytes to \d+: over 200 times"):
        data.load("mnist", tmp_path)
