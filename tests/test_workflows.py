"""Workflows run elsewhere; their text is checked here, as far as it can be."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".github" / "workflows"
EVENTS = {"pull_request", "push", "schedule", "workflow_dispatch"}
KEYS = {"name", "on", "permissions", "concurrency", "jobs"}
JOB_KEYS = {
    "needs", "if", "runs-on", "timeout-minutes", "permissions", "environment", "steps",
    "strategy",
}  # fmt: skip
STEP_KEYS = {"name", "id", "if", "uses", "with", "run", "env"}
PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40}")


def problems(text: str) -> list[str]:
    """Faults of a workflow, as far as its text shows them."""
    flow = yaml.load(text, Loader=yaml.BaseLoader)  # keeps `on` a word
    found = [f"unknown key {key}" for key in flow.keys() - KEYS]
    found += [f"unknown event {event}" for event in flow["on"].keys() - EVENTS]
    if flow.get("permissions") != {"contents": "read"}:
        found.append("may do more than read")
    for name, job in flow["jobs"].items():
        found += [f"{name}: unknown key {key}" for key in job.keys() - JOB_KEYS]
        if "timeout-minutes" not in job:
            found.append(f"{name}: no time limit")
        needed = job.get("needs", [])
        needed = [needed] if isinstance(needed, str) else needed
        found += [f"{name}: needs {n}" for n in needed if n not in flow["jobs"]]
        for step in job["steps"]:
            found += [f"{name}: unknown key {key}" for key in step.keys() - STEP_KEYS]
            if ("uses" in step) == ("run" in step):
                found.append(f"{name}: a step that neither uses nor runs, or both")
            if "uses" in step and not PINNED.fullmatch(step["uses"]):
                found.append(f"{name}: {step['uses']} is not pinned to a commit")
    for line in text.splitlines():
        if "uses:" in line and not re.search(r"# v\d+\.\d+\.\d+$", line):
            found.append(f"no version beside: {line.strip()}")
    return found


def commands(path: Path) -> list[str]:
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


FLOWS = sorted(FOLDER.glob("*.yml"))


def test_there_are_three():
    assert [path.stem for path in FLOWS] == ["publish", "test", "weekly"]


@pytest.mark.parametrize("path", FLOWS, ids=lambda path: path.stem)
def test_workflow_is_sound(path: Path):
    assert problems(path.read_text()) == []


@pytest.mark.parametrize("path", FLOWS, ids=lambda path: path.stem)
def test_what_it_runs_is_there(path: Path):
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert any(command.startswith(".ci/run") for command in commands(path))
    for command in commands(path):
        for target in re.findall(r"\bmake (?:-o \S+ )?(\w+)", command):
            assert target in targets
        for module in re.findall(r"-m tools\.(\w+)", command):
            assert (ROOT / "tools" / f"{module}.py").is_file()
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_lanes_are_those_of_make_and_leave_no_test_out():
    make = (ROOT / "Makefile").read_text()
    flow = yaml.safe_load((FOLDER / "test.yml").read_text())
    *lanes, last = flow["jobs"]["lane"]["strategy"]["matrix"]["lane"]
    assert last == "deployed" and "\ndeployed:" in make  # a target of its own
    assert [f"{lane}_TESTS" for lane in lanes] == re.findall(r"^\w+_TESTS", make, re.M)
    said = subprocess.run(
        ["make", "-n", "-o", ".venv/.ready", "test"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    there = {p.name for p in (ROOT / "tests").glob("test_*.py")}
    there |= {p.parent.name for p in (ROOT / "tests").glob("*/test_*.py")}
    assert there - set(re.findall(r"tests/([\w.]+)", said)) == set()


def test_the_promised_versions_are_tested():
    """The oldest Python and torch that pyproject promises, and those it names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    flow = yaml.safe_load((FOLDER / "test.yml").read_text())["jobs"]
    tried = flow["versions"]["strategy"]["matrix"]["include"]
    (torch,) = (d for d in project["dependencies"] if d.startswith("torch>"))
    oldest = {
        "python": project["requires-python"][2:],
        "torch": f"torch=={torch[7:]}.*",
    }
    assert oldest in tried
    said = [c.split(":: ")[-1] for c in project["classifiers"] if ":: 3." in c]
    assert {said[0], said[-1]} == {row["python"] for row in tried}
    systems = flow["systems"]["strategy"]["matrix"]["system"]
    assert [s.split("-")[0] for s in systems] == ["macos", "windows"]


SOUND = """\
name: x
on: {push: {}}
permissions: {contents: read}
jobs:
  one:
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    steps:
      - run: make test
"""


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("name: x", "name: x\nstrategy: 1", "unknown key strategy"),
        ("push", "pushed", "unknown event pushed"),
        ("contents: read", "contents: write", "may do more than read"),
        ("    timeout-minutes: 5\n", "", "one: no time limit"),
        ("    runs-on", "    needs: two\n    runs-on", "one: needs two"),
        ("run: make test", "name: idle", "one: a step that neither uses nor runs"),
        ("run: make test", "uses: actions/checkout@v4  # v4.0.0", "not pinned"),
        ("run: make test", f"uses: a/b@{'0' * 40}", "no version beside"),
    ],
)
def test_what_is_wrong_is_found(old: str, new: str, said: str):
    assert problems(SOUND) == []
    assert any(said in found for found in problems(SOUND.replace(old, new)))


def test_binder_installs_what_the_core_needs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {re.split("[><=]", line)[0] for line in project["dependencies"]}
    environment = yaml.safe_load((ROOT / ".binder" / "environment.yml").read_text())
    *named, pip = environment["dependencies"]
    there = {re.split("[><=]", line)[0] for line in named}
    there |= {"torch"} if "pytorch-cpu" in there else set()
    assert wanted - there == set()
    assert {"jupyterlab", "pip", "setuptools"} <= there
    assert pip == {"pip": ["jupyterlab_myst"]}  # which draws the chapters' boxes
    script = ROOT / ".binder" / "postBuild"
    assert script.stat().st_mode & 0o111
    assert "--no-deps" in script.read_text()
