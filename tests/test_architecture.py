"""The shape of the five packages: their flow, their size, references, safety."""

import ast
import re
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.once import each
from tools.paths import PACKAGES

ROOT = Path(__file__).parents[1]
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): ast.parse(path.read_text())
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
}
CORE = {name: tree for name, tree in MODULES.items() if name.startswith("fedlab_core.")}

# Each room may import from the rooms above it, and from itself without a cycle.
FLOW = [
    "ground",  # errors, tree, keys, atomic_files: what lies at the core's root
    "arguments",
    "data",
    "partition",
    "models",
    "client",
    "engine",
    "metrics",
    "rounds",
    "methods",
    "fedlab_core",  # its public names, and its command line
    "fedlab_use",
    "fedlab_flower",
    "model",
    "run",
    "judge",
    "papers",
    "report",
    "export",
    "cli",
    "fedlab_ledger",  # its public names
    "fedlab_browser",
    "fedlab_book",
]


def room(name: str) -> str:
    """Folder of core or ledger that a module lives in, or else its package."""
    package, *inside = name.split(".")
    folders = package in ("fedlab_core", "fedlab_ledger")
    if not folders or inside[0] in ("__init__", "__main__"):
        return package
    return inside[0] if len(inside) > 1 else "ground"


def imported(tree: ast.AST, modules=MODULES) -> set[str]:
    """The modules of ours that a module imports, wherever in it, as keys of MODULES."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                known = whole in modules or f"{whole}.__init__" in modules
                found.add(whole if known else str(node.module))
    ours = {n for n in found if n.split(".")[0] in PACKAGES}
    return {n if n in modules else f"{n}.__init__" for n in ours}


DYNAMIC = ("import_module", "__import__", "find_spec", "load", "run_module")
DYNAMIC += ("resolve_name",)
# The one asks what an installed package brings: verbs, and a playground; the other
# finds a function that whoever types the command names, of a module of theirs.
PLUGINS = ("fedlab_core.rounds.extensions", "fedlab_use.own")


def dynamic(tree: ast.AST) -> list[str]:
    """Calls that load a module of ours by its name, or by one that cannot be read."""
    said = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        if called.split(".")[-1] not in DYNAMIC:
            continue
        if called.split(".")[-1] == "load" and not called.startswith("point"):
            continue  # a data set's, or JSON's
        name = node.args[0] if node.args else None
        constant = isinstance(name, ast.Constant) and isinstance(name.value, str)
        if not constant or re.split(r"[.:]", str(name.value))[0] in PACKAGES:  # type: ignore
            said.append(ast.unparse(node))
    return said


def against_the_flow(modules: dict[str, ast.Module]) -> list[str]:
    """Every import that a room may not make."""
    wrong = []
    for name, tree in modules.items():
        assert room(name) in FLOW, f"{name}: {room(name)} has no place in the flow"
        for other in imported(tree, modules):
            if FLOW.index(room(other)) > FLOW.index(room(name)):
                wrong.append(f"{name} imports {other}")
        if name not in PLUGINS:
            wrong += [f"{name} loads {call}" for call in dynamic(tree)]
    return wrong


def test_nothing_imports_against_the_flow():
    assert against_the_flow(MODULES) == []


def test_no_two_modules_import_each_other():
    graph = {name: imported(tree) - {name} for name, tree in MODULES.items()}
    TopologicalSorter(graph).prepare()


@pytest.mark.slow
@pytest.mark.parametrize(
    "where, text",
    [
        ("fedlab_core.engine.plan", "from fedlab_core.rounds.method import Method"),
        ("fedlab_core.data.images", "def f():\n    from fedlab_core import engine"),
        ("fedlab_core.tree", "import fedlab_core.keys, fedlab_core.client.rule"),
        ("fedlab_core.__main__", "from fedlab_ledger import Store"),
        ("fedlab_ledger.model.cells", "from fedlab_book import figures"),
        ("fedlab_ledger.run.player", "from fedlab_ledger.papers import TABLES"),
        ("fedlab_ledger.model.lines", "from fedlab_ledger import jobs"),
        ("fedlab_browser.tracing.graph", "from fedlab_book import figures"),
        ("fedlab_core.methods.moon", "import importlib\n"
         "importlib.import_module('fedlab_ledger')"),
        ("fedlab_ledger.run.build", "name = 'x'\n__import__(name)"),
        ("fedlab_use.keep", "import pkgutil\npkgutil.resolve_name('fedlab_book:x')"),
    ],
)  # fmt: skip
def test_a_planted_import_against_the_flow_is_seen(where, text):
    assert where in MODULES
    planted = MODULES | {where: ast.parse(text)}
    assert [w for w in against_the_flow(planted) if w.startswith(where)]


@pytest.mark.slow
def test_a_planted_cycle_is_seen():
    planted = dict(MODULES)
    planted["fedlab_core.engine.plan"] = ast.parse("import fedlab_core.engine.cohort")
    graph = {name: imported(tree) - {name} for name, tree in planted.items()}
    with pytest.raises(CycleError):
        TopologicalSorter(graph).prepare()


def test_the_reader_of_imports_reads_every_form():
    text = """
