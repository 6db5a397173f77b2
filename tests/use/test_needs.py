"""The table of what methods need besides samples is what the methods themselves say."""

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from torch import nn

import fedlab_core as fl
from fedlab_core import METHODS, tree
from fedlab_core.rounds.validate_hooks import on_everybodys

PAGE = Path(__file__).parents[2] / "notebooks/your_own_data.ipynb"
CELLS = {c["id"]: "".join(c["source"]) for c in json.loads(PAGE.read_text())["cells"]}
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| .+ \|$", CELLS["needs"], re.M)[1:]
TABLE = [set(names.split(", ")) for names, _ in ROWS]


def small_network() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(196, 10))


@pytest.mark.slow
def test_the_table_of_needs_is_what_methods_refuse(small_data):
    who = fl.dirichlet(small_data.y_train, 4, 0.5, seed=1)
    w = fl.world(small_data, who, small_network)
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
    labelled, unlabelled, *others = TABLE
    assert found == [labelled | unlabelled, *others], found


@pytest.mark.slow
def test_two_methods_do_not_look_at_the_servers_labels(small_data):
    who = fl.dirichlet(small_data.y_train, 4, 0.5, seed=1)
    w = fl.world(small_data, who, small_network, proxy=fl.Proxy(5))
    assert w.proxy is not None
    x, y = w.proxy
    others = replace(w, proxy=(x, (y + 1) % 10))
    methods = [entry(fl.Training(lr=0.1, batch_size=64)) for entry in METHODS.values()]
    for method in (m for m in methods if m.name in TABLE[0] | TABLE[1]):
        one, other = (
            tree.flatten(fl.federate(v, method, 2, progress=False).states)
            for v in (w, others)
        )
        assert one.equal(other) == (method.name in TABLE[1]), method.name
