"""The command line on a file, a network and a method of one's own, and its files."""

import csv
import re
import sys
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file
from sklearn.datasets import load_breast_cancer

import fedlab_core as fl
from fedlab_core.partition.scenarios import KINDS
from tests.main_cases import call

NET = """
from torch import nn

def make():
    return nn.Sequential(nn.Linear(30, 4), nn.ReLU(), nn.Linear(4, 2))

def wrong():
    return None
"""
RULE = """
from dataclasses import replace

import fedlab_core as fl

def make(training, mu=0.5):
    return replace(fl.fedprox(training, mu=mu), name=f"mine {mu}")

def wrong(training):
    return 1
"""
OWN = "train mine.npz --rounds 2 --epochs 1 --clients 3 --model my_net_f:make"


@pytest.fixture
def here(tmp_path, monkeypatch):
    source: Any = load_breast_cancer()
    x, y = source.data, source.target_names[source.target]
    files = {"x_train": x[:150], "y_train": y[:150]}
    np.savez(tmp_path / "mine.npz", x_test=x[150:250], y_test=y[150:250], **files)
    (tmp_path / "my_net_f.py").write_text(NET)
    (tmp_path / "my_rule_f.py").write_text(RULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEDLAB_PROGRESS", "0")
    return tmp_path


def test_everything_of_ones_own_and_every_file(here, capsys):
    line = f"{OWN} --method my_rule_f:make --set mu=.25 --own-test .2 --seeds 0 1"
    line += " --log csv:log.csv --out all.csv --save m.safetensors --plot p.svg"
    code, out, err = call(f"{line} --toml run.toml", capsys)
    assert code == 0 and err == "" and out.startswith("mine 0.25: test accuracy")
    with (here / "all.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(r["seed"], r["round"]) for r in rows] == [
        ("0", "1"), ("0", "2"), ("1", "1"), ("1", "2")
    ]  # fmt: skip
    assert {"worst", "spread"} <= rows[0].keys()  # of the clients' own tests
    for seed in "01":
        with (here / f"log-{seed}.csv").open() as file:
            logged = list(csv.DictReader(file))
        ours = [r for r in rows if r["seed"] == seed]
        assert [r["accuracy"] for r in logged] == [r["accuracy"] for r in ours]
        assert set(load_file(here / f"m-{seed}.safetensors")) == {
            "0.weight", "0.bias", "2.weight", "2.bias"
        }  # fmt: skip
    assert "<svg" in (here / "p.svg").read_text()
    again, said, _ = call("train run.toml --force", capsys)
    assert again == 0
    scores = re.compile(r"seed \d: .*")
    assert scores.findall(said) == scores.findall(out)


def test_what_is_given_besides_a_file_of_options_takes_its_place(here, capsys):
    call(f"{OWN} --toml run.toml", capsys)
    code, _, _ = call("train run.toml --rounds 1 --out r.csv", capsys)
    assert code == 0 and len((here / "r.csv").read_text().splitlines()) == 2


def test_an_optimizer_is_that_of_training(here, capsys):
    """Its learning rate is PyTorch's, unless it is given; TOML knows it."""

    def losses(options: str) -> list[str]:
        code, _, err = call(f"{options} --out r.csv --force", capsys)
        assert code == 0 and err == ""
        with (here / "r.csv").open() as file:
            return [row["loss"] for row in csv.DictReader(file)]

    names = ("sgd", "rmsprop", "adam", "adamw")
    own = f"{OWN} --weight-decay .5 --toml run.toml --optimizer"
    found = [losses(f"{own} {name}") for name in names]
    assert len(set(map(tuple, found))) == 4
    assert losses("train run.toml --lr .001") == found[-1]
    assert losses("train run.toml --optimizer adam") == found[2]


AIMS = """
import torch

def halved(outputs, labels):
    return (outputs - labels).square() / 2

def smooth(outputs, labels):
    from torch.nn.functional import cross_entropy
    return cross_entropy(outputs, labels, reduction="none", label_smoothing=0.1)

def within(outputs, labels):
    return ((outputs - labels).abs() < 1).float().mean()

def in_turn(number, sizes, seed):
    return [number % len(sizes)]
"""
TRAIN = "train numbers.npz --rounds 3 --epochs 1 --clients 4 --lr .02"


@pytest.fixture
def aims(here):
    x = np.random.default_rng(0).normal(size=(120, 3)).astype(np.float32)
    y = x @ np.array([1.0, -2.0, 0.5], np.float32)
    for name, labels in (("numbers", y), ("both", (y > 0).astype(int))):
        parts = {"x_test": x[80:], "y_train": labels[:80], "y_test": labels[80:]}
        np.savez(here / f"{name}.npz", x_train=x[:80], **parts)
    (here / "my_aims_f.py").write_text(AIMS)
    return here


def columns(line: str, capsys, *names: str) -> list[tuple[str, ...]]:
    """Tuples, one a round, of what a command writes in these columns."""
    code, out, err = call(f"{line} --out r.csv --force", capsys)
    assert code == 0 and err == "", err
    with open("r.csv") as file:
        return [tuple(row[n] for n in names) for row in csv.DictReader(file)]


@pytest.mark.slow
def test_a_loss_and_a_metric_are_those_of_the_world(aims, capsys):
    """By name or of one's own: what the library gives for the same arguments."""
    ours = f"{TRAIN} --numbers --loss squared --metric r2 --toml run.toml"
    found = columns(ours, capsys, "r2", "loss")
    data = fl.read_dataset("numbers.npz", numbers=True)
    split = fl.dirichlet(data.y_train, clients=4, alpha=0.5, capacity=True)
    make = fl.build("mlp", data.shape, 1)
    place = fl.world(data, split, make, loss=fl.squared, metric=fl.r2)
    history = fl.federate(place, fl.fedavg(fl.Training(0.02, 1)), 3, progress=False)
    assert found == [(str(r["r2"]), str(r["loss"])) for r in history.rows]
    again, out, _ = call("train run.toml --force", capsys)
    best = f"{history.score():.4g} / {history.score('best'):.4g}"
    assert again == 0 and out.startswith("FedAvg: test r2, last round") and best in out
    own = "--loss my_aims_f:halved --metric my_aims_f:within --stop 2"
    assert len(columns(f"{TRAIN} --numbers {own}", capsys, "within", "loss")) == 3
    alone = columns(f"{TRAIN} --numbers --loss squared --stop 2", capsys, "loss")
    assert alone == [(loss,) for _, loss in found]  # falls, so that nothing stops


def test_two_classes_go_by_one_logit_and_any_by_a_loss_of_ones_own(aims, capsys):
    both = TRAIN.replace("numbers", "both")
    area = columns(f"{both} --loss logistic --metric auc", capsys, "auc")
    assert 0.5 < float(area[-1][0]) <= 1
    share = columns(f"{both} --loss my_aims_f:smooth", capsys, "accuracy")
    assert 0.5 < float(share[-1][0]) <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "options, rule",
    [
        ("--participants 2", 2),
        ("--participants 2 --by-size", fl.DrawBySize(2)),
        ("--participants 2 --by-chance 1 2 0 .5", fl.DrawByChance(2, (1, 2, 0, 0.5))),
        ("--up-and-down .4 .5", fl.UpAndDown(0.4, 0.5)),
        ("--up-and-down .4 .5 --participants 2", fl.UpAndDown(0.4, 0.5, most=2)),
        ("--drop-out .4", fl.DropOut(0.4)),
        ("--drop-out .4 --participants 3", fl.DropOut(0.4, of=3)),
        (
            "--drop-out .4 --participants 3 --by-size",
            fl.DropOut(0.4, of=fl.DrawBySize(3)),
        ),
    ],
)
def test_who_takes_part_is_the_librarys_rule(aims, capsys, options, rule):
    """TOML knows it as well, and says the same."""
    line = f"{TRAIN} --split iid".replace("numbers", "both").replace("3", "6", 1)
    seen = ("participants", "loss")
    found = columns(f"{line} {options} --toml run.toml", capsys, *seen)
    data = fl.read_dataset("both.npz")
    place = fl.world(data, fl.iid(data.y_train, 4), fl.build("mlp", data.shape, 2))
    training = fl.fedavg(fl.Training(0.02, 1))
    history = fl.federate(place, training, 6, participants=rule, progress=False)
    assert found == [tuple(str(r[n]) for n in seen) for r in history.rows]
    assert columns("train run.toml", capsys, *seen) == found


