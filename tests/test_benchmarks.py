"""The benchmarks: the same work for everyone, fair ratios, and one line a result."""

import json
from dataclasses import replace
from typing import Any

import pytest
import torch

from benchmarks import __main__ as cli
from benchmarks import timing
from benchmarks.cases import CASES, GPU_CASES, GROWTH, NETWORKS, Case, small_cnn
from benchmarks.peers import PeerUnavailable
from fedlab_core import tree
from fedlab_core.client.augment import CropFlip
from fedlab_core.models import mlp

TINY = Case("tiny", small_cnn, (1, 12, 12), 3, 8, 4)


@pytest.fixture
def one_tiny_case(monkeypatch):
    monkeypatch.setattr(cli, "CASES", (TINY,))
    monkeypatch.setattr(cli, "GROWTH", [("clients", 3, TINY)])
    monkeypatch.setattr(timing, "_FILL", 0.01)


def test_cases_have_names_of_their_own_and_fit_their_networks():
    assert len({c.name for c in CASES}) == len(CASES)
    for case in {c.name: c for c in (*CASES, *(g[2] for g in GROWTH))}.values():
        x, y = replace(case, clients=1, samples=2).data()
        assert case.make()(x).shape == (2, case.classes) and len(y) == 2
        same = replace(case, clients=1, samples=2).data()[0]
        assert torch.equal(x, same)


def test_steps_and_samples_are_counted():
    case = Case("a", small_cnn, (1, 12, 12), clients=3, samples=10, batch_size=4)
    assert (case.total, case.steps) == (30, 9)
    assert replace(case, epochs=2).steps == 18
    assert replace(case, epochs=2, drop_last=True).steps == 12


def test_ours_and_the_plain_loop_train_the_same_model(monkeypatch):
    """With one mini-batch a client the order is out of play: the averages agree."""
    case = replace(TINY, batch_size=8, epochs=2, momentum=0.9, lr=0.1)
    case = replace(case, weight_decay=0.1, drop_last=True)
    monkeypatch.setattr(timing, "timed", lambda train_all, case, device: train_all)
    ways: list[Any] = [timing.ours, timing.plain_loop]
    ours, plain = (way(case, "cpu")() for way in ways)
    for name, w in ours.items():
        torch.testing.assert_close(w, plain[name], rtol=1e-4, atol=1e-6)
    start = timing.initial_state(case.make, 0)
    assert tree.norm(tree.add(ours, start, -1)) > 0.01


@pytest.mark.parametrize("way", [timing.ours, timing.plain_loop])
def test_both_train_in_the_same_arithmetic(monkeypatch, way):
    """Or a loop in TF32 is compared with a package that does without."""
    seen = []

    def seeing(*given):
        images = CropFlip()(*given)
        flags = torch.backends.cudnn
        seen.append((flags.allow_tf32, flags.deterministic, flags.benchmark))
        return images

    monkeypatch.setattr(timing, "timed", lambda train_all, case, device: train_all)
    with torch.backends.cudnn.flags(True, True, allow_tf32=True):
        way(replace(TINY, augment=seeing), "cpu")()
    assert set(seen) == {(False, True, False)}


def test_a_case_of_a_gpu_does_what_the_paper_does():
    (case,) = GPU_CASES
    assert case.drop_last and case.augment and case.weight_decay and case.momentum


def test_a_ratio_is_the_median_over_turns_not_of_medians():
    rates = {"ours": [10.0, 40.0, 30.0], "theirs": [5.0, 40.0, 10.0]}
    line = timing.compare(rates, "ours", "theirs")
    assert line == {
        "ours": 30, "theirs": 10, "ratio": 2, "spread": [1, 3], "turns": 3,
    }  # fmt: skip


def test_ways_take_turns_and_stop_when_the_time_is_up(monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(clock))
    order = []
    ways = {n: lambda n=n: order.append(n) or 1.0 for n in ("a", "b")}
    assert timing.alternate(ways, 3, 1e9) == {"a": [1.0] * 3, "b": [1.0] * 3}
    assert order == ["a", "b"] * 4  # the first turn warms up
    assert len(timing.alternate(ways, 9, 2.5)["a"]) == 2


def test_each_line_of_json_has_what_a_reader_needs(one_tiny_case, capsys):
    cli.main(["--json", "--quick"])
    (line,) = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    keys = ("case", "device", "against", "ours", "theirs", "ratio", "spread", "others")
    assert set(keys) <= set(line) and 0 <= line["others"] <= 1
    assert (line["case"], line["against"]) == ("tiny x 3", "plain-loop")
    low, high = line["spread"]
    assert 0 < low <= line["ratio"] <= high


@pytest.mark.slow
def test_growth_has_a_line_for_every_size(one_tiny_case, capsys):
    cli.main(["--json", "--quick", "--grow"])
    (line,) = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert line["grow"] == "clients" and line["clients"] == 3
    for way in ("looped", "stacked", "plain-loop"):
        rate, step = line[f"{way}_rate"], line[f"{way}_step_us"]
        assert step == pytest.approx(1e6 * 24 / rate / 6, rel=0.02)


def test_a_peer_that_cannot_run_is_a_line_with_the_reason(
    one_tiny_case, monkeypatch, capsys
):
    def absent(name, case):
        raise PeerUnavailable(f"{name}: no such package")

    monkeypatch.setattr(cli, "Peer", absent)
    cli.main(["--quick", "--against", "plain-loop,flower"])
    table = capsys.readouterr().out
    assert "cannot run: flower: no such package" in table and "plain-loop" in table


@pytest.mark.parametrize(
    "asked, message",
    [
        ("--against fedml", "--against fedml: choose from all, plain-loop, flower"),
        ("--case none", "--case none: mlp 144-64-64, "),
        ("--device tpu", "invalid choice: 'tpu'"),
    ],
)
def test_what_cannot_be_measured_is_refused(asked, message, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(asked.split(maxsplit=1))
    assert end.value.code == 2 and message in capsys.readouterr().err


@pytest.mark.slow
def test_a_small_networks_line_says_how_near_the_limit_it_is(
    one_tiny_case, monkeypatch, capsys
):
    monkeypatch.setattr(cli, "NETWORKS", (TINY,))
    cli.main(["--json", "--quick", "--networks"])
    (line,) = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert line["share"] == round(line["ours"] * TINY.operations() / line["limit"], 4)
    assert 0 < line["share"] < 1


def test_operations_are_those_of_a_step():
    """A layer of n x m takes 2nm forward, as many for each gradient it has to give."""
    case = Case("a", lambda *_: mlp((1, 2, 3), 5, (7,)), (1, 2, 3), 2, 8, 4, classes=5)
    first, second = 2 * 6 * 7, 2 * 7 * 5
    assert case.operations() == 2 * first + 3 * second  # no gradient of the data


@pytest.mark.slow
def test_the_papers_networks_fit_their_cases():
    for case in NETWORKS:
        assert case.total % case.batch_size == 0 and case.operations() > 1e5
        few = replace(case, clients=1, samples=2)
        assert case.make()(few.data()[0]).shape == (2, 10)
