"""The shape of the core: its flow, its size, its references, its safety."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import fedlab_core

ROOT = Path(fedlab_core.__file__).parent
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): ast.parse(path.read_text())
    for path in sorted(ROOT.rglob("*.py"))
}

# Each level may import from the levels above it, never from its own or a later one.
FLOW = [
    {"errors"},
    {"letters", "tree", "keys"},
    {"layers", "local"},
    {"data.dataset", "data.words", "data.unpack", "data.fetch"},
    {"data.builtin", "data.images", "data.writers", "data.tables"},
    {"data.sources"},
    {"data.files"},
    {"data.obtain"},
    {"data.__init__"},
    {"partition.record", "models.split"},
    {"partition.*", "models.*"},
    {"partition.__init__", "models.__init__"},
    {"scenario"},
    {"engine.plan", "engine.network", "engine.parts"},
    {"engine.step", "engine.statistics", "engine.survey"},
    {"engine.looped", "engine.stacked"},
    {"engine.captured"},
    {"engine.cohort"},
    {"engine.__init__"},
    {"metrics.*", "world", "memories", "settings", "privacy"},
    {"method"},
    {"history"},
    {"exchange", "judging"},
    {"federation"},
    {"runs"},
    {"methods.fedavg", "methods.descent"},
    {"methods.fedprox"},
    {"methods.feddyn"},
    {"methods.*"},
    {"methods.__init__"},
    {"compose"},
    {"ledger.probes", "ledger.store", "ledger.verdict"},
    {"ledger.observers"},
    {"ledger.measures"},
    {"ledger.cells"},
    {"ledger.build"},
    {"ledger.player", "ledger.show", "ledger.claims", "ledger.trace"},
    {"ledger.cluster", "ledger.card"},
    {"ledger.export"},
    {"ledger.__init__"},
    {"ledger.command"},
    {"ledger.book"},
    {"__init__"},
    {"figures", "pages"},
    {"plots", "widgets", "bars", "ledger.markup"},
    {"ledger.claimed", "ledger.curves", "ledger.panels", "ledger.pictures"},
    {"__main__"},
]
LEVEL = {name: level for level, names in enumerate(FLOW) for name in names}

# Where a docstring may say that something comes from: what the papers hold there.
LABELS = {
    "ResNet": {"Sec. 4.2": "the CIFAR networks and their shortcuts"},
    "FedAvg": {"Alg. 1": "server and client update"},
    "FedDisco": {
        "Eq. (1)": "the reformulated bound",
        "Eq. (3)": "discrepancy-aware weights",
        "Eq. (54)": "stationary weights",
        "Eq. (55)": "weights in proportion to n - a d + b",
        "Fig. 2": "mixtures of two clients, and what makes a client good",
        "Fig. 8": "accuracy of head, middle and tail classes",
        "App. A.3": "target distribution by secure aggregation",
        "App. B.5": "client-level fairness",
        "Alg. 1": "the method",
        "Thm. 4.5": "the bound",
        "Sec. 5.1": "discrepancy level, target distribution",
        "Sec. 7.1": "NIID-1 and NIID-2",
        "Sec. 7.2": "partial participation, global imbalance",
        "Table 6": "minimising the bound numerically",
        "App. B.1.2": "data sets, HAM10000's test set",
        "App. B.1.3": "heterogeneity level",
        "App. B.1.4": "models",
        "App. B.1.5": "hyper-parameters",
        "App. B.8": "regression and feature heterogeneity",
    },
    "FedProx": {"Alg. 2": "the local objective"},
    "SCAFFOLD": {"Alg. 1": "both updates, control variates"},
    "FedDyn": {"Alg. 1": "the local objective, the server"},
    "FedNova": {"Alg. 1": "the aggregation", "Sec. 4": "effective steps"},
    "FedAdam": {"Alg. 2": "the server's step"},
    "qFedAvg": {"Alg. 2": "the server's step"},
    "PerFedAvg": {"Alg. 1": "a step ahead"},
    "pFedMe": {"Alg. 1": "the Moreau envelope"},
    "FedImpro": {
        "Eq. (3)": "gradient variance, low and high",
        "Thm. 4.2": "synthetic features shrink the high part",
        "Sec. 4.1": "conditional Wasserstein distance",
        "Sec. 5.2": "weight divergence",
        "Fig. 3": "layer divergence over its peak",
        "Alg. 1": "the method",
        "Eq. (5)": "the local loss",
        "Eq. (6)": "a client's statistics",
        "Eq. (7)": "the server's statistics",
        "App. F.4": "VGG-9 on CIFAR-10",
    },
    "FedCollab": {
        "Alg. 1": "client discriminator",
        "Alg. 2": "coalition optimiser",
        "Eq. (1)": "coalition weights",
        "Eq. (7)": "the objective",
        "Eq. (9)": "collaboration matrix",
        "Eq. (10)": "empirical objective",
        "Eq. (11)": "IPR",
        "Eq. (12)": "RSD",
        "App. A.3": "distance from a discriminator",
        "App. B.3": "the solver restarted",
        "Sec. 4.4": "new clients",
        "Sec. 5.1": "label, feature, concept and quantity shift",
    },
    "rFedAvg": {
        "Alg. 1": "rFedAvg",
        "Alg. 2": "rFedAvg+",
        "Eq. (2)": "linear-kernel MMD",
        "Eq. (5)": "the regulariser",
        "Fig. 12": "noise on delta",
    },
    "FedLAW": {
        "Eq. (3)": "aggregation with gamma and lambda",
        "Eq. (4)": "optimisation term and shrinking term",
        "Eq. (6)": "Taylor decrease",
        "Eq. (7)": "attentive LAW's problem",
        "Sec. 5.1": "gradient and heterogeneity coherence",
        "Fig. 4": "rescaling, and loss along a direction",
        "Fig. 10": "top eigenvalue and ratio",
        "Fig. 12": "loss on the weight simplex",
        "Table 11": "weights against size and heterogeneity",
        "Eq. (8)": "the joint problem",
        "Eq. (10)": "quadratic and exponential forms",
        "Alg. 1": "the method",
        "Sec. 4.2": "adaptive global weight shrinking",
        "Sec. 6.1": "the method and its SWA variant",
        "Table 1": "fixed shrinking factors",
        "App. D.6": "hyper-parameters, server optimiser",
        "App. D.2": "data partition, hybrid Dirichlet",
        "App. D.3": "networks",
        "Table 8": "corrupted clients",
    },
}


def level(name: str) -> int:
    wide = name.rsplit(".", 1)[0] + ".*"
    assert name in LEVEL or wide in LEVEL, f"{name} has no place in the flow"
    return LEVEL.get(name, LEVEL.get(wide, -1))


def imported(tree: ast.AST) -> set[str]:
    """The modules of the core that a module imports, as keys of MODULES."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                part = whole.removeprefix("fedlab_core.")
                known = part in MODULES or f"{part}.__init__" in MODULES
                found.add(whole if known else str(node.module))
    ours = {n for n in found if n == "fedlab_core" or n.startswith("fedlab_core.")}
    names = {n.removeprefix("fedlab_core").removeprefix(".") for n in ours}
    return {n if n in MODULES else f"{n}.__init__".lstrip(".") for n in names}


