"""The way from notebook to page, on a small repository of its own."""

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import nbformat
import psutil
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import build, execute, kernels, paths

pytestmark = pytest.mark.slow
# A process that has loaded PyTorch is copied on Linux alone: elsewhere there is no copy
# to look at, and the other tests here hold for kernels that begin by themselves.
copied = pytest.mark.skipif(not kernels.COPIED, reason="no kernel is a copy here")

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def write(path: Path, *code: str) -> None:
    cells = [
        new_markdown_cell("# A chapter"),
        new_code_cell("rounds = 1", metadata={"tags": ["parameters"]}),
        *(new_code_cell(source) for source in code),
    ]
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": KERNEL}), path)


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A book of one page and one chapter that prints what a core module says."""
    here = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", here)  # what is executed gets its own: put back
    for folder in ("book", "fedlab_core", "notebooks"):
        (tmp_path / folder).mkdir()
    (tmp_path / "book" / "index.md").write_text("# Book\n")
    (tmp_path / "book" / "_toc.yml").write_text(
        "format: jb-book\nroot: book/index\nchapters:\n- file: notebooks/one\n"
    )
    config = "title: Book\nexecute: {execute_notebooks: 'off'}\nsphinx: {config: {}}\n"
    (tmp_path / "_config.yml").write_text(config)
    (tmp_path / "requirements.lock").write_text("torch==0\n")
    (tmp_path / "fedlab_core" / "__init__.py").write_text("word = 'first'\n")
    write(
        tmp_path / "notebooks" / "one.ipynb",
        "import fedlab_core as f",
        "print(f.word, rounds)",
    )
    return tmp_path


def run(repo: Path, *arguments: str) -> int:
    return execute.main(["--root", str(repo), *arguments])


def printed(repo: Path, name: str = "one.ipynb") -> str:
    copy = execute.copy_of(repo / "notebooks" / name, repo)
    return nbformat.read(copy, as_version=4).cells[-1].outputs[0].text.strip()


def test_a_notebook_runs_once_until_something_that_matters_changes(repo, capsys):
    assert run(repo) == 0
    assert printed(repo) == "first 1"
    capsys.readouterr()
    assert run(repo) == 0
    assert "up to date" in capsys.readouterr().out

    (repo / "fedlab_core" / "__init__.py").write_text("word = 'second'\n")
    assert run(repo) == 0
    assert printed(repo) == "second 1"

    capsys.readouterr()
    (repo / "fedlab_core" / "__init__.py").touch()
    assert run(repo) == 0
    assert "up to date" in capsys.readouterr().out


def test_a_module_that_nobody_imports_runs_nothing_again(repo, capsys):
    write(repo / "notebooks" / "two.ipynb", "import fedlab_core.two as t", "print(t.n)")
    (repo / "fedlab_core" / "two.py").write_text("from fedlab_core import deep as n\n")
    (repo / "fedlab_core" / "deep.py").write_text('"""One."""\n')
    assert run(repo) == 0
    capsys.readouterr()
    (repo / "fedlab_core" / "deep.py").write_text('"""Two."""\n')
    assert run(repo) == 0
    assert stale(capsys) == ["two.ipynb"]


LEDGER = """from pathlib import Path
print(sum(1 for p in Path("../results").glob("{paper}-*.jsonl") for _ in p.open()))"""


def test_a_line_of_results_runs_those_again_that_read_the_paper(repo, capsys):
    results = repo / "results"
    results.mkdir()
    for paper, notebook in (("a", "one"), ("b", "two")):
        (results / f"{paper}-table1.jsonl").write_text("{}\n")
        write(repo / "notebooks" / f"{notebook}.ipynb", LEDGER.format(paper=paper))
    assert run(repo) == 0
    capsys.readouterr()
    with (results / "b-table1.jsonl").open("a") as file:
        file.write("{}\n")
    assert run(repo) == 0
    assert stale(capsys) == ["two.ipynb"] and printed(repo, "two.ipynb") == "2"
    (results / "a-table2.jsonl").write_text("{}\n")  # a table that is new
    assert run(repo) == 0
    assert stale(capsys) == ["one.ipynb"] and printed(repo) == "2"
    (results / "a-table1.jsonl").unlink()
    assert run(repo) == 0
    assert stale(capsys) == ["one.ipynb"] and printed(repo) == "1"


def test_what_changes_while_it_runs_is_an_error(repo, capsys):
    module = repo / "fedlab_core" / "__init__.py"
    edit = f"open({str(module)!r}, 'a').write('# more')"
    write(repo / "notebooks" / "one.ipynb", "import fedlab_core", edit)
    assert run(repo) == 1
    assert "one.ipynb: it, or a module of it, changed" in capsys.readouterr().err


def stale(capsys) -> list[str]:
    """Notebooks that were executed, by what was printed."""
    lines = capsys.readouterr().out.splitlines()
    return [line.split()[0] for line in lines if "up to date" not in line]


def test_parameters_reach_the_notebooks_that_have_them(repo):
    write(repo / "notebooks" / "two.ipynb", "seed = rounds", "print(seed)")
    assert run(repo, "-p", "rounds", "7") == 0
    assert (printed(repo), printed(repo, "two.ipynb")) == ("first 7", "7")
    injected = nbformat.read(
        execute.copy_of(repo / "notebooks" / "one.ipynb", repo), as_version=4
    ).cells[2]
    assert "rounds = 7" in injected.source
    assert "remove-cell" in injected.metadata.tags


@pytest.mark.parametrize("value", ["[1, null]", "two words", "'7'", "7"])
def test_a_copy_keeps_the_command_that_makes_it_again(repo, capsys, value):
    source = repo / "notebooks" / "one.ipynb"
    write(source, "print(repr(rounds))")
    assert run(repo, "-p", "rounds", value) == 0
    copy = nbformat.read(execute.copy_of(source, repo), as_version=4)
    *start, named = shlex.split(copy.metadata.build.command)
    assert start[:3] == [".venv/bin/python", "-m", "tools.execute"]
    capsys.readouterr()
    assert run(repo, *start[3:], str(repo / named)) == 0
    assert capsys.readouterr().out == "  one.ipynb  up to date\n"
    assert printed(repo) == repr(yaml.safe_load(value))


def test_what_a_cell_prints_bit_by_bit_is_one_output(repo):
    bits = "for i in range(3):\n    print(i, flush=True)\n    time.sleep(0.2)"
    write(repo / "notebooks" / "one.ipynb", f"import time\n{bits}")
    assert run(repo) == 0
    copy = nbformat.read(repo / "_build/stage/notebooks/one.ipynb", as_version=4)
    outputs = [o for c in copy.cells for o in c.get("outputs", [])]
    assert [o.text for o in outputs] == ["0\n1\n2\n"]


def test_what_measures_time_has_no_neighbour(repo):
    (name,) = execute.ALONE
    write(repo / "notebooks" / name, "import time\nprint(time.time())")
    slow = "import time\ntime.sleep(3)\nprint(time.time())"
    write(repo / "notebooks" / "two.ipynb", slow)
    assert run(repo) == 0
    assert float(printed(repo, name)) > float(printed(repo, "two.ipynb"))


@copied
def test_a_kernel_begins_with_what_is_slow_to_import_and_nothing_of_ours(
    repo, monkeypatch
):
    monkeypatch.setattr(execute, "FEW", 0)
    look = """import os, subprocess, sys, matplotlib.pyplot
