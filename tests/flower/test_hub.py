"""Our splits as Flower Datasets' partitioners, theirs as ours, and its data sets."""

import sys
from typing import Any

import numpy as np
import pytest

import fedlab_core as fl
from fedlab_core import InputError
from fedlab_flower import hub
from tests.flower.playing import DATA, WHO


class Rows:
    """As much of a data set of Hugging Face as a split needs: columns, and `select`."""

    features = {"label": type("Names", (), {"names": list("ABCDEFGHIJ")})()}

    def __init__(self, columns: dict[str, np.ndarray]):
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns["label"])

    def __getitem__(self, name: str) -> list:
        return list(self.columns[name])

    def add_column(self, name: str, values) -> "Rows":
        return Rows(self.columns | {name: np.asarray(values)})

    def select(self, places) -> "Rows":
        return Rows({n: v[np.asarray(places)] for n, v in self.columns.items()})


def rows() -> Rows:
    return Rows({"image": DATA.x_train, "label": DATA.y_train})


class EveryThird:
    """A partitioner as Flower Datasets has them: it is given its data set later."""

    num_partitions = 3
    dataset: Rows

    def load_partition(self, partition_id: int) -> Rows:
        return self.dataset.select(range(partition_id, len(self.dataset), 3))


def test_theirs_as_ours():
    got = hub.as_partition(EveryThird(), rows())
    assert [held.tolist() for held in got.indices] == [
        list(range(k, 60, 3)) for k in range(3)
    ]
    assert got.asked == {"partitioner": "EveryThird"}


def test_a_data_set_of_theirs_makes_the_same_world():
    own = hub.as_dataset("theirs", rows(), rows())
    assert own.classes == tuple("ABCDEFGHIJ")
    assert (own.x_train == DATA.x_train).all() and (own.y_train == DATA.y_train).all()
    assert own.mean == pytest.approx((DATA.x_train.mean() / 255,))
    assert len(fl.world(own, WHO, fl.build("mlp", own.shape, 10))) == 3


class Given:
    """A Partitioner of Flower Datasets, as far as one of ours builds on it."""

    dataset: Rows


@pytest.fixture
def flower_datasets(monkeypatch):
    module = type(sys)("flwr_datasets.partitioner")
    setattr(module, "Partitioner", Given)  # noqa: B010
    monkeypatch.setitem(sys.modules, "flwr_datasets", type(sys)("flwr_datasets"))
    monkeypatch.setitem(sys.modules, "flwr_datasets.partitioner", module)


def test_ours_as_theirs(flower_datasets):
    made: Any = hub.as_partitioner(WHO)
    assert made.num_partitions == 3
    made.dataset = rows()
    assert Given in type(made).__mro__
    for k, held in enumerate(WHO.indices):
        assert made.load_partition(k)["label"] == DATA.y_train[held].tolist()
    with pytest.raises(InputError, match="partition_id 3 must be 0 to 2"):
        made.load_partition(3)
    again = hub.as_partition(hub.as_partitioner(WHO), rows())
    assert all((a == b).all() for a, b in zip(again.indices, WHO.indices, strict=True))


def test_without_flower_datasets_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "flwr_datasets", None)
    monkeypatch.setitem(sys.modules, "flwr_datasets.partitioner", None)
    with pytest.raises(InputError, match="pip install flwr-datasets"):
        hub.as_partitioner(WHO)
