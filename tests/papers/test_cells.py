"""Every declared cell: its number typed once, its setting sound at every scale."""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from fedlab_core import models
from fedlab_core.data import Dataset, sampling
from fedlab_core.rounds.run import run_all
from fedlab_ledger import SCALES, Setting, Store, jobs, play_all
from fedlab_ledger.judge.show import as_latex, shown
from fedlab_ledger.model.lines import Found
from fedlab_ledger.model.provenance import lines_of
from fedlab_ledger.papers import GAPS, PAPERS, TABLES, field
from fedlab_ledger.run import build
from fedlab_ledger.run.build import data_of, maker_of, method_of, run_of, scenario_of
from tests.once import the_book

CELLS = [cell for table in TABLES.values() for cell in table.cells]
# samples for training and testing, classes, and the size of an image
SETS = {
    "mnist": (60_000, 10_000, 10, (28, 28)),
    "fashion_mnist": (60_000, 10_000, 10, (28, 28)),
    "cifar10": (50_000, 10_000, 10, (32, 32, 3)),
    "cifar100": (50_000, 10_000, 100, (32, 32, 3)),
    "cinic10": (90_000, 90_000, 10, (32, 32, 3)),
    "ham10000": (8_000, 2_000, 7, (32, 32, 3)),
    "svhn": (73_257, 26_032, 10, (32, 32, 3)),
    "femnist": (671_585, 77_483, 62, (28, 28)),
}
WRITERS = 3_400  # of femnist


def blank(name: str, **options) -> Dataset:
    """As many samples as the real set has, of labels alone: nothing is downloaded."""
    if name == "letters":
        return LETTERS(name, **options)
    if name == "ag_news":
        return news()
    train, test, classes, size = SETS[name]
    x = (np.broadcast_to(np.uint8(0), (n, *size)) for n in (train, test))
    y = (np.arange(n) % classes for n in (train, test))
    names, channels = tuple(map(str, range(classes))), 3 if len(size) == 3 else 1
    x_train, x_test, y_train, y_test = *x, *y
    scale = ((0.5,) * channels, (0.25,) * channels)
    made = Dataset(name, x_train, y_train, x_test, y_test, names, *scale)
    if name != "femnist":
        return made
    a, b = (np.arange(n) % WRITERS for n in (train, test))
    return replace(made, owners_train=a, owners_test=b)


def news() -> Dataset:
    """As many texts as AG News has, all of them empty."""
    parts = (np.broadcast_to(np.int32(0), (n, 64)) for n in (120_000, 7_600))
    y = (np.arange(n) % 4 for n in (120_000, 7_600))
    x_train, x_test, y_train, y_test = *parts, *y
    return Dataset("ag_news", x_train, y_train, x_test, y_test, tuple("abcd"), (), ())


LETTERS = build.load


@pytest.fixture
def without_files(monkeypatch):
    monkeypatch.setattr(build, "load", blank)
    # pixels are not looked at: sizes are all that is needed of them

    def smaller(x: np.ndarray, side: int) -> np.ndarray:
        return np.broadcast_to(np.uint8(0), (len(x), side, side, *x.shape[3:]))

    monkeypatch.setattr(sampling, "_resized", smaller)
    build._data.cache_clear()
    yield
    build._data.cache_clear()


def different(scale: str):
    """One setting for each key."""
    both = [m[scale] for c in CELLS for m in (c.settings, c.against) if scale in m]
    return list({s.key: s for s in both}.values())


def data_first(s: Setting) -> str:
    return repr((s.dataset, s.data, s.sample, s.tail, s.pooled, s.resize, s.normalise))