import fedlab_core.tree
from fedlab_core import data as _data, load
from fedlab_core.methods import METHODS
from fedlab_core.methods.fedavg import fedavg
import torch
"""
    assert imported(ast.parse(text)) == {
        f"fedlab_core.{name}" for name in
        ("tree", "data.__init__", "__init__", "methods.__init__", "methods.fedavg")
    }  # fmt: skip


def test_the_core_is_small_and_its_root_holds_six_files():
    at_root = [p for p in (ROOT / "fedlab_core").glob("*.py")]
    assert len(at_root) <= 6, sorted(p.name for p in at_root)
    lines = sum(_length(name) for name in CORE)
    # 1,000 of them hold what is passed to what is promised, 200 keep a run's place,
    # 270 are for a GPU alone
    assert lines <= 13_300


def test_the_ledger_has_few_wings():
    here = ROOT / "fedlab_ledger"
    entries = [p for p in here.iterdir() if p.name != "__pycache__"]
    assert len(entries) <= 9, sorted(p.name for p in entries)


def _length(name: str) -> int:
    return (ROOT / (name.replace(".", "/") + ".py")).read_text().count("\n")


@cache
def _promised(words: str) -> int:
    """The number that CONTRIBUTING gives for something."""
    text = " ".join((ROOT / "CONTRIBUTING.md").read_text().split())
    (number,) = re.findall(words + r" (\d+)", text)
    return int(number)


@each(MODULES)
def test_modules_and_functions_are_as_short_as_contributing_says(name):
    assert _length(name) <= _promised("Modules stay below") == 400
    for node in ast.walk(MODULES[name]):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            long = (node.end_lineno or 0) - node.lineno + 1
            assert long <= _promised("lines, functions below"), f"{name}.{node.name}"


@each(MODULES)
def test_every_public_function_says_what_it_is(name):
    tree = MODULES[name]
    assert ast.get_docstring(tree), name
    if name.startswith("fedlab_book.checks."):
        return  # a function there is an exercise's, and its text is the exercise
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name[0] != "_":
            assert ast.get_docstring(node), f"{name}.{node.name}"


@each(n for n in CORE if ".methods." not in n)
def test_no_module_is_named_like_a_function_of_its_own(name):
    """But in methods/: both have the paper's name, and neither hides the other."""
    defined = [n.name for n in MODULES[name].body if isinstance(n, ast.FunctionDef)]
    assert name.split(".")[-1] not in defined


@each(n for n in MODULES if n.endswith(".__init__"))
def test_no_module_is_hidden_behind_a_name_that_its_room_exports(name):
    here = name.removesuffix(".__init__")
    for node in MODULES[name].body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                shown = f"{here}.{alias.asname or alias.name}"
                itself = f"{node.module}.{alias.name}" == shown
                assert shown not in MODULES or itself, shown


SEEDS = {"manual_seed", "seed", "set_rng_state", "manual_seed_all"}


