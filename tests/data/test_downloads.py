"""Downloads that break, cheat or never end, and archives put there by hand."""

import hashlib
import io

import numpy as np
import pytest

from fedlab_core import data
from fedlab_core.data import fetch, images
from fedlab_core.data.sources import SOURCES
from tests.archive_cases import (
    MADE_BODIES,
    facebook,
    leftovers,
    offering,
    put,
    refused,
    serving,
    zipped,
)


@pytest.fixture(scope="module")
def running():
    yield from serving()


@pytest.fixture
def server(running, monkeypatch):
    return offering(running, monkeypatch)


# -- downloads ---------------------------------------------------------------------


def test_published_archives_are_known_by_a_checksum_and_fetched_safely():
    for name, source in SOURCES.items():
        for archive in source.archives:
            known = bool(archive.md5 or archive.sha256)
            assert known == (name != "facebook"), name
            assert bool(archive.urls) != bool(source.by_hand), name
            for url in (*archive.urls, *filter(None, [archive.page])):
                assert url.startswith("https://"), url
            for kind, length in (("md5", 32), ("sha256", 64)):
                text = getattr(archive, kind)
                assert text is None or (len(text) == length and int(text, 16))


@pytest.mark.parametrize(
    "plan, spans",
    [
        (["whole"], [None]),
        (["says no length"], [None]),
        (["breaks", "whole"], [None, "half"]),
        (["breaks", "begins again"], [None, "half"]),
        (["breaks", "breaks", "whole"], [None, "half", "three quarters"]),
    ],
)
def test_a_connection_that_breaks_is_taken_up_again(server, tmp_path, plan, spans):
    bodies, want = MADE_BODIES["cifar10"]
    server.offer("cifar10", bodies)
    server.plan = list(plan)
    got = data.load("cifar10", root=tmp_path)
    assert np.array_equal(got.x_train, want["x_train"])
    half = len(bodies[0]) // 2
    quarter = half + (len(bodies[0]) - half) // 2
    told = {"half": f"bytes={half}-", "three quarters": f"bytes={quarter}-", None: None}
    assert [span for _, span in server.asked] == [told[span] for span in spans]
    assert leftovers(tmp_path) == ["cifar10.npz"]


def test_a_server_that_never_finishes_is_given_up(server, tmp_path):
    server.offer("cifar10", MADE_BODIES["cifar10"][0])
    server.plan = ["breaks"] * 20
    refused("cifar10", tmp_path, r"could not be downloaded \(http.*ended after \d+ of")
    assert len(server.asked) == fetch.TRIES and leftovers(tmp_path) == []


def test_a_missing_file_is_not_asked_for_twice(server, tmp_path):
    server.offer("cifar10", MADE_BODIES["cifar10"][0])
    server.bodies = {}
    refused("cifar10", tmp_path, "404.*archives")
    assert len(server.asked) == 1 and leftovers(tmp_path) == []


@pytest.mark.parametrize("kind", ["md5", "sha256"])
def test_another_checksum_is_refused(server, tmp_path, kind):
    server.offer("cifar10", MADE_BODIES["cifar10"][0], **{kind: "0" * 32})
    refused("cifar10", tmp_path, f"not the published file \\({kind} .*, not 0000")
    assert leftovers(tmp_path) == []


def test_the_next_address_is_tried_when_one_is_dead_or_wrong(server, tmp_path):
    bodies, want = MADE_BODIES["cifar10"]
    server.offer("cifar10", bodies)
    (good,) = SOURCES["cifar10"].archives[0].urls
    server.bodies["/page"] = b"<html>moved</html>"
    urls = (f"{server.root}/gone", f"{server.root}/page", good)
    server.offer("cifar10", bodies, urls=urls)
    assert np.array_equal(data.load("cifar10", tmp_path).x_train, want["x_train"])
    assert [path for path, _ in server.asked] == [
        "/gone",
        "/page",
        good[-len("/cifar-10-binary.tar.gz") :],
    ]


@pytest.mark.parametrize("plan", ["whole", "says no length"])
def test_more_bytes_than_published_are_not_taken(server, tmp_path, plan):
    server.offer("cifar10", MADE_BODIES["cifar10"][0], size=100)
    server.plan = [plan]
    refused("cifar10", tmp_path, "100 expected|more than 100 bytes")
    assert len(server.asked) == 1 and leftovers(tmp_path) == []