def said(local: dict[str, Any]) -> dict[str, Any]:
    """Of how clients train, what goes to `Training` as it stands."""
    made = {"decay", "cosine", "crop"}
    numbers = {n: v for n, v in local.items() if n not in made}
    return {n: tuple(v) if isinstance(v, list) else v for n, v in numbers.items()}


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALES)
def test_every_setting_is_sound(without_files, scale):
    """Built as far as it goes without training; networks are only measured."""
    seen: dict[str, None] = {}
    every = sorted(different(scale), key=data_first)  # few are kept at a time
    for s in every:
        data = data_of(s)
        method = method_of(s, data)
        how = build.training_of(s, data)
        assert said(s.local).items() <= vars(how).items()
        assert ("crop" in s.local) == bool(how.augment)
        assert bool({"decay", "cosine"} & set(s.local)) == bool(how.schedule)
        assert method.training.lr == how.lr
        maker_of(s, data)
        network = (s.model, data.shape, len(data.classes))
        if repr((network, s.network)) not in seen:
            seen[repr((network, s.network))] = None
            options = build._tuples(s.network)
            models.describe(*network, **options)  # a sample goes through
        world = (s.dataset, s.kind, s.scenario, s.data, s.sample, s.held, s.pooled)
        if repr(world) not in seen:
            seen[repr(world)] = None
            made = scenario_of(s, data, 0)
            clients = len(made)
            assert made.train.sizes.min() >= 1
            assert s.participants is None or s.participants <= clients
            assert len(made.data.y_test) or made.test
    assert len(every) > 30 and len(seen) >= 5


def test_every_paper_and_table_is_there():
    assert set(TABLES) >= {
        *(f"feddisco/table{n}" for n in (1, 2, 3, 7, 13)),
        *(f"fedlaw/table{n}" for n in (1, 3, 9)),
        *(f"rfedavg/table{n}" for n in (1, 2)),
        "fedimpro/table1",
        "fedcollab/table1",
    }
    papers = [table for paper in PAPERS.values() for table in paper.tables]
    gaps = [gap.table for of_paper in GAPS.values() for gap in of_paper]
    assert [t.path for t in (*papers, *field.TABLES, *gaps)] == list(TABLES)
    for table in papers:
        for cell in table.cells:
            assert (cell.paper, cell.table) == (table.paper, table.name)
            assert cell.where.startswith(("Table ", "Fig. ", "App. ", "Theorem "))
            assert cell.settings or cell.lacks


def typed(path: str, row: str, column: str) -> float | None:
    cell = TABLES[path].at(row, column)
    assert cell is not None
    return cell.paper_value


def test_some_numbers_are_the_papers():
    """Corners and middles of each table, read again from the papers' texts."""
    disco = "CIFAR-10 NIID-2"
    assert typed("feddisco/table1", "FedDisco", disco) == 69.85
    assert typed("feddisco/table1", "FedAvg", "HAM10000 NIID-1") == 42.54
    assert typed("feddisco/table1", "FedDC", "FMNIST NIID-2") == 86.57
    assert typed("feddisco/table2", "MOON + Disco", "CINIC-10 NIID-1") == 53.26
    assert typed("feddisco/table3", "FedAvg + Disco", "accuracy") == 61.59
    assert typed("feddisco/table3", "FedDC", "to 55 %") == 27
    assert typed("feddisco/table3", "FedNova + Disco", "to 55 %") == 24
    assert typed("feddisco/table13", "FedAvg (1/K)", disco) == 65.60
    assert typed("fedlaw/table1", "SimpleCNN, IID, γ=0.93", "accuracy") == 70.16
    assert typed("fedlaw/table9", "SimpleCNN, α=0.1, γ=0.9", "accuracy") == 60.85
    law = "CIFAR-100 ResNet20, α=0.1"
    assert typed("fedlaw/table3", "FedLAW (SWA)", law) == 25.31
    assert typed("rfedavg/table1", "rFedAvg+", "CIFAR-10 0 %") == 47.41
    assert typed("rfedavg/table2", "q-FedAvg", "Sent140 IID") == 67.81
    impro = "FMNIST, a=0.1, E=1, K=100"
    assert typed("fedimpro/table1", "FedImpro", impro) == 90.98
    collab = "IPR, feature shift, CIFAR-10"
    assert typed("fedcollab/table1", "FedAvg", collab) == 0.90


