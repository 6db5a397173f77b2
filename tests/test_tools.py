from importlib.metadata import requires

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import assets, lock
from tools.exercises import ExerciseError, blank, main, pairs
from tools.paths import ROOT

SOLUTION = """\
def weights(sizes):
    # your code
    total = sum(sizes)
    return [size / total for size in sizes]
    # end

# your code
answer = weights([1, 3])
# end"""

EXERCISE = """\
def weights(sizes):
    # your code
    ...
    # end

# your code
answer = ...
# end"""


def cell(kind, source, name="1.1"):
    return new_code_cell(source, metadata={"tags": [kind], "exercise": name})


def test_blank_keeps_what_surrounds_the_answer():
    assert blank(SOLUTION) == EXERCISE


@pytest.mark.parametrize(
    "source, message",
    [
        ("x = 1", "nothing to blank"),
        ("# your code\nx = 1", "without `# end`"),
        ("x = 1\n# end", "without a block"),
        ("# your code\n# your code\nx = 1\n# end", "twice"),
    ],
)
def test_a_solution_that_cannot_be_blanked_is_refused(source, message):
    with pytest.raises(ExerciseError, match=message):
        blank(source)


def test_exercises_are_rewritten_from_their_solutions(tmp_path, capsys):
    path = tmp_path / "one.ipynb"
    cells = [cell("exercise", "old"), cell("solution", SOLUTION)]
    nbformat.write(new_notebook(cells=cells), path)
    assert main([str(path)]) == 0
    assert nbformat.read(path, as_version=4).cells[0].source == EXERCISE
    assert main([str(path)]) == 0
    assert "as its solutions" in capsys.readouterr().out


@pytest.mark.parametrize(
    "cells, message",
    [
        ([cell("exercise", "")], "exercise or solution missing: 1.1"),
        ([cell("solution", "", "")], "solution has no id of its own"),
        ([cell("solution", ""), cell("solution", "")], "no id of its own: 1.1"),
    ],
)
def test_an_exercise_without_its_solution_is_refused(cells, message):
    with pytest.raises(ExerciseError, match=message):
        pairs(new_notebook(cells=cells))


def test_lock_is_portable():
    text = lock.lock_text("-e /here/project\nnumpy==2.0\nnvidia-nccl-cu13==2.1\n")
    assert "project" not in text
    assert "\nnumpy==2.0\n" in text
    assert '\nnvidia-nccl-cu13==2.1 ; sys_platform == "linux"\n' in text


def test_lock_refuses_a_package_without_a_version():
    with pytest.raises(ValueError, match="not an exact version: torch @ file"):
        lock.lock_text("torch @ file:///tmp/torch.whl\n")


def test_a_new_environment_can_be_made_from_the_lock():
    """pip refuses a lock whose packages contradict one another."""
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    locked = [Requirement(line) for line in lines if line and not line.startswith("#")]
    versions = {canonicalize_name(one.name): str(one.specifier)[2:] for one in locked}
    wrong = []
    for one in locked:
        if one.marker is not None and not one.marker.evaluate():
            continue
        for needed in map(Requirement, requires(one.name) or ()):
            if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
                continue
            version = versions.get(canonicalize_name(needed.name))
            # None: `pip freeze` leaves out setuptools and wheel
            if version and not needed.specifier.contains(version, prereleases=True):
                wrong.append(f"{one} needs {needed}, locked is {version}")
    assert not wrong, "\n".join(wrong)


def test_an_altered_asset_is_refused(tmp_path):
    archive = tmp_path / "package.tgz"
    archive.write_bytes(b"not what was pinned")
    with pytest.raises(assets.AssetError, match="mathjax 3.2.2 is not the pinned file"):
        assets._verify(assets.ASSETS[0], archive)


def test_assets_of_other_versions_are_not_ready(tmp_path):
    assert not assets.assets_ready(tmp_path)
    (tmp_path / "versions.json").write_text("{}")
    assert not assets.assets_ready(tmp_path)