def test_who_takes_part_may_be_a_function_of_ones_own(aims, capsys):
    line = f"{TRAIN.replace('numbers', 'both')} --split iid --toml run.toml"
    own = f"{line} --participants my_aims_f:in_turn"
    assert columns(own, capsys, "participants") == [("1",)] * 3
    half = columns(f"{own} --drop-out 1", capsys, "participants", "bytes")
    assert half == [("0", "0")] * 3
    assert columns("train run.toml", capsys, "participants", "bytes") == half


@pytest.mark.parametrize(
    "options, words",
    [
        ("", r"numbers=True (--numbers) to predict it"),
        ("--numbers", "--numbers: only with --loss"),
        ("--metric r2", "--metric r2: only with --loss"),
        ("--loss huber", "--loss: squared, logistic or my.module:function, not 'hub"),
        ("--numbers --loss squared --metric f1", "--metric: r2, auc or my.module:fu"),
        ("--loss my_aims_f:none", "no attribute 'none'"),
        ("--numbers --loss squared --method feddisco", "FedDisco needs classes"),
        ("--by-size", "--by-size: say of how many, as --participants 5"),
        ("--by-chance 1 2", "--by-chance: say of how many, as --participants 5"),
        ("--by-size --up-and-down .1 .2", "--by-size: not with --up-and-down"),
        ("--participants a:b --by-size", "No module named 'a'"),
        (
            "--participants my_aims_f:in_turn --by-size",
            "--by-size: with a number of --participants, not a function",
        ),
        ("--participants 0", "--participants: must be a whole number of 1 or more"),
        ("--up-and-down .1 2", "--up-and-down: must be a number"),
        ("--up-and-down .1 0", "rises must be a number above 0"),
        ("--drop-out 2", "--drop-out: must be a number"),
    ],
)
def test_aims_and_presence_that_are_wrong_are_one_line(aims, capsys, options, words):
    code, out, err = call(f"{TRAIN} {options}", capsys)
    assert code == 2 and out == "" and err.count("\n") == 1 and words in err, err


