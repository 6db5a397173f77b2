"""Splits and data sets both ways between ours and Flower Datasets, which is optional.

Flower Datasets splits data sets of Hugging Face. `pip install flwr-datasets` brings
both; nothing here is imported before it is called.
"""

from typing import Any

import numpy as np

from fedlab_core.arguments import checked
from fedlab_core.data import Dataset
from fedlab_core.errors import InputError, require
from fedlab_core.partition import Partition

ROW = "fedlab row"  # the column that says which sample a row was


@checked
def as_partitioner(partition: Partition) -> Any:
    """Our split as a `Partitioner` of Flower Datasets."""
    try:
        from flwr_datasets.partitioner import Partitioner  # pyright: ignore
    except ImportError:
        raise InputError("as_partitioner: pip install flwr-datasets") from None

    class Ours(Partitioner):
        """One split that is known already, whatever it was made by."""

        @property
        def num_partitions(self) -> int:
            """How many clients there are."""
            return len(partition)

        def load_partition(self, partition_id: int) -> Any:
            """The rows of one client."""
            clients = len(partition)
            known = f"partition_id {partition_id} must be 0 to {clients - 1}"
            require(0 <= partition_id < clients, known)
            partition.within(len(self.dataset))
            return self.dataset.select(partition.indices[partition_id])

    return Ours()


@checked
def as_partition(partitioner: Any, rows: Any) -> Partition:
    """The split that a `Partitioner` without a data set makes of these rows."""
    partitioner.dataset = rows.add_column(ROW, np.arange(len(rows)))
    clients = range(partitioner.num_partitions)
    held = [np.asarray(partitioner.load_partition(k)[ROW], np.int64) for k in clients]
    asked = {"partitioner": type(partitioner).__name__}
    return Partition("flower-datasets", asked, tuple(np.sort(own) for own in held))


@checked
def as_dataset(
    name: str, train: Any, test: Any, x: str = "image", y: str = "label"
) -> Dataset:
    """A data set of images and labels, from Hugging Face's columns `x` and `y`.

    Channels are normalised by the mean and deviation of the training images.
    """
    images = [np.stack([np.asarray(i) for i in rows[x]]) for rows in (train, test)]
    labels = [np.asarray(rows[y], np.int64) for rows in (train, test)]
    kind = getattr(train.features[y], "names", None)
    most = 1 + max(int(own.max(initial=0)) for own in labels)
    classes = tuple(map(str, kind or range(most)))
    axes = tuple(range(min(images[0].ndim, 3)))
    shares = images[0] / 255
    mean, std = (np.atleast_1d(of(axis=axes)) for of in (shares.mean, shares.std))
    return Dataset(
        name,
        images[0],
        labels[0],
        images[1],
        labels[1],
        classes,
        tuple(mean.tolist()),
        tuple(np.maximum(std, 1e-6).tolist()),
    )
