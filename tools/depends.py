"""Files that a notebook's outputs depend on: those it imports, and those it read.

Imports are followed by reading the code, so that they are known before anything runs;
other files, such as results or a module that is loaded by its name, are written down as
they are opened while the notebook runs (`recording`).
"""

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from tools import paths

PACKAGES = (*paths.PACKAGES, "tools")
_NOT_OURS = {"_build", "build", ".venv", ".git", ".ipynb_checkpoints"}
_INSTALLED = (".egg-info/", "__editable__")  # the lock file speaks for these
_MAGIC = ("%", "!", "?")


def imported(cells: Iterable[str], root: Path) -> set[Path] | None:
    """Modules below `root` that code imports, with all that these import.

    None for code that cannot be read: it may import anything.
    """
    found: set[Path] = set()
    waiting: list[Path] = []
    for cell in cells:
        lines = cell.splitlines()
        plain = "\n".join("" if s.lstrip().startswith(_MAGIC) else s for s in lines)
        try:
            waiting += _files(_names(ast.parse(plain)), root)
        except SyntaxError:
            return None
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imports_of(path, path.stat().st_mtime_ns, root)
    return found


@cache
def _imports_of(path: Path, changed: int, root: Path) -> list[Path]:
    return list(_files(_names(ast.parse(path.read_text())), root))


def _names(tree: ast.AST) -> Iterator[str]:
    """Dotted names that an import may mean: modules, and names taken from them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _files(names: Iterable[str], root: Path) -> Iterator[Path]:
    """The files of those names that are modules of ours, and of the packages above."""
    for name in names:
        parts = name.split(".")
        if parts[0] not in PACKAGES:
            continue
        for n in range(1, len(parts) + 1):
            base = root.joinpath(*parts[:n])
            for path in (base / "__init__.py", base.with_suffix(".py")):
                if path.is_file():
                    yield path


def opened(noted: Iterable[str]) -> list[str]:
    """Sorted paths from `recording`: modules by their sources, nothing that is made."""
    found = set()
    for name in noted:
        path = Path(name)
        if _NOT_OURS & set(path.parts) or any(mark in name for mark in _INSTALLED):
            continue
        if path.parent.name == "__pycache__":  # m.cpython-312.pyc, and while written
            path = path.parent.parent / f"{path.name.split('.')[0]}.py"
        found.add(path.as_posix())
    return sorted(found)


def digested(read: Iterable[str], root: Path, add: Callable[[bytes], object]) -> None:
    """Pass names and contents of these files to `add`, missing ones included.

    In a folder of lines, also all names that begin like one that was read, up to its
    dash: a new table of a paper concerns every reader of that paper's tables.
    """
    for name in sorted(read):
        path = root / name
        there = path.is_file()
        add(f"\n{name} {there}\n".encode())
        if there:
            add(path.read_bytes())
    lines = {root / n for n in read if n.endswith(".jsonl") and "-" in Path(n).name}
    for folder, paper in sorted({(p.parent, p.name.split("-")[0]) for p in lines}):
        add(repr(sorted(p.name for p in folder.glob(f"{paper}-*.jsonl"))).encode())
