"""The command line on a file, a network and a method of one's own, and its files."""

import csv
import re
import sys
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file
from sklearn.datasets import load_breast_cancer

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
