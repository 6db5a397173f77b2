"""Defaults of every method: its numbers, from a paper or its code.

A method's numbers are written in its maker and again in its records, to be used alone:
both must be these, and every default that there is must stand here.
"""

import importlib
import inspect
import pkgutil

import pytest

from fedlab_core import Training, methods

# Where each comes from is in the docstrings of the modules.
DEFAULTS = {
    "cfl": {"eps1": 0.4, "eps2": 1.6, "gamma_max": 0.0, "link": "complete", "after": 0},
    "clustering": {"rounds": 1, "seed": 0},
    "collab_distance": {
        "standardise": False, "hidden": 200, "lr": 0.01, "batch": 32, "rounds": 2000,
        "every": 10, "patience": 10, "seed": 0,
    },
    "combined": {"rule": "fedavg", "choice": "method"},
    "ditto": {"lam": 1.0, "begin": "first"},
    "fedadam": {"lr": 0.01, "beta1": 0.9, "beta2": 0.99, "tau": 1e-5},
    "fedavgm": {"beta": 0.5, "damped": True, "lr": 1.0},
    "fedbe": {"spread": 0.1, "floor": 1e-5},
    "fedcollab": {
        "C": 10.0, "restarts": 100, "merge": True, "sweeps": 100, "alone": False,
        "ignore": "", "seed": 0,
    },
    "feddc": {"alpha": 0.01, "correction": True, "rescale": True},
    "feddisco": {"a": 0.5, "b": 0.1, "metric": "kl", "normalise": True},
    "feddyn": {"alpha": 0.01, "form": "disco", "rescale": True, "squared": False},
    "fedimpro": {
        "alpha": 1.0, "ramp": True, "epochs": 1, "cap": 0.1, "matching": False,
        "momentum": 0.0, "noise": 0.0, "s": 0.1, "form": "code", "seed": 0,
    },
    "fedlaw": {
        "gamma": 0.95, "learn": "both", "lr": 0.01, "betas": (0.5, 0.999),
        "server_epochs": 100, "batch": 128, "halve_every": 20, "parameters": "exp",
        "start": "weights", "statistics": "average", "global_lr": 1.0,
        "order": "lambda first", "swa_lr": 0.05, "average_from": 6, "anneal": 10,
        "period": 100,
    },
    "fedprox": {"mu": 0.01, "half": True},
    "fesem": {"k": 4, "start": "kmeans"},
    "finetune": {"steps": 2},
    "ifca": {"k": 4},
    "kmeans": {"k": 4, "alone": 10},
    "moon": {"mu": 0.1, "temperature": 0.5},
    "pfedme": {"lam": 1.0, "inner_lr": 0.1, "inner_steps": 5},
    "qfedavg": {"q": 1.0, "scaled_norm": False},
    "rfedavg": {
        "lam": 1e-4, "own": False, "present": False, "spread": False, "plus": False,
        "form": "paper", "noise": 0.0,
    },
    "scaffold": {"lr": 1.0, "factor": True, "after": False},
    "server_ft": {"epochs": 2},
    "server_steps": {
        "epochs": 100, "optimiser": "sgd", "batch": 128, "momentum": 0.9,
        "weight_decay": 5e-4, "keep_velocity": True, "betas": (0.5, 0.999),
        "statistics": "running",
    },
}  # fmt: skip
NAMES = ("name", "scalars")  # what a rule is called, and how much it reports


def written(room: str) -> dict[str, set]:
    """Every default of a room's public functions and records, by its name."""
    module = importlib.import_module(f"fedlab_core.methods.{room}")
    found: dict[str, set] = {}
    for name, thing in vars(module).items():
        own = getattr(thing, "__module__", "") == module.__name__
        if name.startswith("_") or not own or not callable(thing):
            continue
        for asked in inspect.signature(thing).parameters.values():
            plain = isinstance(asked.default, (bool, int, float, str, tuple))
            if plain and asked.name not in NAMES:
                found.setdefault(asked.name, set()).add(asked.default)
    return found


ROOMS = [m.name for m in pkgutil.iter_modules(methods.__path__)]


@pytest.mark.parametrize("room", ROOMS)
def test_defaults_are_these_wherever_they_are_written(room):
    wanted = {name: {value} for name, value in DEFAULTS.get(room, {}).items()}
    assert written(room) == wanted


def test_training_is_plain_sgd_unless_more_is_said():
    plain = Training()
    assert (plain.lr, plain.epochs, plain.batch_size) == (0.1, 1, 32)
    more = {"lr", "epochs", "batch_size", "statistics"}
    assert not any(v for n, v in vars(plain).items() if n not in more)
    assert plain.statistics == "average"


@pytest.mark.parametrize("make", [methods.feddyn.feddyn, methods.feddc.feddc])
def test_gradients_are_clipped_at_ten_as_in_the_published_code(make):
    """Gradients of tests are too small to be clipped, and the plain versions clip."""
    assert make().training.clip == 10