def test_what_the_paper_says_twice_is_the_same():
    """FedDisco's row is FedDyn's or SCAFFOLD's with Disco; 1/K is FedAvg on NIID-2."""
    for column in TABLES["feddisco/table1"].columns:
        base = "SCAFFOLD" if column.startswith("FMNIST") else "FedDyn"
        one = TABLES["feddisco/table1"].at("FedDisco", column)
        two = TABLES["feddisco/table2"].at(f"{base} + Disco", column)
        assert one and two and one.paper_value == two.paper_value
        assert one.key("paper") == two.key("paper")
        disco = TABLES["feddisco/table13"].at("FedAvg + Disco", column)
        same = TABLES["feddisco/table2"].at("FedAvg + Disco", column)
        assert disco and same and disco.paper_value == same.paper_value
        assert disco.key("paper") == same.key("paper")
        equal = typed("feddisco/table13", "FedAvg (1/K)", column)
        size = typed("feddisco/table1", "FedAvg", column)
        assert (equal == size) == column.endswith("NIID-2")


@pytest.mark.slow
def test_those_shown_beside_a_cell_are_there_and_are_others():
    for cell in CELLS:
        if cell.over is None:
            continue
        table, row = cell.over
        other = TABLES[f"{cell.paper}/{table}"].at(row, cell.column)
        assert other is not None, cell.name
        for scale in SCALES:
            if scale in cell.settings and scale in other.settings:
                same = cell.key(scale) == other.key(scale)
                assert not same or cell.row == "Scaffold" or scale == "tiny", cell.name


@pytest.mark.slow
def test_every_table_can_be_set_in_latex():
    """The first line is a comment; below it there is nothing but ASCII."""
    for table in TABLES.values():
        text = as_latex(table, shown(table, Found()))
        strange = {c for c in text.split("\n", 1)[1] if not c.isascii()}
        assert not strange, table.path


def test_papers_disagree_only_where_they_mean_to():
    """Settings at the papers' scale, by hand from facts of the papers."""
    cell = TABLES["feddisco/table1"].at("FedAvg", "CIFAR-10 NIID-2")
    assert cell and cell.settings["paper"].plain() == {
        "dataset": "cifar10",
        "method": "fedavg",
        "rounds": 100,
        "kind": "niid2",
        "scenario": {"biased": 5, "unbiased": 1},
        "model": "disco_cnn",
        "local": {
            "lr": 0.01,
            "momentum": 0.9,
            "weight_decay": 1e-5,
            "epochs": 10,
            "batch_size": 64,
            "drop_last": True,
            "crop": 4,
        },
    }
    silo = TABLES["rfedavg/table1"].at("rFedAvg", "MNIST 0 %")
    assert silo and silo.settings["paper"].options == {"lam": 1e-4, "form": "code"}
    impro = TABLES["fedimpro/table1"].at("SCAFFOLD", "FMNIST, a=0.05, E=1, K=10")
    assert impro and impro.settings["paper"].local["lr"] == 0.001


PLAYED = [p for p, t in TABLES.items() if any("tiny" in c.settings for c in t.cells)]


# Two methods that are one, in which of the tables, and why.
ALIKE = {
    ("fedavg", "fednova"): "feddisco/",  # all clients take equally many steps
    ("fedcollab", "fednova"): "fedcollab/table1",  # so do those of one coalition
    ("fedavg", "fedcollab"): "fedcollab/figure6",  # so large a C: one coalition
    ("fesem", "kmeans"): "fedcollab/table2",  # the same groups, on some seeds
}


