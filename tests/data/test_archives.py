"""Published archives: tiny ones of the same formats, served by a server of our own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedlab_core import data
from fedlab_core.data import images, tables, unpack, writers
from fedlab_core.errors import InputError
from tests.archive_cases import (
    FORMATS,
    MADE,
    MADE_BODIES,
    cifar,
    leftovers,
    offering,
    put,
    refused,
    serialised,
    serving,
    tar,
    zipped,
)


@pytest.fixture(scope="module")
def running():
    yield from serving()


@pytest.fixture
def server(running, monkeypatch):
    return offering(running, monkeypatch)


# -- every set, from its archives to a data set ------------------------------------


def test_every_set_that_is_made_from_archives_is_tested():
    assert set(FORMATS) == set(MADE)


@pytest.mark.parametrize("name", MADE)
def test_what_is_in_the_archives_comes_out(server, tmp_path, name):
    bodies, want = MADE_BODIES[name]
    server.offer(name, bodies)
    by_hand = name in data.BY_HAND
    if by_hand:
        put(name, bodies, tmp_path)
    got = data.load(name, root=tmp_path)
    for key, value in want.items():
        if key.partition("_")[2] in ("train", "test") or "_" not in key:
            have = getattr(got, key)
            assert have is not None and np.array_equal(have, value), key
    first, server.bodies = len(server.asked), {}
    assert first == (0 if by_hand else len(bodies))
    again = data.load(name, root=tmp_path)  # now of the data file alone
    assert np.array_equal(again.x_train, got.x_train) and len(server.asked) == first
    kept = [p for p in leftovers(tmp_path) if not p.startswith("archives")]
    assert kept == [f"{name}.npz"]


def test_ham10000_is_made_small_and_30_a_class_are_held_out(server, tmp_path):
    bodies, _ = MADE_BODIES["ham10000"]
    server.offer("ham10000", bodies)
    put("ham10000", bodies, tmp_path)
    got = data.load("ham10000", root=tmp_path)
    assert got.shape == (3, 56, 56)
    assert np.bincount(got.y_test).tolist() == [30] * 7
    # class 0 has 33 images: 30 of lesions of their own, the test set; 3 of one lesion
    assert np.bincount(got.y_train).tolist() == [3] * 7
    assert set(got.x_train[got.y_train == 0][:, 0, 0, 0]) == {0, 1, 2}
    assert got.owners_train is not None and got.owners_test is not None
    for x, y, owners in (
        (got.x_train, got.y_train, got.owners_train),
        (got.x_test, got.y_test, got.owners_test),
    ):
        grey = x.reshape(len(x), -1).astype(int)
        assert (grey.max(1) == grey.min(1)).all()
        number = grey[:, 0] - 30 * y  # of the image in its class, hence its site
        assert ((0 <= number) & (number < 33)).all() and (owners == number % 2).all()


def test_sent140_keeps_users_apart_and_a_tenth_of_their_tweets(server, tmp_path):
    server.offer("sent140", MADE_BODIES["sent140"][0])
    got = data.load("sent140", root=tmp_path)
    assert got.owners_train is not None and got.owners_test is not None
    assert got.vocabulary is not None
    # ann has 10 tweets, bob 10, cyd 9: one of ann's and one of bob's are tested
    assert np.bincount(got.owners_train).tolist() == [9, 9, 9]
    assert sorted(got.owners_test) == [0, 1]
    assert got.shape == (25,) and got.x_train.dtype == np.int32
    assert got.vocabulary[2] == "so"  # in every tweet, i times
    users = ("ann", "bob", "cyd")
    both = [(got.x_train, got.y_train, got.owners_train)]
    both.append((got.x_test, got.y_test, got.owners_test))
    seen = set()
    for x, y, owners in both:
        for row, label, owner in zip(x, y, owners, strict=True):
            said = [got.vocabulary[w] for w in row if w]
            if "hello" not in said:
                seen.add(0)
                continue
            i = said.count("so")
            assert said[:5] == ["hello", users[owner], "isn't", "it", "fun"]
            if i < 20:  # of more, those after the 25th word are cut off
                assert label == i % 2 and owner == i % 3
            seen.add(int(i))
    assert seen == set(range(21))


def test_tokens_of_accented_tweets_are_read_as_latin_1(server, tmp_path):
    line = '"4","1","Mon","NO_QUERY","ann","Caf\xe9 caf\xc9"'.encode("latin-1")
    name = "training.1600000.processed.noemoticon.csv"
    server.offer("sent140", [zipped({name: b"\n".join([line] * 10)})])
    assert data.load("sent140", root=tmp_path).vocabulary == ("", "<unknown>", "café")


def test_facebook_is_normalised_by_its_training_columns(server, tmp_path):
    bodies, want = MADE_BODIES["facebook"]
    server.offer("facebook", bodies)
    got = data.load("facebook", root=tmp_path)
    assert got.shape == (53,) and len(got.mean) == len(got.std) == 53
    assert got.mean == pytest.approx(want["x_train"].mean(0))
    assert got.std == pytest.approx(want["x_train"].std(0))


BAD = {
    "cifar10": ({"a/data_batch_1.bin": b"", "a/test_batch.bin": b""}, "lacks batches"),
    "cifar100": (
        {"train.bin": b"1" * 3075, "test.bin": b"", "fine_label_names.txt": b"a"},
        "no list of CIFAR's records",
    ),
    "cinic10": ({"train/zebra/a.png": b"PNG"}, "of no known class"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_archive_of_another_content_is_refused(server, tmp_path, name):
    members, message = BAD[name]
    server.offer(name, [tar(members)])
    refused(name, tmp_path, message)
    assert leftovers(tmp_path) == []


def test_tables_of_another_content_are_refused(server, tmp_path):
    csv = "training.1600000.processed.noemoticon.csv"
    for body, message in (
        ('"2","1","d","q","u","t"', "polarity '2'"),
        ('"0","1","d","q","u"', "5 columns, not 6"),
    ):
        server.offer("sent140", [zipped({csv: body})])
        refused("sent140", tmp_path, message)
    server.offer("ag_news", [b'"5","a","b"', b'"1","a","b"'])
    refused("ag_news", tmp_path, "class '5', not 1 to 4")
    server.offer("facebook", [zipped({"Features_Variant_1.csv": "1,2,3"})])
    refused("facebook", tmp_path, "3 columns, not 54")
    server.offer("facebook", [zipped({"x.csv": "1,2,3"})])
    refused("facebook", tmp_path, "lacks Features_Variant_1.csv")
    assert leftovers(tmp_path) == []


# AG News is not packed: that it was cut shows in its checksum alone.
@pytest.mark.parametrize("name", sorted({*MADE} - {"ag_news"}))
def test_a_cut_archive_is_refused_though_its_checksum_fits(server, tmp_path, name):
    bodies = [body[: len(body) // 2] for body in MADE_BODIES[name][0]]
    server.offer(name, bodies)
    if name in data.BY_HAND:
        put(name, bodies, tmp_path)
    refused(name, tmp_path, "could not be read: ")
    assert [p for p in leftovers(tmp_path) if not p.startswith("archives")] == []


def test_what_would_make_no_sound_data_file_is_not_kept(server, tmp_path):
    bodies, _ = cifar(
        "a",
        ("batches.meta.txt", ["cat"]),
        [f"data_batch_{i}.bin" for i in (1, 2, 3, 4, 5)],
        "test_batch.bin",
        1,
        0,
    )
    server.offer("cifar10", bodies)  # labels 0 and 1, and one name only
    refused(
        "cifar10", tmp_path, "gz could not be read: y_t[a-z]+ must hold labels 0 to 0"
    )
    assert leftovers(tmp_path) == []


# -- members that should not be there ----------------------------------------------

ASTRAY = ["../evil.bin", "/etc/evil", "a/../../evil", "C:/evil", "a\\..\\evil"]


@pytest.mark.parametrize("name", ASTRAY)
@pytest.mark.parametrize("pack", [tar, zipped])
def test_a_member_that_leads_elsewhere_is_refused(tmp_path, name, pack):
    path = tmp_path / "archive"
    path.write_bytes(pack({"fine.txt": b"fine", name: b"evil"}))
    members = unpack.tar_members if pack is tar else unpack.zip_members
    with pytest.raises(InputError, match="archive has a member that leads elsewhere"):
        list(members(path, lambda path: False))
    assert leftovers(tmp_path) == ["archive"]


def test_loading_refuses_a_set_with_such_a_member(server, tmp_path):
    server.offer("cinic10", [tar({"../../train/cat/evil.png": b"evil"})])
    refused("cinic10", tmp_path / "root", "leads elsewhere")
    assert leftovers(tmp_path) == []


def test_links_and_giants_are_refused_where_they_are_wanted(tmp_path, monkeypatch):
    path = tmp_path / "archive"
    path.write_bytes(tar({"data.bin": "/etc/passwd", "other": b"fine"}))
    read = [
        (str(p), f.read())
        for p, f in unpack.tar_members(path, lambda p: p.name == "other")
    ]
    assert read == [("other", b"fine")]
    with pytest.raises(InputError, match="data.bin is no file of sensible size"):
        list(unpack.tar_members(path, lambda p: True))
    monkeypatch.setattr(unpack, "LIMIT", 3)
    for pack, members in ((tar, unpack.tar_members), (zipped, unpack.zip_members)):
        path.write_bytes(pack({"data.bin": b"four"}))
        with pytest.raises(InputError, match="data.bin is no file of sensible size"):
            list(members(path, lambda p: True))


# -- pieces ------------------------------------------------------------------------


@given(label=st.integers(0, 61), packed=st.booleans(), seed=st.integers(0, 99))
def test_an_example_is_read_back(label, packed, seed):
    x = np.random.default_rng(seed).random((28, 28), dtype=np.float32)
    got, number = writers.example(serialised(x, label, packed))
    assert number == label and np.array_equal(got, x.ravel())


@given(share=st.floats(0, 1, exclude_max=True))
def test_a_cut_example_is_refused(share):
    body = serialised(np.zeros((28, 28)), 3)
    with pytest.raises(InputError, match="an example"):
        writers.example(body[: int(share * len(body))])


def test_an_example_of_another_shape_is_refused():
    with pytest.raises(InputError, match="an example has 9 pixels, not 784"):
        writers.example(serialised(np.zeros((3, 3)), 3))
    with pytest.raises(InputError, match="an example has label 62"):
        writers.example(serialised(np.zeros((28, 28)), 62))


@given(
    owners=st.lists(st.integers(0, 3), min_size=1, max_size=60), seed=st.integers(0, 9)
)
def test_a_tenth_of_every_owner_is_marked(owners, seed):
    who = np.unique(owners, return_inverse=True)[1]
    marked = tables.tenth(who, seed)
    for owner in set(who):
        mine = who == owner
        assert marked[mine].sum() == mine.sum() // 10


@given(
    groups=st.lists(st.integers(0, 9), min_size=12, max_size=40), seed=st.integers(0, 9)
)
def test_nothing_that_is_held_out_shares_a_group_with_training(groups, seed):
    y = np.arange(len(groups)) % 2
    group = np.array(groups) * 2 + y  # a group is of one class
    train, test = images.held_out(y, group, 3, seed)
    assert np.bincount(y[test], minlength=2).tolist() == [3, 3]
    assert not set(group[train]) & set(group[test])
    size = np.bincount(group)[group]
    for c in (0, 1):  # those alone in their group come first
        alone = int((size[y == c] == 1).sum())
        assert int((size[test][y[test] == c] == 1).sum()) == min(alone, 3)


def test_too_few_to_hold_out_are_refused():
    with pytest.raises(InputError, match="class 1 has 2 samples, 2 are to be held out"):
        images.held_out(np.array([0, 0, 0, 1, 1]), np.arange(5), 2)
