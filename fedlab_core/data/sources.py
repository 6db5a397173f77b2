"""Sources of the data sets: archives, checksums, and the numbers that normalise them.

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
    """Origin of a data set, and the kind of samples in its file.

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
_HAM10000_MD5 = (
    "4639bfa73ab251610530a97c898e6e46",
    "da43d6cc50f6613013be07e8986b384b",
    "8f85fb1aa29d80a2797247e434deb79d",
)
_TERMS = "its terms, CC BY-NC 4.0, are for you to accept"
_HAM10000 = tuple(
    Archive(f"HAM10000_{file}", size=size, md5=md5, page=_HARVARD + page)
    for page, file, size, md5 in (
        ("3172585", "images_part_1.zip", 1_366_522_108, _HAM10000_MD5[0]),
        ("3172584", "images_part_2.zip", 1_403_566_547, _HAM10000_MD5[1]),
        ("4338392?format=original", "metadata.csv", 690_218, _HAM10000_MD5[2]),
    )
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
_GITHUB = "https://raw.githubusercontent.com/"
_AG = f"{_GITHUB}mhjabreel/CharCnn_Keras/master/data/ag_news_csv/"
_AG_MD5 = ("b1a00f826fdfbd249f79597b59e1dc12", "d52ea96a97a2d943681189a97654912d")
_AG_NEWS = (
    Archive("ag_news_train.csv", (f"{_AG}train.csv",), md5=_AG_MD5[0]),
    Archive("ag_news_test.csv", (f"{_AG}test.csv",), md5=_AG_MD5[1]),
)
_IRVINE = "https://archive.ics.uci.edu/static/public/363/"
_FACEBOOK = Archive(
    "facebook_comment_volume.zip", (f"{_IRVINE}facebook+comment+volume+dataset.zip",)
)

_CIFAR10_SCALE = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
_CIFAR100_SCALE = (0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)
_CINIC10_SCALE = (0.4789, 0.4723, 0.4305), (0.2421, 0.2383, 0.2587)
_HAM10000_SCALE = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_SVHN_SCALE = (0.4377, 0.4438, 0.4728), (0.1980, 0.2010, 0.1970)


def _images(
    scale: tuple[tuple, tuple], convert: Callable, *archives: Archive, by_hand=""
) -> Source:
    return Source("images", *scale, archives=archives, convert=convert, by_hand=by_hand)


# Fashion-MNIST: .5/.5, CINIC-10 and HAM10000 too as in FedDisco's experiments;
# FEMNIST as usually quoted; the other images: their training sets' own.
SOURCES: dict[str, Source] = {
    "mnist": Source("images", (0.1307,), (0.3081,), torchvision="MNIST"),
    "fashion_mnist": Source("images", (0.5,), (0.5,), torchvision="FashionMNIST"),
    "cifar10": _images(_CIFAR10_SCALE, images.cifar10, _CIFAR10),
    "cifar100": _images(_CIFAR100_SCALE, images.cifar100, _CIFAR100),
    "cifar100_coarse": _images(_CIFAR100_SCALE, images.cifar100_coarse, _CIFAR100),
    "svhn": Source("images", *_SVHN_SCALE, torchvision="SVHN"),
    "cinic10": _images(_CINIC10_SCALE, images.cinic10, _CINIC10),
    "ham10000": _images(_HAM10000_SCALE, images.ham10000, *_HAM10000, by_hand=_TERMS),
    "femnist": _images(((0.9637,), (0.1591,)), writers.femnist, _FEMNIST),
    "sent140": Source("words", archives=(_SENT140,), convert=tables.sent140),
    "ag_news": Source("words", archives=_AG_NEWS, convert=tables.ag_news),
    "facebook": Source("numbers", archives=(_FACEBOOK,), convert=tables.facebook),
}
