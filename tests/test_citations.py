"""Places of papers that docstrings cite: each is known, with what stands there."""

import ast
import re

import pytest

from tests.test_architecture import MODULES

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


@pytest.mark.slow
def test_every_reference_names_a_known_place():
    said = [pair for tree in MODULES.values() for pair in references(tree)]
    assert len(said) >= 7
    for paper, label in said:
        assert label in LABELS.get(paper, {}), f"{paper} {label} is not known"