@each(MODULES)
def test_no_global_generator_is_seeded_or_drawn_from(name):
    for node in ast.walk(MODULES[name]):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        bare = re.fullmatch(r"(torch|np\.random|random)\.(random\.)?\w+", called)
        if bare and called.rsplit(".", 1)[1] in SEEDS:
            raise AssertionError(f"{name}: {called} seeds for everyone")
        legacy = re.fullmatch(r"(np|numpy)\.random\.[a-z_]+", called)
        assert not legacy or called.endswith(("default_rng",)), f"{name}: {called}"
        draws = re.fullmatch(r"torch\.(rand|randn|randint|randperm|bernoulli)", called)
        given = any(k.arg == "generator" for k in node.keywords)
        assert not draws or given, f"{name}: {called} without a generator"


@each(MODULES)
def test_nothing_is_ever_unpickled(name):
    tree = MODULES[name]
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = {a.name for a in node.names} | {getattr(node, "module", None)}
            assert not names & {"pickle", "cPickle", "dill", "joblib", "cloudpickle"}
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in ("torch.load", "pd.read_pickle", "eval", "exec")
            allowed = {k.arg: ast.unparse(k.value) for k in node.keywords}
            assert allowed.get("allow_pickle", "False") == "False"
            if called == "np.load":
                assert allowed.get("allow_pickle") == "False"


@each(n for n in MODULES if n.endswith(".__init__"))
def test_a_room_shows_nothing_but_ours(name):
    """An __init__ must use itself any name that it imports of others."""
    tree = MODULES[name]
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    for node in tree.body:
        theirs = str(getattr(node, "module", "")).split(".")[0] not in PACKAGES
        if isinstance(node, ast.ImportFrom) and theirs:
            shown = {alias.asname or alias.name for alias in node.names}
            assert shown <= used, f"{name} imports {shown - used}"


def test_the_core_imports_what_its_group_of_requirements_lists():
    """Nothing of another group: what draws, builds or tests is not the core's."""
    groups = (ROOT / "requirements.txt").read_text().split("\n\n")
    (mine,) = (g for g in groups if g.startswith("# the core:"))
    listed = {re.split("[>=]", line)[0] for line in mine.splitlines()[1:]}
    named = {"PIL": "pillow", "sklearn": "scikit-learn"}
    tops = set()
    for tree in CORE.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                tops |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                tops.add(str(node.module).split(".")[0])
    theirs = tops - sys.stdlib_module_names - {"fedlab_core"}
    assert {named.get(top, top) for top in theirs} <= listed
    assert len(theirs) >= 8


# Words that begin a clause, not a thing: a docstring that begins with one leaves the
# reader to guess the type of the value.
CLAUSES = {"what", "who", "whom", "whose", "those", "where", "which", "that"}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def clauses(source: str, file: str) -> list[str]:
    """Docstrings of a source that begin with a clause, as file:line: first line."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, DOCUMENTED):
            continue
        first = (ast.get_docstring(node) or "").split("\n")[0]
        word = re.match(r"\w*", first)
        if word and word[0].lower() in CLAUSES:
            found.append(f"{file}:{node.body[0].lineno}: {first}")
    return found


@pytest.mark.parametrize("folder", [*PACKAGES, "tools", "benchmarks", "tests"])
def test_docstrings_begin_with_a_thing_or_a_verb(folder):
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    found = []
    for path in files:
        found += clauses(path.read_text(), path.relative_to(ROOT).as_posix())
    assert not found, f"{len(found)} docstrings begin with a clause:\n" + "\n".join(
        sorted(found)
    )


def test_the_reader_of_docstrings_reads_every_form():
    source = '''
"""What is here."""
class C:
    """Those."""
    def f(self):
        """Whatever is asked for."""
    @property
    async def g(self):
        """
        Which it is, the first or
        the second.
        """
def whole():
    """The noun. What follows may be a clause."""
    def inner():
        "That's it."
x = "What is no docstring"
'''
    assert clauses(source, "m.py") == [
        "m.py:2: What is here.",
        "m.py:4: Those.",
        "m.py:9: Which it is, the first or",
        "m.py:16: That's it.",
    ]