there = "torch" in seen, any(name.startswith("fedlab") for name in seen)
ended = subprocess.run([sys.executable, "-c", "raise SystemExit(3)"]).returncode
import pandas
columns = pandas.get_option("display.max_columns")
print(*there, ended, columns, sys.path[0], os.getcwd(), matplotlib.get_backend())"""
    write(repo / "notebooks" / "one.ipynb", "import sys\nseen = {*sys.modules}", look)
    assert run(repo) == 0
    told = printed(repo).split()
    assert told[:4] == ["True", "False", "3", "20"], "pandas knows its kernel"
    assert told[4:6] == [str(repo), str(repo / "notebooks")]
    assert "inline" in told[6], "as in a kernel of its own"


@pytest.mark.parametrize("few", [0, 1])
def test_a_kernel_that_dies_ends_the_build_in_one_line(repo, capsys, monkeypatch, few):
    monkeypatch.setattr(execute, "FEW", few)
    write(repo / "notebooks" / "one.ipynb", "import os\nos._exit(3)")
    assert run(repo) == 1
    said = capsys.readouterr().err
    assert (
        said.startswith("error: one.ipynb: DeadKernelError") and said.count("\n") == 1
    )


@copied
def test_a_process_to_copy_that_is_gone_ends_the_build_in_one_line(
    repo, capsys, monkeypatch
):
    monkeypatch.setattr(execute, "FEW", 0)
    monkeypatch.setattr(kernels.sys, "executable", "/bin/false")
    assert run(repo) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: one.ipynb: ") and said.count("\n") == 1


def test_no_kernel_outlives_the_build(repo):
    write(repo / "notebooks" / "one.ipynb", "import os", "print(os.getpid())")
    with kernels.prepared():
        execute.execute(repo / "notebooks" / "one.ipynb", repo, {})
    with pytest.raises(ProcessLookupError):
        os.kill(int(printed(repo)), 0)
    assert kernels.AT not in os.environ


@pytest.mark.parametrize("few", [0, 3])
def test_nothing_outlives_a_build_that_is_killed(repo, few):
    waits = "import time\nopen('begun', 'w').close()\ntime.sleep(900)"
    write(repo / "notebooks" / "one.ipynb", waits)
    start = f"from tools import execute\nexecute.FEW = {few}\nexecute.main()"
    command = [sys.executable, "-c", start, "--root", str(repo)]
    build = subprocess.Popen(command, cwd=paths.ROOT)
    _soon(lambda: (repo / "notebooks" / "begun").exists())
    began = psutil.Process(build.pid).children(recursive=True)
    assert len(began) > 2, "a worker, a kernel, and what watches them"
    build.kill()
    build.wait()
    _soon(lambda: not any(one.is_running() for one in began))


def _soon(true: Callable[[], bool], patience_s: float = 120) -> None:
    until = time.monotonic() + patience_s
    while not true():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_an_unknown_parameter_is_one_clear_line(repo, capsys):
    assert run(repo, "-p", "round", "7") == 2
    assert capsys.readouterr().err == (
        "error: no notebook has a parameter 'round'; there are: rounds\n"
    )
    assert not paths.stage(repo).exists()


def test_a_failing_cell_is_red_and_leaves_nothing_behind(repo, capsys):
    assert run(repo) == 0
    paths.site(repo).mkdir(parents=True)
    write(
        repo / "notebooks" / "one.ipynb",
        "x = 1",
        "raise RuntimeError('planted\\nhere')",
    )
    capsys.readouterr()
    assert run(repo) == 1
    assert capsys.readouterr().err == (
        "error: one.ipynb, cell [3] \"raise RuntimeError('planted\\\\nhere')\": "
        "RuntimeError: planted here\n"
    )
    assert not execute.copy_of(repo / "notebooks" / "one.ipynb", repo).exists()
    assert not paths.site(repo).exists()


def test_the_copy_of_a_notebook_that_is_gone_goes(repo):
    (paths.stage(repo) / "notebooks").mkdir(parents=True)
    gone = paths.stage(repo) / "notebooks" / "gone.ipynb"
    gone.write_text("{}")
    assert run(repo) == 0
    assert not gone.exists()


def test_stored_references_do_not_matter_and_everything_else_does(repo):
    source = repo / "notebooks" / "one.ipynb"
    mark = execute.fingerprint(source, repo, {})
    notebook = nbformat.read(source, as_version=4)
    notebook.cells[-1].execution_count = 3
    notebook.cells[-1].outputs = [nbformat.v4.new_output("stream", text="first 1")]
    nbformat.write(notebook, source)
    assert execute.fingerprint(source, repo, {}) == mark

    marks = {mark, execute.fingerprint(source, repo, {"rounds": 2})}
    (repo / "requirements.lock").write_text("torch==1\n")
    marks.add(execute.fingerprint(source, repo, {}))
    (repo / "fedlab_core" / "__init__.py").write_text("word = 'other'\n")
    marks.add(execute.fingerprint(source, repo, {}))
    marks.add(execute.fingerprint(source, repo, {}, ["results/one.json"]))
    (repo / "results").mkdir()
    (repo / "results" / "one.json").write_text(json.dumps({"accuracy": 1}))
    marks.add(execute.fingerprint(source, repo, {}, ["results/one.json"]))
    notebook.cells[0].source = "# Another title"
    nbformat.write(notebook, source)
    marks.add(execute.fingerprint(source, repo, {}))
    assert len(marks) == 7


def test_the_site_is_rebuilt_only_if_something_changed_and_keeps_no_old_page(repo):
    assert run(repo) == 0
    assert build.build(repo)
    page = paths.site(repo) / "notebooks" / "one.html"
    assert "first 1" in page.read_text()
    assert not build.build(repo)

    (repo / "book" / "_toc.yml").write_text("format: jb-book\nroot: book/index\n")
    (repo / "_config.yml").write_text(
        (repo / "_config.yml").read_text() + "only_build_toc_files: true\n"
    )
    assert build.build(repo)
    assert not page.exists()


def test_a_broken_link_is_red_and_leaves_no_site(repo, capsys):
    assert run(repo) == 0
    (repo / "book" / "index.md").write_text("# Book\n\n[gone](gone.md)\n")
    assert build.main(["--root", str(repo)]) == 1
    said = capsys.readouterr()
    assert "book/index.md:3" in said.out and "gone.md" in said.out
    assert said.err == "error: the site was not built; what is wrong stands above\n"
    assert not paths.site(repo).exists()


def test_a_percentage_is_not_broken_but_what_is_verbatim_stays():
    page = (
        "<p>95 % of 5 %</p><pre><code>a</code> 7 % b</pre><svg>1 %</svg><td>100 %</td>"
    )
    assert build.percents_held(page) == (
        "<p>95\u00a0% of 5\u00a0%</p><pre><code>a</code> 7 % b</pre><svg>1 %</svg>"
        "<td>100\u00a0%</td>"
    )


def test_the_arrows_of_the_contents_have_a_name():
    arrow = '<details><summary><span class="toctree-toggle"></span></summary></details>'
    told = build.toggles_named(f"{arrow}<details><summary>Show</summary></details>")
    assert told.count('aria-label="The pages below this one"') == 1
    assert "<summary>Show" in told
