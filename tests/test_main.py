"""The command line: good runs, and one clear line for everything else."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedlab_core import METHODS, Partition, __main__, __version__, data
from fedlab_use import command
from tests.main_cases import FAST, SHORT, call, fast


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


# -- bad input ---------------------------------------------------------------------

BAD = {
    # the command, and what its one line must say
    "data set": ("train mnits", "unknown data set 'mnits': choose from letters"),
    "data set of split": ("split mnits", "unknown data set"),
    "truncated file": ("train mnist", "mnist.npz is not a readable data file"),
    "alpha 0": (f"{FAST} --alpha 0", "--alpha: must be a number above 0, not 0.0"),
    "alpha below 0": (f"{FAST} --alpha=-1", "--alpha: must be a number above 0"),
    "alpha nan": (f"{FAST} --alpha nan", "--alpha: must be a number above 0"),
    "alpha of split": ("split letters --alpha 0", "--alpha: must be a number above"),
    "alpha no number": (f"{FAST} --alpha x", "argument --alpha: must be a number"),
    "clients": (f"{SHORT} --clients 301", "3010 samples, but there are 300"),
    "clients, iid": (f"{SHORT} --clients 301 --split iid", "ask for fewer clients"),
    "clients, niid2": (f"{SHORT} --split niid2 --biased 500", "ask for fewer clients"),
    "no clients": (f"{FAST} --clients 0", "--clients: must be a whole number of 1"),
    "1_0": (f"{FAST} --method fedprox --set mu=1_0", "mu must be"),
    "no sense": (f"{FAST} --method feddisco --groups nobody", "groups=nobody leaves"),
    "lr nan": (f"{FAST} --lr nan", "--lr: must be a number above 0, not 'nan'"),
    "lr inf": (f"{FAST} --lr inf", "--lr: must be a number above 0, not 'inf'"),
    "lr 0": (f"{FAST} --lr 0", "--lr: must be a number above 0, not 0.0"),
    "momentum": (
        f"{FAST} --momentum 1",
        "--momentum: must be a number of 0 or more and below 1",
    ),
    "weight decay": (f"{FAST} --weight-decay=-1", "must be a number of 0 or more, not"),
    "batch": (
        f"{FAST} --batch 0",
        "--batch: must be a whole number of 1 or more, not 0",
    ),
    "epochs": (
        f"{FAST} --epochs=-1",
        "--epochs: must be a whole number of 0 or more, not -1",
    ),
    "rounds": (
        f"{FAST} --rounds 0",
        "--rounds: must be a whole number of 1 or more, not 0",
    ),
    "participants": (f"{FAST} --participants 5", "participants must be 1 to 4, not 5"),
    "method": (f"{FAST} --method fedsgd", "unknown method 'fedsgd': choose from"),
    "set": (f"{FAST} --set mu", "--set: NAME=VALUE, not 'mu'"),
    "set of another": (f"{FAST} --method moon --set nu=1", "moon: got an unexpected"),
    "set too low": (
        f"{FAST} --method fedprox --set mu=-1",
        "mu must be a number of 0 or",
    ),
    "no proxy": (f"{FAST} --method fedlaw", "make the world with proxy="),
    "no proxy here": (f"{FAST} --method fedlaw", "or --proxy 10"),
    "proxy": (f"{FAST} --proxy 10000", "per_class=10000 (--proxy): a class has"),
    "hostile": (f"{FAST} --out 'no\x1b[2J/r.csv'", "there is no folder no?[2J"),
    "metric": (f"{FAST} --method feddisco --set metric=emd", "metric must be kl, l2"),
    "a": (f"{FAST} --method feddisco --set a=nan", "a must be a number of 0"),
    "model": (f"{FAST} --model rnn", "unknown model 'rnn'"),
    "model for the images": (f"{FAST} --model disco_cnn", "images of 16 x 16"),
    "engine": (f"{FAST} --engine fast", "--engine must be auto, looped or stacked"),
    "device": (f"{FAST} --device tpu", "--device must be cpu or cuda, not 'tpu'"),
    "seeds twice": (f"{FAST} --seeds 1 1", "--seeds: distinct numbers"),
    "seed below 0": (f"{FAST} --seeds -1", "--seeds: must be a whole number of 0"),
    "seed of split": (
        "split letters --seed -1",
        "--seed: must be a whole number of 0 or",
    ),
    "rho": (f"{FAST} --rho 0.5", "--rho: must be a number of 1 or more"),
    "rho too large": (f"{FAST} --rho 1000", "leaves no sample of class"),
    "rho without use": (f"{FAST} --rho 10 --split iid", "--rho: only with --split dir"),
    "noise": (f"{FAST} --noise=-1", "--noise: must be a number of 0 or more"),
    "noise of digits": ("train digits --noise 1", "--noise: only with letters"),
    "noise of a file": ("train mnist --noise 1", "--noise: only with letters"),
    "no folder": (f"{FAST} --out no/where.csv", "--out: there is no folder no"),
    "a folder": (f"{FAST} --out data", "--out: data is a folder"),
    "split into no folder": ("split letters --out no/who.json", "there is no folder"),
    "verb": ("learn letters", "invalid choice: 'learn'"),
    "no verb": ("", "arguments are required"),
    "option": (f"{FAST} --speed 3", "unrecognized arguments: --speed 3"),
    "set twice": (f"{FAST} --method fedprox --set mu=1 mu=2", "mu is given twice"),
    "set twice again": (
        f"{FAST} --method fedprox --set mu=1 --set mu=2",
        "given twice",
    ),
    "option twice": (f"{FAST} --lr .1 --lr .2", "argument --lr: given twice"),
    "no truth": (f"{FAST} --method fedprox --set half=maybe", "half must be True or"),
    "idle alpha": (
        "train letters --split iid --alpha 1",
        "only with --split dirichlet",
    ),
    "idle clients": (
        "train letters --split niid2 --clients 7",
        "only with --split iid",
    ),
    "idle force": ("split letters --force", "--force: only with --out"),
    "seed too large": (
        "split letters --seed 9223372036854775808",
        "which is too large",
    ),
    "epochs too many": (f"{FAST} --epochs 100000000000000000000", "too large"),
    "a long round": ("train letters --epochs 2000000000", "samples in a round"),
    "a long name": (
        f"{FAST} --out {'x' * 300}",
        "cannot be written: File name too long",
    ),
    "kind of split": (f"{FAST} --split mine", "argument --split: invalid choice"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_line_exit_code_2_and_writes_nothing(here, capsys, case):
    line, message = BAD[case]
    whole = here / "data" / "whole.npz"
    np.savez(whole, x=np.zeros(100))
    (here / "data" / "mnist.npz").write_bytes(whole.read_bytes()[:200])
    before = files(here)
    if "--out" not in line and line.startswith("train"):
        line += " --out result.csv"
    code, out, err = call(line, capsys)
    assert code == 2 and out == ""
    assert err.count("\n") == 1 and err.endswith("\n")
    assert err.startswith("fedlab_core") and message in err
    assert files(here) == before


def test_an_unused_device_is_refused(here, capsys, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    code, _, err = call(f"{FAST} --device cuda", capsys)
    assert code == 2 and "no CUDA device can be used here" in err


def test_a_missing_set_is_refused_without_a_network(here, capsys, monkeypatch):
    def fails(name, kind, folder):
        raise OSError("no network")

    monkeypatch.setattr("fedlab_core.data.obtain._from_torchvision", fails)
    code, _, err = call("split mnist", capsys)
    assert code == 2 and err.count("\n") == 1
    assert "mnist is not at" in err and "(no network)" in err and "--data" in err
    assert files(here) == []


# -- good runs ---------------------------------------------------------------------


def test_train_reports_every_seed_and_their_mean(here, capsys):
    code, out, err = call(f"{FAST} --seeds 0 1 --out result.csv", capsys)
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("FedAvg: test accuracy in %")
    rows = pd.read_csv(here / "result.csv")
    assert files(here) == ["result.csv"] and lines[-1] == "wrote result.csv"
    assert len(rows) == 4 and rows["seed"].tolist() == [0, 0, 1, 1]
    last = 100 * np.array(rows["accuracy"])[1::2]
    for seed in (0, 1):
        assert lines[1 + seed].startswith(f"  seed {seed}: {last[seed]:.2f} / ")
    # two values: the interval's half width is t(.975, 1) |a - b| / 2, t = 12.706
    half = 12.706 * abs(last[0] - last[1]) / 2
    shown = re.match(r"  mean:   (\S+) ± (\S+) / ", lines[3])
    assert shown and float(shown[1]) == pytest.approx(last.mean(), abs=0.01)
    assert float(shown[2]) == pytest.approx(half, abs=0.02)


@pytest.mark.slow
def test_train_says_how_many_groups_there_are_and_when_it_is_one(here, capsys):
    never, at_once = "--set eps1=0", "--set eps1=100 eps2=0"
    _, out, err = call(f"{FAST} --method cfl --seeds 0 1 {never}", capsys)
    assert out.count("  in 1 group\n") == 2
    assert "note: CFL ended with all in one group" in err
    _, out, err = call(f"{FAST} --method cfl {at_once}", capsys)
    assert re.search(r"  in [2-4] groups\n", out) and "one group" not in err
    _, out, err = call(FAST, capsys)
    assert "group" not in out and "group" not in err


# What a method cannot do without, or not as fast.
LAW = "--proxy 2 --set server_epochs=2"
DISTIL = "--proxy 2 --set epochs=2"
MORE = dict.fromkeys(("gws", "attentive", "fedlaw", "fedlaw-swa"), LAW)
MORE |= dict.fromkeys(("feddf", "fedbe", "server-ft"), DISTIL)
MORE |= {"fesem": "--set k=2", "kmeans": "--set k=2 alone=1"}
MORE |= {"fedcollab": "--set rounds=20 restarts=2"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        *(f"--method {name} {MORE.get(name, '')}" for name in METHODS),
        "--method fedprox --set mu=.5 half=false --weigh disco",
        "--method feddisco --set a=.4 b=.2 metric=l1 normalise=false",
        "--split niid2 --biased 3 --unbiased 1",
        "--split iid --participants 2 --engine looped",
        "--rho 4 --no-capacity --noise .1 --momentum .9 --weight-decay 1e-4",
        "--groups nobody --batch 16 --model mlp",
    ],
)
def test_every_option_trains(here, capsys, options):
    code, out, _ = call(fast(options), capsys)
    assert code == 0 and "seed 0: " in out and files(here) == []


@pytest.mark.slow
def test_options_reach_the_run(here, capsys):
    def table(options):
        assert call(fast(f"--out r.csv --force {options}"), capsys)[0] == 0
        return pd.read_csv(here / "r.csv")

    plain = table("")
    assert table("").equals(plain)
    assert set(plain["participants"]) == {4}
    assert set(table("--participants 2")["participants"]) == {2}
    for name in ("--lr .01", "--momentum .9", "--weight-decay .1", "--alpha 5",
                 "--noise 0", "--seeds 5", "--rho 3", "--no-capacity --alpha .2",
                 "--groups nobody", "--method equal", "--method feddisco"):  # fmt: skip
        assert not table(name)["loss"].equals(plain["loss"]), name
    steps = plain["steps"].tolist()
    assert table("--epochs 3")["steps"].tolist() == [3 * s for s in steps]
    assert table("--batch 300")["steps"].tolist() == [4, 4]
    disco = [
        table(f"--method feddisco {o and '--set ' + o}")["loss"].tolist()
        for o in ("", "a=.1", "b=.4", "metric=l2", "normalise=false")
    ]
    assert len({tuple(d) for d in disco}) == 5


@pytest.mark.slow
def test_no_and_off_are_not_yes(here, capsys):
    """A value that is not a truth is refused: see "no truth" above."""
    said = [
        call(fast(f"--method fedprox --set mu=5 half={value}"), capsys)[1]
        for value in ("false", "no", "OFF", "true", "yes", "on")
    ]
    assert len(set(said[:3])) == len(set(said[3:])) == 1 and said[0] != said[3]


@pytest.mark.slow
def test_both_sets_count(here, capsys):
    once = call(fast("--method fedprox --set mu=5 half=false"), capsys)
    assert once == call(fast("--method fedprox --set mu=5 --set half=no"), capsys)
    assert once != call(fast("--method fedprox --set half=false"), capsys)


def test_a_result_is_replaced_only_when_told_so_and_whole(here, capsys, monkeypatch):
    (here / "r.csv").write_text("kept")
    code, _, err = call(f"{FAST} --out r.csv", capsys)
    assert code == 2 and "r.csv exists: use --force to replace it" in err
    code, _, err = call("split letters --out r.csv", capsys)
    assert code == 2 and "use --force" in err
    assert (here / "r.csv").read_text() == "kept"

    def stopped(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as m:
        m.setattr(command, "run_all", stopped)
        code, _, err = call(f"{FAST} --out r.csv --force", capsys)
    assert code == 130 and "stopped, nothing was written" in err
    assert (here / "r.csv").read_text() == "kept"
    assert call(f"{FAST} --out r.csv --force", capsys)[0] == 0
    assert files(here) == ["r.csv"] and len(pd.read_csv(here / "r.csv")) == 2


def test_split_shows_and_saves_who_holds_what(here, capsys):
    line = "split letters --split niid2 --seed 3 --out who.json"
    code, out, _ = call(line, capsys)
    assert code == 0 and files(here) == ["who.json"]
    made = Partition.read(here / "who.json")
    assert made.kind == "niid2" and made.asked["seed"] == 3
    assert f"digest {made.digest}" in out and out.endswith("wrote who.json\n")
    rows = [row.split() for row in out.splitlines()[2:8]]
    assert [row[-2:] for row in rows] == [["50", "1.609"]] * 5 + [["50", "0.000"]]
    assert rows[5][1:11] == ["5"] * 10
    assert call(line + " --force", capsys)[0] == 0


def test_data_says_where_it_looks(here, capsys):
    (here / "data" / "svhn.npz").write_bytes(b"")
    code, out, _ = call("data", capsys)
    lines = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert code == 0 and set(lines) == set(data.NAMES)
    assert lines["letters"] == "built in"
    assert lines["svhn"] == f"there: {here / 'data' / 'svhn.npz'}"
    assert lines["mnist"].startswith("to be downloaded to ")


def test_methods_lists_every_method(here, capsys):
    code, out, _ = call("methods", capsys)
    assert code == 0
    lines = {line.split()[0]: line for line in out.splitlines()[1:]}
    assert list(lines) == list(METHODS)
    assert "disco" in lines["feddisco"] and "Ye et al. 2023" in lines["feddisco"]
    assert "nobody" in lines["local"] and "tests/methods/" in lines["moon"]


# -- help --------------------------------------------------------------------------


def verbs() -> dict[str, Any]:
    parser = __main__._parser()
    return next(a.choices for a in parser._actions if isinstance(a.choices, dict))


@pytest.mark.parametrize("verb", verbs())
def test_help_mentions_every_option_and_says_what_it_is(here, capsys, verb):
    code, out, err = call(f"{verb} --help", capsys)
    assert code == 0 and err == ""
    for action in verbs()[verb]._actions:
        for name in action.option_strings or [action.dest]:
            assert name in out
    assert "None" not in out


def test_help_names_the_verbs_and_the_version_is_the_packages(here, capsys):
    code, out, _ = call("--help", capsys)
    assert code == 0 and all(verb in out for verb in verbs())
    assert call("--version", capsys) == (0, f"{__version__}\n", "")
