"""Every table of the five papers, as cells: the paper's number, and how to run it.

One file a paper. A setting is given at each scale: "tiny" is the built-in letters for a
round or two, "small" letters or a part of a real set in minutes on a CPU, "paper" what
was published. Numbers of the papers are typed once, here.
"""

from experiments import fedcollab, feddisco, fedimpro, fedlaw, rfedavg
from fedlab_core.ledger import Claim, Table

PAPERS = {
    "feddisco": feddisco.TABLES,
    "fedimpro": fedimpro.TABLES,
    "fedcollab": fedcollab.TABLES,
    "fedlaw": fedlaw.TABLES,
    "rfedavg": rfedavg.TABLES,
}
TABLES: dict[str, Table] = {t.path: t for ts in PAPERS.values() for t in ts}
# What each paper says beats what, judged by seeds that both were played with.
CLAIMS: dict[str, tuple[Claim, ...]] = {
    "feddisco": (),
    "fedimpro": (),
    "fedcollab": (),
    "fedlaw": (),
    "rfedavg": (),
}
