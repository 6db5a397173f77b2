"""Archives as data sets are published in, made small, and a server that misbehaves."""

import hashlib
import io
import lzma
import sqlite3
import struct
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from PIL import Image

from fedlab_core import data
from fedlab_core.data import fetch, images, tables, writers
from fedlab_core.data.sources import SOURCES
from fedlab_core.errors import InputError

RNG = np.random.default_rng(0)
MADE = [name for name, source in SOURCES.items() if source.archives]


def leftovers(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def pixels(*shape):
    return RNG.integers(0, 256, shape, dtype=np.uint8)


def tar(members):
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w:gz") as packed:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            if isinstance(content, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, content
                packed.addfile(entry)
            else:
                entry.size = len(content)
                packed.addfile(entry, io.BytesIO(content))
    return body.getvalue()


def zipped(members):
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return body.getvalue()


def picture(array, kind):
    body = io.BytesIO()
    Image.fromarray(array).save(body, kind)
    return body.getvalue()


# -- the formats: bodies of the archives in order, and what should come out ------


def cifar(folder, names, train, test, labels, wanted):
    """Records of label bytes and red, green, blue planes; `wanted` label counts."""
    want: dict[str, Any] = {"classes": tuple(names[1])}
    members = {f"{folder}/{names[0]}": "\n".join([*names[1], ""]).encode()}
    for part, files in (("train", train), ("test", [test])):
        x, y = pixels(2 * len(files), 32, 32, 3), []
        for i, file in enumerate(files):
            rows = b""
            for image in x[2 * i : 2 * i + 2]:
                y.append(RNG.integers(0, 2, labels).tolist())
                planes = (image[:, :, c].tobytes() for c in range(3))
                rows += bytes(y[-1]) + b"".join(planes)
            members[f"{folder}/{file}"] = rows
        want[f"x_{part}"], want[f"y_{part}"] = x, [row[wanted] for row in y]
    return [tar(members)], want


def cifar10():
    train = [f"data_batch_{i}.bin" for i in (1, 2, 3, 4, 5)]
    names = ("batches.meta.txt", ["cat", "dog"])
    return cifar("cifar-10-batches-bin", names, train, "test_batch.bin", 1, 0)


def cifar100(which="fine", wanted=1):
    names = (f"{which}_label_names.txt", ["aquatic_mammals", "fish"])
    return cifar("cifar-100-binary", names, ["train.bin"], "test.bin", 2, wanted)


def cinic10():
    want: dict[str, Any] = {"classes": images.CINIC10}
    members = {"CINIC-10/README.md": b"hello"}
    for part in ("train", "valid", "test"):
        want[f"x_{part}"], want[f"y_{part}"] = [], []
        for c in (3, 0, 9):
            x = pixels(32, 32, 3)
            name = f"./{part}/{images.CINIC10[c]}/n0{c}_{part}.png"
            members[name] = picture(x, "PNG")
            want[f"x_{part}"].append(x)
            want[f"y_{part}"].append(c)
    return [tar(members)], want


def ham10000(each=33):
    """One colour an image, so that neither JPEG nor a smaller size changes it much.

    Class 0 has three images of one lesion; all others are alone in theirs.
    """
    sites = ("rosendahl", "vidir_modern")
    table = ["lesion_id,image_id,dx,dx_type,age,sex,localization,dataset"]
    parts, greys = ({}, {}), {}
    for c, name in enumerate(images.HAM10000):
        for i in range(each):
            image, lesion = f"ISIC_{c}{i:03}", f"HAM_{c}_{max(i, 2) if c == 0 else i}"
            greys[image] = (30 * c + i, c, sites[i % 2])
            flat = np.full((9, 12, 3), greys[image][0], np.uint8)
            parts[i % 2][f"{image}.jpg"] = picture(flat, "JPEG")
            table.append(f"{lesion},{image},{name},histo,50.0,male,back,{sites[i % 2]}")
    bodies = [zipped(part) for part in parts]
    return [*bodies, "\n".join(table).encode()], {"classes": images.HAM10000}


def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def serialised(x, label, packed=True):
    """A tf.train.Example by the book: features { name: list of floats or integers }."""
    floats = field(1, struct.pack(f"<{x.size}f", *x.ravel().tolist()))
    integers = field(1, varint(label)) if packed else varint(1 << 3) + varint(label)
    entries = ((b"label", field(3, integers)), (b"pixels", field(2, floats)))
    return field(1, b"".join(field(1, field(1, k) + field(2, v)) for k, v in entries))


def femnist(tmp="file:femnist?mode=memory"):
    database = sqlite3.connect(tmp, uri=True)
    database.execute("CREATE TABLE client_metadata (client_id, split_name, num)")
    database.execute(
        "CREATE TABLE examples (split_name, client_id, serialized_example_proto)"
    )
    want: dict[str, Any] = {"classes": writers.CLASSES}
    for split in ("all_train", "all_test", "digits_only_train"):
        part = split.removeprefix("all_")
        for key in ("x", "y", "owners"):
            want[f"{key}_{part}"] = []
        for owner, writer in ((1, "f10_02"), (0, "f03_11"), (1, "f10_02")):
            x, y = pixels(28, 28), int(RNG.integers(62))
            row = (split, writer, serialised(x / 255, y, packed=bool(y % 2)))
            database.execute("INSERT INTO examples VALUES (?, ?, ?)", row)
            row = (writer, split, 2)
            database.execute("INSERT INTO client_metadata VALUES (?, ?, ?)", row)
            for key, value in (("x", x), ("y", y), ("owners", owner)):
                want[f"{key}_{part}"].append(value)
    database.commit()
    body = database.serialize()
    database.close()
    return [lzma.compress(body, format=lzma.FORMAT_ALONE)], want


def sent140():
    """Two users of ten tweets and one of nine; every tweet of a user has one word more
    of its own, so that it is known again."""
    lines = ['"0","1","Mon","NO_QUERY","ann","Caf\xe9 &amp; cr\xe8me"']
    for i in range(1, 29):
        user = ("ann", "bob", "cyd")[i % 3]
        text = f"Hello, @{user} isn't it fun " + "so " * i
        quoted = text.replace('"', '""')
        lines.append(f'"{4 * (i % 2)}","{i}","Mon","NO_QUERY","{user}","{quoted}"')
    body = "\n".join(lines).encode("latin-1")
    name = "training.1600000.processed.noemoticon.csv"
    other = {"testdata.manual.2009.06.14.csv": b'"2","3","x","y","z","neutral"'}
    return [zipped({**other, name: body})], {"classes": ("negative", "positive")}


def ag_news():
    train = '"3","Wall St. Bears","Bears claw\\back, #39;black#39;"\n"1","Talks","a"\n'
    test = '"4","Bears","unseen &lt;b&gt; talks"\n'
    want: dict[str, Any] = {"classes": ("World", "Sports", "Business", "Sci/Tech")}
    want |= {"y_train": [2, 0], "y_test": [3]}
    # by hand: "bears" twice, then a, back, black, claw, st, talks, wall by the alphabet
    want["vocabulary"] = (
        "",
        "<unknown>",
        *"bears a back black claw st talks wall".split(),
    )
    rows = [[9, 7, 2, 2, 6, 4, 5], [8, 3], [2, 1, 1, 8]]  # unseen and b are unknown
    padded = [row + [0] * (64 - len(row)) for row in rows]
    want |= {"x_train": padded[:2], "x_test": padded[2:]}
    return [train.encode(), test.encode()], want


def facebook():
    members: dict[str, str] = {}
    want: dict[str, Any] = {"classes": tables.FACEBOOK}
    files = ("Training/Features_Variant_1.csv", "Testing/Features_TestSet.csv")
    for part, file in zip(("train", "test"), files, strict=True):
        x = RNG.integers(-9, 9, (6, 53)) / 4
        targets = [0, 1, 10, 11, 100, 101]
        rows = (",".join(map(str, [*r, t])) for r, t in zip(x, targets, strict=True))
        members[f"Dataset/{file}"] = "\n".join(rows)
        want |= {f"x_{part}": x, f"y_{part}": [0, 1, 1, 2, 2, 3]}
        want[f"targets_{part}"] = targets
    return [zipped(members)], want


FORMATS = {
    "cifar10": cifar10,
    "cifar100": cifar100,
    "cifar100_coarse": lambda: cifar100("coarse", 0),
    "cinic10": cinic10,
    "ham10000": ham10000,
    "femnist": femnist,
    "sent140": sent140,
    "ag_news": ag_news,
    "facebook": facebook,
}
MADE_BODIES = {name: make() for name, make in FORMATS.items()}


# -- a server that can be told to misbehave ----------------------------------------


class Server:
    """Bodies by path; `plan` says, request after request, how each is answered."""

    def __init__(self):
        self.bodies: dict[str, bytes] = {}
        self.plan: list[str] = []
        self.asked: list[tuple[str, str | None]] = []
        self.offer: Callable[..., None] = lambda *_: None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, format, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self.http.server_port}"

    def answer(self, call):
        span = call.headers.get("Range")
        self.asked.append((call.path, span))
        how = self.plan.pop(0) if self.plan else "whole"
        body = self.bodies.get(call.path)
        if body is None:
            return call.send_error(404)
        first = int(span.split("=")[1][:-1]) if span and how != "begins again" else 0
        call.send_response(206 if first else 200)
        if first:
            call.send_header("Content-Range", f"bytes {first}-{len(body) - 1}/*")
        if how != "says no length":
            call.send_header("Content-Length", str(len(body) - first))
        call.end_headers()
        last = first + (len(body) - first) // 2 if how == "breaks" else len(body)
        call.wfile.write(body[first:last])


