"""From published archives of images to the arrays of a data file.

Every function here takes the archives' paths in the order in which `sources` lists
them, and a scratch folder. Nothing is unpickled: CIFAR is read from its binary version.
"""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from fedlab_core.data.unpack import tar_members, zip_members
from fedlab_core.errors import InputError, require

Arrays = dict[str, np.ndarray]
Paths = Sequence[Path]


def _decode(file: IO[bytes], kind: str, size: int | None = None) -> np.ndarray:
    """Pixels of an image as RGB, by the one decoder that should be needed."""
    from PIL import Image  # by nobody but who reads an archive

    image = Image.open(io.BytesIO(file.read()), formats=[kind]).convert("RGB")
    if size is not None:
        image = image.resize((size, size), Image.Resampling.BILINEAR)
    return np.asarray(image)


def _cifar(
    archive: Path, train: Sequence[str], test: str, names: str, label: int, width: int
) -> Arrays:
    """Records of `width` labels, of which one is wanted, and 3 x 32 x 32 bytes."""
    want = {*train, test, names}
    members = tar_members(archive, lambda path: path.name in want)
    found = {path.name: file.read() for path, file in members}
    missing = ", ".join(sorted(want - set(found)))
    require(not missing, f"{archive.name} lacks {missing}")
    arrays: Arrays = {"classes": np.array(found[names].decode().split())}
    for part, files in (("train", train), ("test", (test,))):
        body = np.frombuffer(b"".join(found[f] for f in files), dtype=np.uint8)
        whole = len(body) % (width + 3072) == 0
        require(whole, f"{archive.name}: {files[0]} is no list of CIFAR's records")
        rows = body.reshape(-1, width + 3072)
        x = rows[:, width:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        arrays[f"x_{part}"] = np.ascontiguousarray(x)
        arrays[f"y_{part}"] = rows[:, label].copy()
    return arrays


def cifar10(paths: Paths, scratch: Path) -> Arrays:
    """CIFAR-10 in its binary version: one label byte, 3,072 of pixels."""
    train = [f"data_batch_{i}.bin" for i in range(1, 6)]
    return _cifar(paths[0], train, "test_batch.bin", "batches.meta.txt", 0, 1)


def cifar100(paths: Paths, scratch: Path) -> Arrays:
    """CIFAR-100 with its 100 fine labels."""
    return _cifar(paths[0], ["train.bin"], "test.bin", "fine_label_names.txt", 1, 2)


def cifar100_coarse(paths: Paths, scratch: Path) -> Arrays:
    """CIFAR-100 with its 20 coarse labels, as FedCollab's concept shift wants it."""
    return _cifar(paths[0], ["train.bin"], "test.bin", "coarse_label_names.txt", 0, 2)


CINIC10 = tuple("airplane automobile bird cat deer dog frog horse ship truck".split())


def cinic10(paths: Paths, scratch: Path) -> Arrays:
    """CINIC-10's 90,000 training and 90,000 test images; `valid` is left out.

    FedDisco tests on a sample of the test images that is not published.
    """
    pixels = {"train": bytearray(), "test": bytearray()}
    labels: dict[str, list[int]] = {"train": [], "test": []}

    def wanted(path):
        known = len(path.parts) >= 3 and path.parts[-3] in pixels
        return known and path.suffix == ".png" and path.name[0] != "."

    for path, file in tar_members(paths[0], wanted):
        part, name = path.parts[-3:-1]
        require(name in CINIC10, f"{paths[0].name}: {path} is of no known class")
        image = _decode(file, "PNG")
        small = image.shape == (32, 32, 3)
        require(small, f"{paths[0].name}: {path} is not 32 x 32")
        pixels[part] += image.tobytes()
        labels[part].append(CINIC10.index(name))
    arrays: Arrays = {"classes": np.array(CINIC10)}
    for part in pixels:
        require(bool(labels[part]), f"{paths[0].name} has no {part} images")
        bytes_ = np.frombuffer(pixels[part], dtype=np.uint8)
        arrays[f"x_{part}"] = bytes_.reshape(-1, 32, 32, 3)
        arrays[f"y_{part}"] = np.array(labels[part], dtype=np.uint8)
    return arrays


HAM10000 = ("akiec", "bcc", "bkl", "df", "mel", "nv", "vasc")
HELD_OUT, HAM_SIZE = 30, 56


def ham10000(paths: Paths, scratch: Path) -> Arrays:
    """HAM10000, made 56 x 56 as in FedDisco's code; 30 images a class are the test set.

    The classes are actinic keratosis, basal cell carcinoma, benign keratosis,
    dermatofibroma, melanoma, naevus and vascular lesion. The owners are the four
    collections that the images come from. Paper: FedDisco App. B.1.2 (30 images a
    class). Which 30 is not published: see `held_out`.
    """
    *zips, table = paths
    with table.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    asked = {"image_id", "lesion_id", "dx", "dataset"}
    lacks = ", ".join(sorted(asked - set(rows[0] if rows else ())))
    require(not lacks, f"{table.name} lacks {lacks}")
    odd = {row["dx"] for row in rows} - set(HAM10000)
    require(not odd, f"{table.name}: {', '.join(sorted(map(str, odd)))} is no class")
    place = {row["image_id"]: i for i, row in enumerate(rows)}
    x = np.zeros((len(rows), HAM_SIZE, HAM_SIZE, 3), dtype=np.uint8)
    missing = set(place)
    for archive in zips:
        for path, file in zip_members(archive, lambda path: path.stem in place):
            x[place[path.stem]] = _decode(file, "JPEG", HAM_SIZE)
            missing.discard(path.stem)
    if missing:
        raise InputError(f"{len(missing)} images are missing, {min(missing)} is one")
    y = np.array([HAM10000.index(row["dx"]) for row in rows], dtype=np.uint8)
    _, lesions = np.unique([row["lesion_id"] for row in rows], return_inverse=True)
    _, owners = np.unique([row["dataset"] for row in rows], return_inverse=True)
    train, test = held_out(y, lesions, HELD_OUT)
    arrays: Arrays = {"classes": np.array(HAM10000)}
    for part, which in (("train", train), ("test", test)):
        arrays[f"x_{part}"], arrays[f"y_{part}"] = x[which], y[which]
        arrays[f"owners_{part}"] = owners[which]
    return arrays


def held_out(
    y: np.ndarray, groups: np.ndarray, each: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Places of training and test samples: `each` of every class, drawn for the test.

    Samples that are alone in their group (the only image of a lesion) are drawn first,
    and whatever shares a group with a test sample is left out of both, so that nothing
    tested was seen.
    """
    rng = np.random.default_rng(seed)
    size = np.bincount(groups)[groups]
    test = []
    for c in np.unique(y):
        mine = rng.permutation(np.flatnonzero(y == c))
        enough = len(mine) > each
        require(enough, f"class {c} has {len(mine)} samples, {each} are to be held out")
        test.append(mine[np.argsort(size[mine], kind="stable")][:each])
    chosen = np.sort(np.concatenate(test))
    return np.flatnonzero(~np.isin(groups, groups[chosen])), chosen