@pytest.mark.parametrize(
    "options, words",
    [
        ("--participants 9 --by-size", "DrawBySize: clients must be 1 to 4, not 9"),
        ("--participants 2 --by-chance 1 2", "chances must be 4, one a client, not 2"),
        ("--loss squared --numbers", "y_train must be a number a sample, or a row"),
    ],
)
def test_numbers_that_do_not_fit_the_data_are_one_line(aims, capsys, options, words):
    words_of = np.array(["a", "b"])[np.arange(120) % 2]
    with np.load("both.npz") as stored:
        arrays: Any = dict(stored) | {"y_train": words_of[:80], "y_test": words_of[80:]}
    np.savez("words.npz", **arrays)
    line = TRAIN.replace("numbers", "words").replace(".npz", ".npz --split iid")
    code, out, err = call(f"{line} {options}", capsys)
    assert code == 2 and out == "" and err.count("\n") == 1 and words in err, err


def test_a_loss_by_name_needs_two_classes_or_numbers(aims, capsys):
    for options, words in (
        ("--loss logistic", "of two classes, or of --numbers, not of 10 classes"),
        ("--loss squared --numbers", "only with a file of your own, mine.npz"),
    ):
        code, out, err = call(f"train letters {options}", capsys)
        assert code == 2 and out == "" and err.count("\n") == 1 and words in err