def serving() -> Iterator[Server]:
    """A server, for as long as it is needed."""
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.http.shutdown()
    server.http.server_close()
    thread.join()


def offering(running: Server, monkeypatch) -> Server:
    """The server, and the table of sources pointing to it as `offer` says."""
    running.bodies, running.plan, running.asked = {}, [], []
    monkeypatch.setattr(fetch, "PAUSE", 0)
    monkeypatch.setattr(fetch, "TIMEOUT", 5)
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    def offer(name, bodies, **changed):
        """The set's archives are these bodies; kept where they were by hand."""
        archives = []
        for archive, body in zip(SOURCES[name].archives, bodies, strict=True):
            running.bodies[f"/{archive.file}"] = body
            new: dict[str, Any] = {"size": len(body) if archive.size else None}
            for kind in ("md5", "sha256"):
                known = getattr(archive, kind) and hashlib.new(kind, body).hexdigest()
                new[kind] = known
            if archive.urls:
                new["urls"] = (f"{running.root}/{archive.file}",)
            archives.append(replace(archive, **{**new, **changed}))
        source = replace(SOURCES[name], archives=tuple(archives))
        monkeypatch.setitem(SOURCES, name, source)

    running.offer = offer
    return running


def put(name, bodies, root):
    """Put archives where a person would."""
    shelf = root / "archives"
    shelf.mkdir(parents=True, exist_ok=True)
    for archive, body in zip(SOURCES[name].archives, bodies, strict=True):
        (shelf / archive.file).write_bytes(body)


def refused(name, root, match):
    with pytest.raises(InputError, match=match) as caught:
        data.load(name, root=root)
    assert "\n" not in str(caught.value)
