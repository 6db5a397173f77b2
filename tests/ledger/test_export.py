"""Exported models: the same accuracy when loaded, a card, whole or not at all."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import yaml
from safetensors import safe_open

from fedlab_core import __main__
from fedlab_core.data import letters
from fedlab_core.errors import InputError
from fedlab_ledger import Store
from fedlab_ledger.export import folders, models
from fedlab_ledger.export.models import load
from fedlab_ledger.run.build import run_of
from tests.ledger_cases import cell, declare

OWN = {"clients": 3, "own_test": 0.25}
CELLS = [
    cell("FedAvg", rounds=4),
    cell("FedAvg & own", method="feddisco"),
    cell("alone", method="local", rounds=3),
    cell("own tests", method="local", pooled=True, scenario=OWN),
    cell("personal", method="ditto"),
    cell("too fast", local={"lr": 1e30, "epochs": 3}),
]
LAST = replace(CELLS[0], column="last", metric="last")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, and a table to take cells from."""
    declare(monkeypatch, *CELLS, LAST)
    monkeypatch.setenv("FEDLAB_PROGRESS", "0")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results" / "ledger").mkdir(parents=True)
    return tmp_path


def call(line: list[str], capsys) -> tuple[int, str, str]:
    capsys.readouterr()
    try:
        code = __main__.main(["export", "made/table1", *line])
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def names(folder) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_a_model_has_the_same_accuracy_when_it_is_loaded(here, capsys):
    line = ["--row", "FedAvg", "--column", "last", "--seed", "3", "--out", "m"]
    assert __main__.main("run made/table1 --column last --seeds 3".split()) == 0
    code, out, err = call(line, capsys)
    assert (code, err) == (0, "") and names(here) == ["m", "results"]
    assert out.split() == [
        "wrote", f"{here}/m/model.safetensors", "wrote", f"{here}/m/README.md",
    ]  # fmt: skip
    # the test set by hand, as the card says it is to be given
    data = letters(n_train=90, n_test=60)
    pixels = torch.from_numpy(data.x_test).float()[:, None] / 255
    net = load(here / "m" / "model.safetensors")
    assert not net.training
    with torch.no_grad():
        said = net((pixels - data.mean[0]) / data.std[0]).argmax(1)
    accuracy = 100 * float((said.numpy() == data.y_test).mean())
    (stored,) = Store(here / "results" / "ledger").read().lines.values()
    assert stored[3]["value"] == pytest.approx(accuracy, abs=1e-4)
    card = (here / "m" / "README.md").read_text()
    assert f"| model.safetensors | 0–2 | {accuracy:.2f} |" in card
    assert f"The cell's number, “last” of the whole run: {stored[3]['value']}" in card
    assert f"The ledger has {stored[3]['value']} (cpu " in card
    assert "The paper, at its own scale, reports 40." in card


def test_the_card_has_a_head_a_setting_and_the_command(here, capsys):
    line = ["--row", "FedAvg & own", "--out", "m"]
    assert call(line, capsys)[0] == 0
    text = (here / "m" / "README.md").read_text()
    _, head, body = text.split("---\n", 2)
    assert yaml.safe_load(head) == {
        "license": "mit",
        "library_name": "fedlab-core",
        "pipeline_tag": "other",
        "tags": ["federated-learning", "feddisco", "made"],
        "datasets": ["letters"],
        "metrics": ["accuracy"],
    }
    told = json.loads(body.split("```json\n")[1].split("```")[0])
    assert told == CELLS[1].settings["tiny"].plain()
    assert f"Key `{CELLS[1].key('tiny')}`, commit `" in body
    assert "--seed 0 \\\n    --row 'FedAvg & own' --column one --out DIR" in body
    for title in ("How to use it", "Intended use", "Limits", "Licence"):
        assert f"\n## {title}\n" in body
    assert "keep for themselves" not in body
    with safe_open(here / "m" / "model.safetensors", "pt") as file:
        about = json.loads(file.metadata()["fedlab"])
    assert (about["key"], about["seed"]) == (CELLS[1].key("tiny"), 0)
    assert about["setting"] == told and about["classes"][:3] == ["L", "T", "V"]


def test_every_group_has_a_file_of_its_own(here, capsys):
    assert call(["--row", "alone", "--out", "m"], capsys)[0] == 0
    files = [f"model-{k}.safetensors" for k in range(3)]
    assert names(here / "m") == ["README.md", *files]
    card = (here / "m" / "README.md").read_text()
    world = run_of(CELLS[2].settings["tiny"], 0).world
    shares = []
    for k, name in enumerate(files):
        with torch.no_grad():
            said = load(here / "m" / name)(world.x_test).argmax(1)
        shares.append(100 * float((said == world.y_test).double().mean()))
        assert f"| {name} | {k} | {shares[-1]:.2f} |" in card
    assert len(set(shares)) > 1
    number = float(card.split("of the whole run: ")[1].split(" ")[0])
    assert np.mean(shares) <= number + 1e-6  # "best" of three rounds, not the last


