"""Where every data set comes from, how it is known, and how it is normalised.

Checksums are the publishers' own (CIFAR, HAM10000), or those that others wrote down
for the same file (CINIC-10, Federated EMNIST, Sentiment140, AG News). UCI publishes
none for its archive: see `fedlab_core.data.fetch` for what is done instead.

The data are not ours to license: CINIC-10 is CC BY 4.0, HAM10000 CC BY-NC 4.0; for the
others, look at what their publishers say. Federated EMNIST is TensorFlow Federated's
version, with the 3,400 writers of FedImpro's experiments. GloVe vectors, which rFedAvg
starts its words from, are not fetched.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from fedlab_core.data import images, tables, writers
from fedlab_core.data.fetch import Archive


@dataclass(frozen=True)
class Source:
    """How a set gets here, and what its file holds.

    It is made by torchvision, or by `convert` from archives. `by_hand` says why a
    person has to fetch those.
    """

    kind: Literal["images", "words", "numbers"]
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    torchvision: str = ""
    archives: tuple[Archive, ...] = ()
    convert: Callable[[Sequence[Path], Path], dict[str, np.ndarray]] | None = None
    by_hand: str = ""


_TORONTO = "https://www.cs.toronto.edu/~kriz/"
_CIFAR10 = Archive(
    "cifar-10-binary.tar.gz",
    (f"{_TORONTO}cifar-10-binary.tar.gz",),
    size=170_052_171,
    md5="c32a1d4ab5d03f1284b67883e8d87530",
    sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)
_CIFAR100 = Archive(
    "cifar-100-binary.tar.gz",
    (f"{_TORONTO}cifar-100-binary.tar.gz",),
    size=168_513_733,
    md5="03b5dce01913d631647c71ecec9e9cb8",
    sha256="58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
)
_EDINBURGH = "https://datashare.ed.ac.uk/"
_CINIC10 = Archive(
    "CINIC-10.tar.gz",
    (
        f"{_EDINBURGH}bitstream/handle/10283/3192/CINIC-10.tar.gz",
        f"{_EDINBURGH}server/api/core/bitstreams/"
        "e8e186cc-2688-48f1-aa5a-3fda1a43f8b6/content",
    ),
    size=687_544_992,
    md5="6ee4d0c996905fe93221de577967a372",
)
_HARVARD = "https://dataverse.harvard.edu/api/access/datafile/"
_HAM10000 = (
    Archive(
        "HAM10000_images_part_1.zip",
        size=1_366_522_108,
        md5="4639bfa73ab251610530a97c898e6e46",
        page=f"{_HARVARD}3172585",
    ),
    Archive(
        "HAM10000_images_part_2.zip",
        size=1_403_566_547,
        md5="da43d6cc50f6613013be07e8986b384b",
        page=f"{_HARVARD}3172584",
    ),
    Archive(
        "HAM10000_metadata.csv",
        size=690_218,
        md5="8f85fb1aa29d80a2797247e434deb79d",
        page=f"{_HARVARD}4338392?format=original",
    ),
)
_FEMNIST = Archive(
    "emnist_all.sqlite.lzma",
    ("https://storage.googleapis.com/tff-datasets-public/emnist_all.sqlite.lzma",),
    size=170_507_172,
    sha256="c3aaf91b4cf4e69d53d81627ad119eccdc878ff906f68e66063ff10f67faad48",
)
_SENT140 = Archive(
    "trainingandtestdata.zip",
    (
        "https://cs.stanford.edu/people/alecmgo/trainingandtestdata.zip",
        "https://zenodo.org/records/11116734/files/trainingandtestdata.zip?download=1",
    ),
    size=81_363_704,
    md5="1647eb110dd2492512e27b9a70d5d1bc",
    sha256="004a3772c8a7ff9bbfeb875880f47f0679d93fc63e5cf9cff72d54a8a6162e57",
)
_AG = "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/"
_AG_NEWS = (
    Archive(
        "ag_news_train.csv",
        (f"{_AG}ag_news_csv/train.csv",),
        md5="b1a00f826fdfbd249f79597b59e1dc12",
    ),
    Archive(
        "ag_news_test.csv",
        (f"{_AG}ag_news_csv/test.csv",),
        md5="d52ea96a97a2d943681189a97654912d",
    ),
)
_FACEBOOK = Archive(
    "facebook_comment_volume.zip",
    (
        "https://archive.ics.uci.edu/static/public/363/"
        "facebook+comment+volume+dataset.zip",
    ),
)

_CIFAR100_SCALE = ((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762))

# Fashion-MNIST: .5/.5, CINIC-10 and HAM10000 too as in FedDisco's experiments;
# FEMNIST as usually quoted; the other images: their training sets' own.
SOURCES: dict[str, Source] = {
    "mnist": Source("images", (0.1307,), (0.3081,), torchvision="MNIST"),
    "fashion_mnist": Source("images", (0.5,), (0.5,), torchvision="FashionMNIST"),
    "cifar10": Source(
        "images",
        (0.4914, 0.4822, 0.4465),
        (0.2470, 0.2435, 0.2616),
        archives=(_CIFAR10,),
        convert=images.cifar10,
    ),
    "cifar100": Source(
        "images", *_CIFAR100_SCALE, archives=(_CIFAR100,), convert=images.cifar100
    ),
    "cifar100_coarse": Source(
        "images",
        *_CIFAR100_SCALE,
        archives=(_CIFAR100,),
        convert=images.cifar100_coarse,
    ),
    "svhn": Source(
        "images", (0.4377, 0.4438, 0.4728), (0.1980, 0.2010, 0.1970), torchvision="SVHN"
    ),
    "cinic10": Source(
        "images",
        (0.4789, 0.4723, 0.4305),
        (0.2421, 0.2383, 0.2587),
        archives=(_CINIC10,),
        convert=images.cinic10,
    ),
    "ham10000": Source(
        "images",
        (0.485, 0.456, 0.406),
        (0.229, 0.224, 0.225),
        archives=_HAM10000,
        convert=images.ham10000,
        by_hand="its terms, CC BY-NC 4.0, are for you to accept",
    ),
    "femnist": Source(
        "images", (0.9637,), (0.1591,), archives=(_FEMNIST,), convert=writers.femnist
    ),
    "sent140": Source("words", archives=(_SENT140,), convert=tables.sent140),
    "ag_news": Source("words", archives=_AG_NEWS, convert=tables.ag_news),
    "facebook": Source("numbers", archives=(_FACEBOOK,), convert=tables.facebook),
}