def test_the_reader_of_imports_reads_every_form():
    text = """
import fedlab_core.tree
from fedlab_core import letters as _letters, load
from fedlab_core.methods import METHODS
from fedlab_core.methods.fedavg import fedavg
import torch
"""
    assert imported(ast.parse(text)) == {
        "tree", "letters", "__init__", "methods.__init__", "methods.fedavg",
    }  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_nothing_imports_against_the_flow(name):
    for other in imported(MODULES[name]):
        beside = "." in name and other.split(".")[0] == name.split(".")[0]
        if beside and name not in LEVEL and other not in LEVEL:
            continue  # of one package without an order: see below
        assert level(other) < level(name), f"{name} imports {other}"


def test_no_two_modules_import_each_other():
    graph = {name: imported(tree) - {name} for name, tree in MODULES.items()}
    TopologicalSorter(graph).prepare()


def test_the_flow_names_no_module_that_is_gone():
    assert {n for n in LEVEL if not n.endswith("*")} == {
        n for n in MODULES if n in LEVEL
    }


@pytest.mark.parametrize("name", MODULES)
def test_modules_and_functions_are_short(name):
    lines = (ROOT / (name.replace(".", "/") + ".py")).read_text().count("\n")
    assert lines <= 400
    for node in ast.walk(MODULES[name]):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            long = (node.end_lineno or 0) - node.lineno + 1
            assert long <= 60, f"{name}.{node.name} has {long} lines"


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_says_what_it_is(name):
    tree = MODULES[name]
    assert ast.get_docstring(tree), name
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name[0] != "_":
            assert ast.get_docstring(node), f"{name}.{node.name}"


LABEL = r"(?:(?:Alg|Thm|Sec|App|Fig|Eq)\.\s+(?:\(\d+\)|[A-Z]?[\d.]*\d)|Table\s+\d+)"


def references(tree: ast.AST) -> list[tuple[str, str]]:
    """(paper, label) of every `Paper:` in the docstrings; "" where no label follows."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)):
            continue
        text = ast.get_docstring(node) or ""
        for said in re.finditer(r"Paper:\s+(\w+)\s*", text):
            labels = re.match(rf"{LABEL}(?:,\s+{LABEL})*", text[said.end() :])
            for label in re.findall(LABEL, labels[0]) if labels else [""]:
                found.append((said[1], " ".join(label.split())))
    return found


def test_the_reader_of_references_reads_every_form():
    text = '''
"""a. Paper: FedAvg Alg. 1."""
def f():
    """b

    Paper: P Eq. (3), App.
    B.1.3; the authors' code.
    """
class C:
    """c. Paper: P, somewhere."""
'''
    assert references(ast.parse(text)) == [
        ("FedAvg", "Alg. 1"), ("P", "Eq. (3)"), ("P", "App. B.1.3"), ("P", ""),
    ]  # fmt: skip


def test_every_reference_names_a_known_place():
    said = [pair for tree in MODULES.values() for pair in references(tree)]
    assert len(said) >= 7
    for paper, label in said:
        assert label in LABELS.get(paper, {}), f"{paper} {label} is not known"


SEEDS = {"manual_seed", "seed", "set_rng_state", "manual_seed_all"}


@pytest.mark.parametrize("name", MODULES)
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


@pytest.mark.parametrize("name", MODULES)
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


def test_public_names_are_exported_on_purpose():
    for node in MODULES["__init__"].body:
        if isinstance(node, ast.ImportFrom):
            assert all(a.asname == a.name for a in node.names), ast.unparse(node)
