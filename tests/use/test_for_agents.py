"""Files for agents: their example runs, and what they name is there."""

import re
from pathlib import Path

import pytest

import fedlab_core as fl

ROOT = Path(__file__).parents[2]
AGENTS, INDEX = (ROOT / "AGENTS.md").read_text(), (ROOT / "llms.txt").read_text()


def test_the_example_runs_as_it_stands(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", AGENTS, re.S)
    exec(code, {})
    assert len(capsys.readouterr().out.splitlines()) >= 5


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\bfl\.(\w+)", AGENTS))))
def test_every_name_is_one_of_the_core(name):
    assert name == "NAME" or hasattr(fl, name)


def test_every_file_is_there():
    links = re.findall(r"\]\((.*?)\)", INDEX)
    named = re.findall(r"`((?:\w+/)?\w+\.md)`", AGENTS)
    assert len(links) >= 12 and len(named) >= 3
    assert [f for f in (*links, *named) if not (ROOT / f).is_file()] == []