def test_a_program_that_is_stopped_leaves_nothing_half_written(
    server, tmp_path, monkeypatch
):
    server.offer("cifar10", MADE_BODIES["cifar10"][0])
    during = []

    class Stopped(fetch.tqdm):
        def update(self, n=1):
            during.extend(leftovers(tmp_path))
            raise KeyboardInterrupt

    monkeypatch.setattr(fetch, "tqdm", Stopped)
    with pytest.raises(KeyboardInterrupt):
        data.load("cifar10", root=tmp_path)
    assert any(p.endswith("cifar-10-binary.tar.gz.part") for p in during)
    assert leftovers(tmp_path) == []


def test_the_progress_goes_up_to_the_size(server, tmp_path, monkeypatch):
    bodies, _ = MADE_BODIES["cifar10"]
    server.offer("cifar10", bodies)
    server.plan = ["breaks", "whole"]
    bars = []

    class Bar(fetch.tqdm):
        def __init__(self, **options):
            super().__init__(**{**options, "disable": False, "file": io.StringIO()})
            bars.append(self)

    monkeypatch.setattr(fetch, "tqdm", Bar)
    data.load("cifar10", root=tmp_path)
    half, whole = len(bodies[0]) // 2, len(bodies[0])
    assert [(bar.n, bar.total) for bar in bars] == [(half, whole), (whole, whole)]


# -- the shelf: archives put there by hand -----------------------------------------


def test_what_is_to_be_fetched_by_hand_is_said_in_one_line(server, tmp_path):
    bodies, _ = MADE_BODIES["ham10000"]
    server.offer("ham10000", bodies)
    shelf = tmp_path / "archives"
    text = (
        "by hand .*HAM10000_images_part_1.zip from https://dataverse.*3172585, "
        f".*HAM10000_metadata.csv from https.* into {shelf} and ask again"
    )
    refused("ham10000", tmp_path, text)
    assert leftovers(tmp_path) == [] and server.asked == []
    put("ham10000", bodies, tmp_path)
    (shelf / "HAM10000_metadata.csv").unlink()
    refused("ham10000", tmp_path, r"put HAM10000_metadata.csv from \S+ into")
    put("ham10000", bodies, tmp_path)
    assert data.load("ham10000", root=tmp_path).classes == images.HAM10000
    assert len(leftovers(shelf)) == 3  # a person's files are kept


def test_a_wrong_file_on_the_shelf_is_refused_and_kept(server, tmp_path):
    bodies, _ = MADE_BODIES["ham10000"]
    server.offer("ham10000", bodies)
    put("ham10000", [*bodies[:2], b"another"], tmp_path)
    refused("ham10000", tmp_path, "archives/HAM10000_metadata.csv is not the published")
    assert len(leftovers(tmp_path / "archives")) == 3


def test_an_archive_on_the_shelf_spares_the_download(server, tmp_path):
    bodies, want = MADE_BODIES["cifar10"]
    server.offer("cifar10", bodies)
    put("cifar10", bodies, tmp_path)
    assert np.array_equal(data.load("cifar10", tmp_path).x_test, want["x_test"])
    assert server.asked == []


def test_the_first_file_without_a_checksum_is_trusted_and_no_other(server, tmp_path):
    bodies, _ = MADE_BODIES["facebook"]
    server.offer("facebook", [zipped({"a page": "of apology"})])
    refused("facebook", tmp_path, "lacks Features_Variant_1.csv")
    assert leftovers(tmp_path) == []  # what cannot be read is not trusted
    server.offer("facebook", bodies)
    data.load("facebook", root=tmp_path)
    side = tmp_path / "archives" / "facebook_comment_volume.zip.sha256"
    assert side.read_text().split()[0] == hashlib.sha256(bodies[0]).hexdigest()
    (tmp_path / "facebook.npz").unlink()
    data.load("facebook", root=tmp_path)  # the same again is fine
    (tmp_path / "facebook.npz").unlink()
    changed = facebook()[0]
    server.offer("facebook", changed)
    refused("facebook", tmp_path, f"not the file that was first seen.*delete {side}")
    assert leftovers(tmp_path) == ["archives", f"archives/{side.name}"]
    side.unlink()
    data.load("facebook", root=tmp_path)
    assert side.read_text().split()[0] == hashlib.sha256(changed[0]).hexdigest()