@pytest.mark.slow
def test_no_method_of_the_ledger_is_another_in_disguise():
    """A baseline that does nothing has FedAvg's curve, to the last digit.

    On the field, where all papers meet, FedCollab may leave everyone alone.
    """
    book, twins, seen, used = the_book(), {}, 0, Counter()
    played: Counter[str] = Counter()
    for cell in (c for c in CELLS if c.paper != "field"):
        for scale in ("small", "paper"):
            for line in lines_of(cell, scale, book.found):
                rule = cell.settings[scale]
                at = repr(replace(rule, method="fedavg", options={}, parts={}))
                at = (at, scale, line["seed"], json.dumps(line["curve"]))
                plain = rule.method == "shrunk" and rule.options["gamma"] == 1
                name = "fedavg" if plain else rule.method
                twins.setdefault(at, {}).setdefault(name, set()).add(cell.name)
                seen += 1
                played[name] += 1
    assert seen > 1000
    for found in (v for v in twins.values() if len(v) > 1):
        pair = tuple(sorted(found))
        cells = sorted(found[pair[-1]])
        where = ALIKE.get(pair)
        assert where and all(c.startswith(where) for c in cells), (pair, cells[:3])
        used[pair] += 1
    assert set(used) == set(ALIKE)
    assert used["fesem", "kmeans"] <= played["kmeans"] / 2


@pytest.mark.slow
@pytest.mark.parametrize("path", PLAYED)
def test_a_cell_of_every_table_runs_at_the_tiny_scale(tmp_path, path):
    """The last cell, usually the paper's own method."""
    cell = [c for c in TABLES[path].cells if "tiny" in c.settings][-1]
    waiting = jobs([cell], "tiny", (0,), Found())
    store = Store(tmp_path)
    ((_, lines),) = play_all(waiting, store)
    assert isinstance(lines, list) and len(lines) == 1, lines
    assert lines[0]["diverged"] is None and len(lines[0]["curve"]) == 2
    assert store.read().of(cell.key("tiny"))[0] == lines[0]


@pytest.mark.slow
def test_every_method_runs_at_the_tiny_scale():
    """Each way of training that any cell asks for, once: in one go, for a round."""
    ways = {}
    for s in different("tiny"):
        way = (s.method, str(s.weigh), s.kind, str(sorted(s.options.items())))
        ways.setdefault(way, s)
    assert len(ways) > 40
    runs = [run_of(replace(s, rounds=1), 0) for s in ways.values()]
    for history in run_all(runs, progress=False):
        assert np.isfinite(history.accuracy("last"))


@pytest.mark.slow
def test_a_real_set_is_read_and_thinned(tmp_path, monkeypatch):
    """From a file like the real one, in which a label is the shade of its image."""
    n_train, n_test, classes, size = SETS["fashion_mnist"]
    arrays: dict[str, Any] = {"classes": np.array([f"c{c}" for c in range(classes)])}
    for part, n in (("train", n_train), ("test", n_test)):
        y = np.arange(n) % classes
        shade = (20 * y).astype(np.uint8)[:, None, None]
        arrays |= {f"y_{part}": y, f"x_{part}": np.broadcast_to(shade, (n, *size))}
    np.savez(tmp_path / "fashion_mnist.npz", **arrays)
    monkeypatch.setenv("FEDLAB_DATA", str(tmp_path))
    build._data.cache_clear()
    cell = TABLES["feddisco/table1"].at("FedAvg", "FMNIST NIID-2")
    assert cell
    kept = cell.settings["small"].sample
    assert kept and kept < n_train
    run = run_of(cell.settings["small"], 0)
    build._data.cache_clear()
    x, y = run.world.x, run.world.y
    assert x.shape == (kept, 1, 28, 28)
    assert torch.bincount(y).tolist() == [kept // 10] * 10
    shades = sorted(x[:, 0, 0, 0].unique().tolist())
    assert torch.equal(x, torch.tensor(shades)[y].view(-1, 1, 1, 1).expand_as(x))
