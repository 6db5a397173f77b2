"""Every table of the five papers, as cells: the paper's number, and how to run it.

One module a paper; `field`, where all of them meet; and `gaps`, where what was not
found is looked for. A setting is given at each scale: "tiny" is the built-in letters
for a round or two, "small" letters or a part of a real set in minutes on a CPU, "paper"
what was published. A paper's numbers are typed once, here.
"""

from fedlab_ledger.model import Claim, Table
from fedlab_ledger.papers import (
    fedcollab,
    feddisco,
    fedimpro,
    fedlaw,
    field,
    gaps,
    rfedavg,
)

PAPERS = {
    "feddisco": feddisco.TABLES,
    "fedimpro": fedimpro.TABLES,
    "fedcollab": fedcollab.TABLES,
    "fedlaw": fedlaw.TABLES,
    "rfedavg": rfedavg.TABLES,
}
TABLES: dict[str, Table] = {
    t.path: t for ts in (*PAPERS.values(), field.TABLES, gaps.TABLES) for t in ts
}
# What each paper says beats what, judged by seeds that both were played with.
CLAIMS: dict[str, tuple[Claim, ...]] = {
    "feddisco": feddisco.CLAIMS,
    "fedimpro": fedimpro.CLAIMS,
    "fedcollab": fedcollab.CLAIMS,
    "fedlaw": fedlaw.CLAIMS,
    "rfedavg": rfedavg.CLAIMS,
    "gaps": gaps.CLAIMS,
}
