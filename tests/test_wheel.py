"""The core as a package, installed away from the repository."""

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import fedlab_core
from tools.paths import PACKAGES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
FIVE_LINES = """
import fedlab_core as fl
data = fl.load("letters", n_train=200, n_test=50)
split = fl.dirichlet(data.y_train, clients=4, alpha=0.5)
world = fl.world(data, split, fl.build("mlp", data.shape, len(data.classes)))
history = fl.federate(world, fl.feddisco(fl.Training(lr=0.1, epochs=1)), rounds=2)
assert history.accuracy() > 0.1
print(fl.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy, so that nothing is left in the repository."""
    source, to = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in PACKAGES:
        unneeded = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, source / name, ignore=unneeded)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    as_it_is = ["--no-build-isolation"] if _has_setuptools() else []
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    done = subprocess.run(
        [*command, *as_it_is, "--wheel-dir", str(to), str(source)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (found,) = to.glob("*.whl")
    return found


def _has_setuptools() -> bool:
    """One that is new enough to build with; else pip fetches one."""
    try:
        return int(version("setuptools").split(".")[0]) >= 77
    except PackageNotFoundError:
        return False


@pytest.fixture(scope="module")
def away(wheel: Path, tmp_path_factory) -> Path:
    """A folder that holds nothing but what the wheel brings."""
    folder = tmp_path_factory.mktemp("away")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def python(away: Path, *arguments: str) -> str:
    there = {**os.environ, "PYTHONPATH": str(away), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=away.parent,
        env=there,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_it_has_the_version_and_everything_in_it(wheel: Path, away: Path):
    assert wheel.name == f"fedlab_core-{fedlab_core.__version__}-py3-none-any.whl"
    inside = {p.relative_to(away) for p in away.rglob("*.py")}
    ours = {p.relative_to(ROOT) for n in PACKAGES for p in (ROOT / n).rglob("*.py")}
    assert inside == ours
    assert all((away / name / "py.typed").is_file() for name in PACKAGES)
    (info,) = away.glob("*.dist-info")
    assert (
        "fedlab = fedlab_core.__main__:main" in (info / "entry_points.txt").read_text()
    )


def test_it_runs_away_from_the_repository(away: Path):
    assert python(away, "-c", FIVE_LINES).startswith(str(away))


def test_its_command_line_runs_there(away: Path):
    said = python(away, "-m", "fedlab_core", "--version")
    assert said == fedlab_core.__version__
    assert "feddisco/table1" in python(away, "-m", "fedlab_core", "tables")


DRAWING = ("matplotlib", "seaborn", "ipywidgets", "IPython")
WITHOUT = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {DRAWING}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
"""


def test_it_trains_where_nothing_can_draw(away: Path):
    """As after an installation without extras: the core, and the ledger's verbs."""
    with pytest.raises(AssertionError, match="ModuleNotFoundError: matplotlib"):
        python(away, "-c", WITHOUT + "import matplotlib")
    assert python(away, "-c", WITHOUT + FIVE_LINES).startswith(str(away))
    verb = "from fedlab_core.__main__ import main; main(['tables'])"
    assert "feddisco/table1" in python(away, "-c", WITHOUT + verb)


def test_importing_it_loads_nothing_that_draws(away: Path):
    there = {**os.environ, "PYTHONPATH": str(away)}
    command = [sys.executable, "-X", "importtime", "-c", "import fedlab_core"]
    done = subprocess.run(command, env=there, capture_output=True, text=True)
    loaded = {line.split("|")[-1].strip() for line in done.stderr.splitlines()}
    assert "fedlab_core.rounds.run" in loaded
    assert not {n for n in loaded if n.split(".")[0] in DRAWING}


@pytest.mark.parametrize(
    "folder", ["fedlab_browser/playground/page", "fedlab_book/templates"]
)
def test_what_pages_are_made_of_travels(wheel, folder):
    inside = set(zipfile.ZipFile(wheel).namelist())
    there = {f"{p.relative_to(ROOT)}" for p in (ROOT / folder).iterdir()}
    assert there and not there - inside


def test_the_papers_data_travels(away: Path):
    """Beside the code, so that a number can be read where nothing else is."""
    data = [
        p.relative_to(ROOT)
        for kind in ("*.toml", "*.csv")
        for p in (ROOT / "fedlab_ledger" / "papers").rglob(kind)
    ]
    assert len(data) >= 25 and all((away / p).is_file() for p in data)
    code = "from fedlab_ledger.papers import printed\n"
    code += "print(printed('feddisco', 'table1', 'FedAvg', 'CIFAR-10 NIID-2'))"
    assert python(away, "-c", code) == "65.6"