def test_clients_with_tests_of_their_own_are_judged_on_those(here, capsys):
    assert call(["--row", "own tests", "--out", "m"], capsys)[0] == 0
    card = (here / "m" / "README.md").read_text()
    assert "on its clients' own tests" in card
    world = run_of(CELLS[3].settings["tiny"], 0).world
    assert world.tests is not None
    for k, mine in enumerate(world.tests):
        net = load(here / "m" / f"model-{k}.safetensors")
        with torch.no_grad():
            right = net(world.x_test[mine]).argmax(1) == world.y_test[mine]
        share = 100 * float(right.double().mean())
        assert f"| model-{k}.safetensors | {k} | {share:.2f} |" in card


def test_what_clients_keep_for_themselves_is_said_to_be_missing(here, capsys):
    assert call(["--row", "personal", "--out", "m"], capsys)[0] == 0
    card = (here / "m" / "README.md").read_text()
    assert "keep for themselves" in card


BAD = {
    "one": (["--row", "FedAvg"], "2 cells instead of one: FedAvg | one; FedAvg | last"),
    "several": (["--column", "one"], "--row, --column: 6 cells instead of one"),
    "none": (["--row", "x"], "--row, --column: no cell has both"),
    "seed": (["--row", "alone", "--seed", "-1"], "--seed: must be a whole number of 0"),
    "scale": (["--row", "alone", "--scale", "paper"], "no paper scale: too large"),
    "device": (["--row", "alone", "--device", "tpu"], "--device: cpu or cuda, not tpu"),
    "folder": (["--row", "alone", "--out", "no/m"], "--out: there is no folder"),
    "diverged": (["--row", "too fast"], "too fast | one: diverged in round 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_line_and_leaves_nothing(here, capsys, case):
    more, said = BAD[case]
    where = [] if "--out" in more else ["--out", "m"]
    code, out, err = call([*where, *more], capsys)
    assert (code, out) == (2, "") and said in err and err.count("\n") == 1
    assert names(here) == ["results"]


def test_nothing_is_overwritten_unless_it_is_an_export(here, capsys):
    line = ["--row", "alone", "--out", "m"]
    assert call(line, capsys)[0] == 0
    before = (here / "m" / "model-0.safetensors").read_bytes()
    code, _, err = call([*line, "--seed", "1"], capsys)
    assert code == 2 and "m exists: use --force to replace it" in err
    assert (here / "m" / "model-0.safetensors").read_bytes() == before
    assert call(["--row", "personal", "--out", "m", "--force"], capsys)[0] == 0
    assert names(here / "m") == ["README.md", "model.safetensors"]
    assert names(here) == ["m", "results"]
    (here / "m" / "thesis.tex").write_text("years of work")
    code, _, err = call([*line, "--force"], capsys)
    assert code == 2 and "m holds thesis.tex, which no export wrote: nothing in" in err
    assert "thesis.tex" in names(here / "m")
    (here / "file").write_text("x")
    code, _, err = call(["--row", "alone", "--out", "file", "--force"], capsys)
    assert code == 2 and "file is a file, give a folder" in err


def test_it_is_written_whole_or_not_at_all(here, capsys, monkeypatch):
    line = ["--row", "alone", "--out", "m"]
    assert call(line, capsys)[0] == 0
    before = {p.name: p.read_bytes() for p in (here / "m").iterdir()}

    def fails(file):
        raise OSError("no space left")

    with monkeypatch.context() as m:
        m.setattr(folders.os, "fsync", fails)
        code, _, err = call([*line, "--force", "--seed", "1"], capsys)
    assert code == 2 and "m cannot be written: no space left" in err
    assert {p.name: p.read_bytes() for p in (here / "m").iterdir()} == before
    assert names(here) == ["m", "results"]


def test_what_is_no_export_is_not_loaded(here):
    path = here / "x.safetensors"
    with pytest.raises(InputError, match="x.safetensors is not an exported model"):
        load(path)
    path.write_bytes(b"\x80\x04\x95 pickled")
    with pytest.raises(InputError, match="is not an exported model"):
        load(path)
    (only, *_) = models.export(CELLS[0], "tiny", 0, here / "m")
    whole = only.read_bytes()
    path.write_bytes(whole[:-10])
    with pytest.raises(InputError, match="is not an exported model"):
        load(path)
    path.write_bytes(whole.replace(b'\\"format\\": 1', b'\\"format\\": 9'))
    with pytest.raises(InputError, match="format 9, but 1 is known only"):
        load(path)