@pytest.mark.parametrize(
    "text, words",
    [
        ("rounds = 1", "must name its data set"),
        ('dataset = "letters"\nspeed = 3', "has 'speed', but options are"),
        ("rounds = ", "cannot be read as TOML"),
        ('dataset = "a.toml"', "must name its data set"),
        ('dataset = "letters"\nlr = -1', "--lr: must be a number above 0"),
    ],
)
def test_a_file_of_options_that_is_wrong_is_one_line(here, capsys, text, words):
    (here / "run.toml").write_text(text)
    code, out, err = call("train run.toml", capsys)
    assert code == 2 and out == "" and err.count("\n") == 1 and words in err


@pytest.mark.parametrize(
    "options, words",
    [
        ("--model my_net_f:wrong", "a torch.nn.Module must be made, not NoneType"),
        ("--method my_rule_f:wrong", "must give a Method, not int"),
        ("--method my_rule_f:none", "no attribute 'none'"),
        ("--log paper:x", "--log: KIND:PLACE with csv, tensorboard"),
        ("--plot p.gif", "saved as .svg, .png or .pdf"),
        ("--save no/m", "there is no folder no"),
        ("--checkpoint no/c", "there is no folder no"),
        ("--split similarity --split-set speed=1", "no option 'speed'"),
        ("--split-set speed=1", "--split-set: not with --split dirichlet"),
        ("--split natural", "natural"),
        ("--optimizer adam --momentum .9", "--momentum: only with --optimizer sgd"),
        ("--optimizer lion", "invalid choice: 'lion' (choose from"),
    ],
)
def test_what_is_wrong_is_one_line_and_writes_nothing(here, capsys, options, words):
    before = sorted(here.iterdir())
    line = OWN if "--model" not in options else OWN.rpartition(" --model")[0]
    code, out, err = call(f"{line} {options}", capsys)
    assert code == 2 and out == "" and err.count("\n") == 1 and words in err
    left = {p for p in here.iterdir() if p.name != "__pycache__"}
    assert sorted(left) == before


def test_every_split_has_its_name_here(here, capsys):
    line = "split letters --split similarity --clients 4 --split-set s=.5"
    code, out, err = call(line, capsys)
    assert code == 0 and "similarity" in out, err
    assert len(KINDS) == 10 and all(k in call("split --help", capsys)[1] for k in KINDS)


def test_a_run_goes_on_and_stops_early(here, capsys):
    call(f"{OWN} --checkpoint c --out a.csv", capsys)
    more = OWN.replace("--rounds 2", "--rounds 4")
    assert call(f"{more} --checkpoint c --out b.csv", capsys)[0] == 0
    assert call(f"{more} --out whole.csv", capsys)[0] == 0
    assert (here / "b.csv").read_text() == (here / "whole.csv").read_text()
    code, _, err = call(f"{OWN} --checkpoint c", capsys)
    assert code == 2 and "it is at round 4 of 2" in err
    long = OWN.replace("--rounds 2", "--rounds 60")
    assert call(f"{long} --lr 1e-9 --stop 2 --out s.csv", capsys)[0] == 0
    assert len((here / "s.csv").read_text().splitlines()) == 1 + 3


def test_what_cannot_be_drawn_is_said_before_training(here, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "fedlab_book.figures", None)
    monkeypatch.setattr("fedlab_use.command.run_all", lambda *a, **b: 1 / 0)
    code, out, err = call(f"{OWN} --plot p.svg", capsys)
    assert code == 2 and out == "" and err.count("\n") == 1
    assert "pip install matplotlib" in err and not (here / "p.svg").exists()
