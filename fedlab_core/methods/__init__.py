"""The methods, one file a paper, and by name: each is added by one line below.

"Agreement" in a module is the largest difference from published code when that was
measured, at the commit in brackets, with the same draws: `results/agreement.csv`.
"""
# ruff: noqa: I001

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial

from fedlab_core.client import Rule
from fedlab_core.arguments import checked
from fedlab_core.errors import InputError

# fmt: off
from fedlab_core.methods import (
    cfl, ditto, fedadam, fedavg, fedavgm, fedbe, fedcollab, feddc, feddf, feddisco,
    feddyn, fedimpro, fedlaw, fednova, fedprox, fesem, finetune, ifca, kmeans, moon,
    per_fedavg, pfedme, qfedavg, rfedavg, scaffold, server_ft,
)
# fmt: on
from fedlab_core.rounds import Method


@checked
@dataclass(frozen=True)
class Entry:
    """A method's maker, its paper, and the test that holds it against a plain one."""

    make: Callable[..., Method]
    paper: str
    tested: str  # by tests/methods/test_NAME.py

    @property
    def proof(self) -> str:
        """Path of the test."""
        return f"tests/methods/test_{self.tested}.py"

    def __call__(self, *arguments, **options) -> Method:
        return self.make(*arguments, **options)


_EQUAL = partial(fedavg.fedavg, weigh=fedavg.Equal(), name="Equal")
METHODS: dict[str, Entry] = {
    "fedavg": Entry(fedavg.fedavg, "McMahan et al. 2017", "fedavg"),
    "equal": Entry(_EQUAL, "McMahan et al. 2017", "fedavg"),
    "local": Entry(fedavg.local_only, "each by itself", "fedavg"),
    "feddisco": Entry(feddisco.feddisco, "Ye et al. 2023", "feddisco"),
    "shrunk": Entry(fedlaw.shrunk, "Li et al. 2023", "fedlaw"),
    "gws": Entry(fedlaw.gws, "Li et al. 2023", "fedlaw"),
    "attentive": Entry(fedlaw.attentive, "Li et al. 2023", "fedlaw"),
    "fedlaw": Entry(fedlaw.fedlaw, "Li et al. 2023", "fedlaw"),
    "fedlaw-swa": Entry(fedlaw.fedlaw_swa, "Li et al. 2023", "fedlaw"),
    "rfedavg": Entry(rfedavg.rfedavg, "Wang et al. 2023", "rfedavg"),
    "rfedavg-plus": Entry(rfedavg.rfedavg_plus, "Wang et al. 2023", "rfedavg"),
    "fedimpro": Entry(fedimpro.fedimpro, "Tang et al. 2024", "fedimpro"),
    "fedcollab": Entry(fedcollab.fedcollab, "Bao et al. 2023", "fedcollab"),
    "fedprox": Entry(fedprox.fedprox, "Li et al. 2020", "baselines"),
    "scaffold": Entry(scaffold.scaffold, "Karimireddy et al. 2020", "baselines"),
    "feddyn": Entry(feddyn.feddyn, "Acar et al. 2021", "baselines"),
    "feddc": Entry(feddc.feddc, "Gao et al. 2022", "baselines"),
    "moon": Entry(moon.moon, "Li et al. 2021", "baselines"),
    "fednova": Entry(fednova.fednova, "Wang et al. 2020", "baselines"),
    "fedavgm": Entry(fedavgm.fedavgm, "Hsu et al. 2019", "baselines"),
    "fedadam": Entry(fedadam.fedadam, "Reddi et al. 2021", "baselines"),
    "q-fedavg": Entry(qfedavg.qfedavg, "Li et al. 2020", "baselines"),
    "feddf": Entry(feddf.feddf, "Lin et al. 2020", "distill"),
    "fedbe": Entry(fedbe.fedbe, "Chen and Chao 2021", "distill"),
    "server-ft": Entry(server_ft.server_ft, "Li et al. 2023", "distill"),
    "ifca": Entry(ifca.ifca, "Ghosh et al. 2020", "clustering"),
    "cfl": Entry(cfl.cfl, "Sattler et al. 2021", "clustering"),
    "fesem": Entry(fesem.fesem, "Long et al. 2022", "clustering"),
    "kmeans": Entry(kmeans.kmeans, "Ghosh et al. 2019", "clustering"),
    "finetune": Entry(finetune.finetune, "fine-tuning", "personal"),
    "per-fedavg": Entry(per_fedavg.per_fedavg, "Fallah et al. 2020", "personal"),
    "pfedme": Entry(pfedme.pfedme, "Dinh et al. 2020", "personal"),
    "ditto": Entry(ditto.ditto, "Li et al. 2021", "personal"),
}


class _Named(dict[str, Entry]):
    """The methods by name; a name that is none is refused with those near it."""

    def __missing__(self, name: object) -> Entry:
        near = get_close_matches(str(name), self, 3) or list(self)
        raise InputError(f"no method {name!r}: choose from {', '.join(near)}")


METHODS = _Named(METHODS)


@checked
def named_rule(rule: Rule) -> str:
    """Short name of a client's rule: those of its loss, gradient and push."""
    hooks = (rule.loss, rule.gradient, rule.push)
    names = [getattr(h, "__name__", type(h).__name__) for h in hooks if h]
    return " + ".join(n.replace("_", "-").lower() for n in names)
