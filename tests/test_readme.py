"""Examples of the README work as they stand."""

import re
import shlex
from pathlib import Path

import pytest
import torch

import fedlab_core as fl
from fedlab_core.__main__ import _parser, main
from fedlab_core.methods import METHODS
from fedlab_ledger.report.answers import answers
from tests.once import the_book

README = (Path(__file__).parents[1] / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_method_of_the_readme_runs():
    _, code = blocks("python")
    made: dict = {}
    exec(code, made)
    method = made["root"]()
    weights = method.weigh(fl.Members.holding(torch.tensor([[1, 3], [8, 8]])))
    assert torch.allclose(weights, torch.tensor([1 / 3, 2 / 3]).double())
    data = fl.load("letters", n_train=200, n_test=50)
    place = fl.world(data, fl.iid(data.y_train, 4), fl.build("mlp", data.shape, 10))
    assert len(fl.federate(place, method, rounds=2).rows) == 2


def test_five_lines_are_a_federation():
    code, _ = blocks("python")
    made: dict = {}
    exec(code.replace("rounds=10", "rounds=1"), made)
    assert made["history"].accuracy() > 0.1


@pytest.mark.slow
def test_it_prints_what_stands_below_it(capsys):
    exec(blocks("python")[0], {})
    printed, said = capsys.readouterr().out, blocks("text")[0]
    (here, *rest), (there, *same) = (re.findall(r"\d+", t) for t in (printed, said))
    assert rest == same and abs(int(here) - int(there)) <= 2


def test_results_are_those_of_the_ledger():
    """Every gain that is told, the paper's and ours, and how many methods there are."""
    text = " ".join(README.split())
    assert f"a PyTorch library of {len(METHODS)} methods" in text
    told = {a.question.paper: a.headline for a in answers(the_book())}
    one = r"- \[(\w+)\]\(notebooks/[\w./]+\), (.*?)(?=- \[|\*\*For whom)"
    items = re.findall(one, text)
    assert [name for name, _ in items] == ["FedDisco", "FedLAW", "FedCollab"]
    for name, said in items:
        e = told[name.lower()]
        assert e is not None and not e.judged.stand_in
        assert e.gain.short in said
        whose = e.judged.claim.source
        assert f"where {whose} has {e.paper:+.1f}" in said
        if "over all rounds" in said:
            assert f"over all rounds {e.whole.short}" in said


@pytest.mark.slow
def test_the_commands_of_the_readme_run(capsys, tmp_path):
    shell = "\n".join(blocks("bash")).replace("\\\n", " ").splitlines()
    commands = [line for line in shell if "-m fedlab_core" in line]
    assert len(commands) == 9
    for line in commands:
        arguments, end = shlex.split(line)[3:], 0
        if "ray" in arguments:  # a cluster is tested elsewhere
            _parser().parse_args(arguments)
            continue
        if "--rounds" in arguments:
            arguments[arguments.index("--rounds") + 1] = "1"
        if "--budget" in arguments:
            arguments[arguments.index("--budget") + 1] = "0s"
            arguments += ["--ledger", str(tmp_path / "ledger"), "--uncommitted"]
            end = 3
        if "--out" in arguments:
            arguments[-1] = str(tmp_path / arguments[-1])
        assert main(arguments) == end, line
    assert (tmp_path / "model" / "model.safetensors").exists()
    assert "FedDisco: test accuracy" in capsys.readouterr().out
