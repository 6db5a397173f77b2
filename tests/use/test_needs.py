"""The table of what methods need besides samples is what the methods themselves say."""

import json
import re
import warnings
from pathlib import Path

import pytest
from torch import nn

import fedlab_core as fl
from fedlab_core import METHODS
from fedlab_core.rounds.validate_hooks import on_everybodys

PAGE = Path(__file__).parents[2] / "notebooks/your_own_data.ipynb"
CELLS = {c["id"]: "".join(c["source"]) for c in json.loads(PAGE.read_text())["cells"]}
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| .+ \|$", CELLS["needs"], re.M)[1:]
TABLE = [set(names.split(", ")) for names, _ in ROWS]


@pytest.mark.slow
def test_the_table_of_needs_is_what_methods_refuse(small_data):
    def plain() -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(196, 10))

    who = fl.dirichlet(small_data.y_train, 4, 0.5, seed=1)
    w = fl.world(small_data, who, plain)
    found: list[set[str]] = [set(), set(), set()]
    training = fl.Training(lr=0.01, batch_size=64)
    for name, entry in METHODS.items():
        method = entry(training)
        if on_everybodys(method, None):
            found[2].add(method.name)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fl.federate(w, method, 1, progress=False)
        except fl.InputError as error:
            kind = 0 if "proxy" in str(error) else 1
            assert kind == 0 or "features" in str(error), (name, error)
            found[kind].add(method.name)
    assert found == TABLE, found
