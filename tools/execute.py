"""Execute every notebook once; the copies are what the site shows and nbval checks.

A copy is kept as long as nothing that determines its outputs has changed: the notebook,
the modules that it imports, the files that it read, the lock file, the parameters, and
the versions of Python and PyTorch. A cell that fails ends the build and leaves no copy.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import platform
import shlex
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nbformat
import papermill
import yaml
from papermill.exceptions import PapermillExecutionError

from tools import depends, kernels, paths, recording

# The number of threads decides the order of sums, hence their last digits: with a fixed
# one, a notebook's numbers do not depend on how many cores a machine has. A second one
# gains a small network little; cores go to a notebook each.
THREADS = "1"
AT_ONCE = 4  # notebooks at most, for the memory's sake
FEW = 3  # notebooks, whose kernels begin sooner each by itself
ALONE = {"how_fast.ipynb"}  # what measures time has no neighbour
CELL_TIMEOUT_S = 600

Parameters = dict[str, Any]


class ExecutionError(Exception):
    """A notebook did not run to its end; the message names notebook, cell and error."""


def sources(root: Path) -> list[Path]:
    return sorted((root / "notebooks").glob("*.ipynb"))


def copy_of(source: Path, root: Path) -> Path:
    return paths.stage(root) / "notebooks" / source.name


def command(source: Path, parameters: Parameters) -> str:
    """Command that makes the same copy again, to be typed in a clone."""
    words = [".venv/bin/python", "-m", "tools.execute"]
    for name, value in parameters.items():
        plain = isinstance(value, str) and yaml.safe_load(value) == value
        words += ["-p", name, value if plain else json.dumps(value)]
    return shlex.join([*words, f"notebooks/{source.name}"])


def fingerprint(
    source: Path, root: Path, parameters: Parameters, read: Iterable[str] = ()
) -> str:
    """Hash of everything that determines the outputs of a notebook.

    `read` are the files it was seen to read besides its modules. Its own stored outputs
    are left out: they are references for nbval.
    """
    digest = hashlib.sha256()
    cells = nbformat.read(source, as_version=4).cells
    said = [(c.cell_type, c.source, c.metadata.get("tags", [])) for c in cells]
    typed = command(source, parameters)
    settings = [said, typed, platform.python_version(), version("torch"), THREADS]
    digest.update(json.dumps(settings, sort_keys=True).encode())
    code = [c.source for c in cells if c.cell_type == "code"]
    modules = depends.imported(code, root)
    if modules is None:
        modules = {p for name in depends.PACKAGES for p in root.glob(f"{name}/**/*.py")}
    names = {path.relative_to(root).as_posix() for path in modules}
    depends.digested({*names, *read, "requirements.lock"}, root, digest.update)
    return digest.hexdigest()


def is_fresh(source: Path, root: Path, parameters: Parameters) -> bool:
    copy = copy_of(source, root)
    if not copy.is_file():
        return False
    recorded = nbformat.read(copy, as_version=4).metadata.get("build", {})
    mark = fingerprint(source, root, parameters, recorded.get("read", ()))
    return recorded.get("fingerprint") == mark


def execute(source: Path, root: Path, parameters: Parameters) -> float:
    """Run one notebook from top to bottom; write its copy whole or not at all.

    Returns the seconds it took.
    """
    before = fingerprint(source, root, parameters)
    copy = copy_of(source, root)
    copy.unlink(missing_ok=True)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        partial, noted = Path(scratch) / source.name, Path(scratch) / "read"
        try:
            papermill.execute_notebook(
                source,
                partial,
                parameters=_known(source, parameters),
                cwd=source.parent,
                kernel_name="python3",
                kernel_manager_class=kernels.Manager,
                progress_bar=False,
                request_save_on_cell_execute=False,  # what failed is not kept
                execution_timeout=CELL_TIMEOUT_S,
                coalesce_streams=True,  # one print, one output, whatever the load
                extra_arguments=[
                    "--IPKernelApp.log_level=CRITICAL",
                    f"--IPKernelApp.exec_lines={_recording(root, noted)}",
                ],
            )
        except PapermillExecutionError as error:
            raise ExecutionError(_one_line(source, error)) from error
        except Exception as error:  # a dead kernel, a timeout, a broken file
            reason = " ".join(str(error).split())[:300]
            name = f"{source.name}: {type(error).__name__}"
            raise ExecutionError(f"{name}: {reason}") from error
        seconds = time.perf_counter() - start
        read = depends.opened(noted.read_text().splitlines())
        _require_unchanged(source, before, fingerprint(source, root, parameters))
        mark = fingerprint(source, root, parameters, read)
        notebook = nbformat.read(partial, as_version=4)
        _hide_injected(notebook)
        notebook.metadata["build"] = {
            "fingerprint": mark,
            "read": read,
            "seconds": round(seconds, 1),
            "command": command(source, _known(source, parameters)),
        }
        notebook.metadata.pop("papermill", None)  # paths and times of this machine
        nbformat.write(notebook, partial)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(partial, copy.with_suffix(".part"))
        os.replace(copy.with_suffix(".part"), copy)
    return seconds


def _recording(root: Path, to: Path) -> str:
    """Code that lets a kernel write down what it opens below `root`."""
    ours = f"run_path({recording.__file__!r})"
    return f"__import__('runpy').{ours}['record']({str(root)!r}, {str(to)!r})"


def _require_unchanged(source: Path, before: str, after: str) -> None:
    if before != after:
        raise ExecutionError(f"{source.name}: it, or a module of it, changed meanwhile")


def execute_all(root: Path, parameters: Parameters, only: Iterable[Path] = ()) -> None:
    """Bring every copy up to date, and remove the copies of notebooks that are gone."""
    every = sources(root)
    _require_known(every, parameters)
    for copy in (paths.stage(root) / "notebooks").glob("*"):
        if copy.name not in {source.name for source in every}:
            copy.unlink()
    chosen = list(only) or every
    width = max((len(source.name) for source in chosen), default=0)
    stale = [s for s in chosen if not is_fresh(s, root, parameters)]
    for source in chosen:
        if source not in stale:
            print(f"  {source.name:{width}}  up to date", flush=True)
    if not stale:
        return
    at_once = min(AT_ONCE, os.cpu_count() or 1)
    together = [s for s in stale if s.name not in ALONE]
    apart = [s for s in stale if s.name in ALONE]
    # Fresh processes: nothing of this one's threads is copied into them.
    fresh = multiprocessing.get_context("spawn")
    copied = kernels.prepared() if len(stale) > FEW else nullcontext()
    with copied:
        for some, workers in ((together, at_once), (apart, 1)):
            with ProcessPoolExecutor(workers, fresh, _end_with_the_build) as pool:
                running = {pool.submit(execute, s, root, parameters): s for s in some}
                try:
                    for done in as_completed(running):
                        _report(running[done], done, root, width)
                except BaseException:
                    pool.shutdown(wait=True, cancel_futures=True)
                    raise


def _end_with_the_build() -> None:
    """Watches the build from a worker: killed, it can ask nobody to end."""
    build = multiprocessing.parent_process()

    def watch() -> None:
        if build:
            build.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _report(source: Path, done: Future[float], root: Path, width: int) -> None:
    print(f"  {source.name:{width}}  ", end="", flush=True)
    try:
        seconds = done.result()
    except ExecutionError:
        print("failed", flush=True)
        raise
    megabytes = copy_of(source, root).stat().st_size / 1e6
    print(f"{seconds:5.1f} s  {megabytes:5.2f} MB", flush=True)


def _parameters_of(source: Path) -> set[str]:
    return set(papermill.inspect_notebook(source))


def _known(source: Path, parameters: Parameters) -> Parameters:
    if not parameters:
        return {}
    names = _parameters_of(source)
    return {name: value for name, value in parameters.items() if name in names}


def _require_known(notebooks: list[Path], parameters: Parameters) -> None:
    if not parameters:
        return
    names = set().union(*map(_parameters_of, notebooks))
    if unknown := sorted(set(parameters) - names):
        raise ValueError(
            f"no notebook has a parameter {unknown[0]!r}; "
            f"there are: {', '.join(sorted(names)) or 'none'}"
        )


def _one_line(source: Path, error: PapermillExecutionError) -> str:
    # papermill counts a notebook's cells from 0 and includes the injected one.
    value = " ".join(str(error.evalue).split())
    first = next(iter(error.source.strip().splitlines()), "")
    return f"{source.name}, cell [{error.exec_count}] {first!r}: {error.ename}: {value}"


def _hide_injected(notebook: nbformat.NotebookNode) -> None:
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if "injected-parameters" in tags:
            cell.metadata["tags"] = [*tags, "remove-cell"]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.execute", description=__doc__
    )
    parser.add_argument("notebooks", nargs="*", type=Path, help="all, if none is named")
    parser.add_argument("--root", type=Path, default=paths.ROOT)
    parser.add_argument(
        "-p", nargs=2, action="append", default=[], metavar=("NAME", "VALUE")
    )
    given = parser.parse_args(arguments)
    root = given.root.resolve()
    parameters = {name: yaml.safe_load(value) for name, value in given.p}
    os.environ["OMP_NUM_THREADS"] = THREADS
    os.environ["FEDLAB_PROGRESS"] = "0"  # a finished bar says nothing on a page
    os.environ["FEDLAB_PAGES"] = "1"  # which have the playground at hand
    there = [str(root), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, there))
    try:
        execute_all(root, parameters, [path.resolve() for path in given.notebooks])
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except ExecutionError as error:
        # No page may outlive the notebook it was made from.
        shutil.rmtree(paths.site(root), ignore_errors=True)
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
