"""`tables --cost`: operations counted by hand, time as it is said, lines that fit."""

import re
from dataclasses import replace

import pytest
import torch
from torch import nn

from fedlab_core import __main__
from fedlab_core.errors import InputError
from fedlab_ledger.run import cost, estimates
from fedlab_ledger.run.estimates import Estimate, flops, summed
from tests.ledger_cases import BASE, cell, declare

# 3 clients with 30 letters of 16 x 16 each: an epoch of 2 rounds looks at 180.
SAMPLES = 2 * 90
HIDDEN = 4


def pixels() -> int:
    (side, *rest) = cost.data_of(BASE).shape[-2:]
    return side * rest[0]


def by_hand(hidden: int) -> int:
    """Two operations a product: both layers forward and for their weights, and the
    second for what comes before it; nobody asks for the gradient of a sample."""
    return 2 * (2 * pixels() * hidden + 3 * hidden * 10)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEDLAB_PROGRESS", "0")
    monkeypatch.setenv("FEDLAB_DATA", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def a_second_each(monkeypatch):
    """Runs of a setting cost 1000 seconds a round, and look at SAMPLES in two."""
    seen = []

    def of(self, s, seeds, watched=()):
        seen.append((s, tuple(seeds), tuple(watched)))
        cost.check_there(s)
        return cost.Cost(1000.0 * s.rounds, SAMPLES / 2 * s.rounds)

    monkeypatch.setattr(cost.Costs, "of", of)
    return seen


def call(capsys, line: str) -> tuple[int, list[str], str]:
    try:
        code = __main__.main(line.split())
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    said = [line for line in err.splitlines(True) if ": note: " not in line]
    return code, out.splitlines(), "".join(said)


def numbers(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def test_operations_are_those_of_a_step_by_hand():
    shape = cost.data_of(BASE).shape
    assert flops(BASE, shape, 10) == by_hand(HIDDEN)
    more = replace(BASE, network={"hidden": [40]})
    assert flops(more, shape, 10) == by_hand(40)


def test_a_network_whose_operations_cannot_be_counted_is_one_line(
    here, monkeypatch, capsys, a_second_each
):
    class Odd(nn.Module):
        def forward(self, x):
            return torch.linalg.matrix_power(x, "two\nlines")  # pyright: ignore

    monkeypatch.setattr(estimates, "network_of", lambda *a: Odd)
    with pytest.raises(InputError, match="^the operations of mlp cannot be counted: "):
        flops(BASE, (1, 8, 8), 10)
    declare(monkeypatch, cell("a"), cell("b"))
    code, said, err = call(capsys, "tables made --cost --scale tiny")
    assert code == 2 and not err
    why = "2 cell(s) cannot be estimated: the operations of mlp cannot be counted: "
    assert said[-1].startswith(why) and sum("cannot" in line for line in said) == 1


def test_every_cell_has_its_operations_samples_and_time(
    here, monkeypatch, capsys, a_second_each
):
    one, other = cell("a"), cell("b", "a long column " * 9, rounds=4)
    twice = cell("c", "two", rounds=4)
    declare(monkeypatch, one, other, twice)
    code, said, err = call(capsys, "tables made --cost --scale tiny")
    assert (code, err) == (0, "") and all(len(line) <= 80 for line in said)
    assert said[0].split() == [
        "at", "tiny", "scale", "operations", "samples", "time", "left", "done"
    ]  # fmt: skip
    work = f"{SAMPLES * by_hand(HIDDEN):.2e}", f"{SAMPLES:.2e}"
    assert numbers(said[1]) == ["a | one", *work, "33m", "33m", "0%"]
    assert "…" in said[2] and numbers(said[2])[-3:] == ["67m", "67m", "0%"]
    # b and c want the same run: together with a, 2 + 4 rounds
    assert numbers(said[4])[0] == "made/table1"
    assert numbers(said[4])[1:] == numbers(said[5])[1:]
    assert numbers(said[5])[2:] == [f"{3 * SAMPLES:.2e}", "1h40m", "1h40m", "0%"]
    assert {seeds for _, seeds, _ in a_second_each} == {(0, 1, 2)}


def test_what_the_ledger_has_is_not_left(here, monkeypatch, capsys, a_second_each):
    declare(monkeypatch, cell("a"), cell("b", rounds=4))
    assert call(capsys, "run made --row a --uncommitted")[0] == 0
    assert call(capsys, "run made --row b --seeds 1 --uncommitted")[0] == 0
    code, said, _ = call(capsys, "tables made --cost --scale tiny")
    assert code == 0
    assert numbers(said[1])[-3:] == ["33m", "0", "100%"]
    assert numbers(said[2])[-3:] == ["67m", "44m", "33%"]
    assert numbers(said[-1])[-2:] == ["44m", "56%"]  # 2 + 4/3 of 6 rounds


def test_without_a_table_there_is_a_line_for_each(
    here, monkeypatch, capsys, a_second_each
):
    declare(monkeypatch, cell("a"), cell("b"))
    code, said, _ = call(capsys, "tables --cost --scale tiny")
    assert code == 0 and len(said) == 3
    assert numbers(said[1])[0] == "made/table1"
    code, said, _ = call(capsys, "tables --cost")  # at small scale there is nothing
    assert code == 0 and numbers(said[-1])[1:] == [
        "0.00e+00",
        "0.00e+00",
        "0",
        "0",
        "0%",
    ]


def test_data_that_are_not_here_are_not_fetched(
    here, monkeypatch, capsys, a_second_each
):
    far = cell("far", dataset="cifar10", data={})
    declare(monkeypatch, cell("a"), far, replace(far, column="two"))
    code, said, err = call(capsys, "tables made --cost --scale tiny")
    assert (code, err) == (2, "") and numbers(said[1])[0] == "a | one"
    why = f"its data are not here: {here}/cifar10.npz"
    assert said[-1] == f"2 cell(s) cannot be estimated: {why}"


@pytest.mark.parametrize(
    "line, said",
    [
        ("tables feddo --cost", "there is no 'feddo': choose from a table of made"),
        ("tables made/x", "there is no 'made/x': choose from made/table1"),
        ("tables --cost --scale big", "invalid choice: 'big'"),
        ("tables --cost --device tpu", "--device: cpu or cuda, not tpu"),
        ("tables --device cpu", "--device: only with --cost"),
    ],
)
def test_bad_input_is_one_line(here, monkeypatch, capsys, line, said):
    declare(monkeypatch, cell("a"))
    code, out, err = call(capsys, line)
    assert code == 2 and not out and said in err and err.count("\n") == 1


def test_a_measured_table_says_what_it_measured(here, monkeypatch, capsys):
    """Nothing stands in for the clock: a table of two cells, of one kind."""
    declare(monkeypatch, cell("a"), cell("b", rounds=3))
    code, said, _ = call(capsys, "tables made --cost --scale tiny")
    assert code == 0 and numbers(said[1])[2] == f"{3 * SAMPLES:.2e}"
    assert numbers(said[2])[2] == f"{4.5 * SAMPLES:.2e}"
    assert not list(here.iterdir())


def test_tables_can_be_listed_by_name_and_scale(here, monkeypatch, capsys):
    declare(monkeypatch, cell("a"))
    assert call(capsys, "run made --uncommitted")[0] == 0
    assert call(capsys, "tables made")[1] == call(capsys, "tables")[1]
    small = call(capsys, "tables made/table1 --scale small")[1]
    assert small[-1].split()[1:] == ["1", "0", "0", "0", "1"]


def test_a_sum_weighs_what_is_there_by_its_seconds():
    found = summed([Estimate(1.0, 2.0, 30.0, 1.0), Estimate(4.0, 8.0, 10.0, 0.0)])
    assert found == Estimate(5.0, 10.0, 40.0, 0.75)
    assert summed([]) == Estimate(0.0, 0.0, 0.0, 0.0)
