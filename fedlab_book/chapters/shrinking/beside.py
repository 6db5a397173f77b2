"""The paper's claims beside ours, a row each, and whether we can tell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fedlab_book.bench import Comparison, pm, verdict
from fedlab_ledger.book import Book


@dataclass(frozen=True)
class Beside:
    """A claim in words, the paper's gains in points, and ours seed by seed."""

    claim: str
    paper: Sequence[float]  # of one network, or of each that the paper has
    ours: np.ndarray
    sign: int = 1  # of the paper's claim
    word: str = ""  # the verdict, where the ledger has one

    def row(self) -> dict[str, str]:
        """As the table has it."""
        return {
            "claim": self.claim,
            "paper": ", ".join(f"{v:+z.1f}" for v in self.paper),
            "here": pm(self.ours),
            "can we tell?": self.word or verdict(self.ours, self.sign),
        }


def printed(path: str) -> dict[tuple[str, str], dict[str, list[float]]]:
    """The paper's gains, as (part, split) -> arm -> one a network."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    frame = pd.read_csv(path)
    gains = (frame.with_ - frame.without).tolist()
    names = frame[["part", "split", "arm"]].to_numpy().tolist()
    for (part, split, arm), gain in zip(names, gains, strict=True):
        found.setdefault((part, split), {}).setdefault(arm, []).append(gain)
    return found


def six_claims(
    found: Comparison,
    bad: Comparison,
    paper: Mapping[tuple[str, str], Mapping[str, Sequence[float]]],
    book: Book,
) -> pd.DataFrame:
    """The six that chapter 4 ends with; `found` and `bad` are its own runs."""
    fixed = "γ = 0.93"
    claims = [
        Beside(
            f"{fixed} {what}",
            paper["hand", where][fixed],
            found.gain(fixed, where=where),
            sign,
        )
        for where, sign, what in (
            ("alike", 1, "helps alike clinics (the paper: three networks)"),
            ("uneven", -1, "hurts very uneven ones (α = .1), two networks of three"),
        )
    ]
    for where in ("alike", "uneven"):
        theirs = paper["images", where]
        more = theirs["FedLAW"][0] - theirs["Server-FT"][0]
        ours = found.gain("FedLAW", over="Server-FT", where=where)
        claims.append(
            Beside(f"FedLAW is ahead of Server-FT, clinics {where}", [more], ours)
        )
    claims += [
        Beside(
            "FedLAW is ahead of FedAvg, half of the clinics wrong (labels swapped "
            "there, all mixed up here)",
            paper["wrong", "alike"]["FedLAW"],
            bad.gain("FedLAW"),
        ),
        at_paper_scale(book, "fedlaw", "table3: over FedAvg, FMNIST MLP, α=0.1"),
    ]
    return pd.DataFrame([claim.row() for claim in claims])


def at_paper_scale(book: Book, paper: str, name: str) -> Beside:
    """A claim of a headline table, and what the ledger has at the paper's scale."""
    found = {j.claim.name: j for j in book.headline_claims(paper)}[name]
    claim = found.claim
    mine, base = claim.cell.paper_value, claim.beside.paper_value
    assert mine is not None and base is not None, f"{name}: the paper prints both"
    theirs = mine - base
    seeds = sorted(found.mine.keys() & found.theirs.keys())
    ours = [found.mine[s]["value"] - found.theirs[s]["value"] for s in seeds]
    told = f"{claim.sentence}, on the paper's own data, network and rounds"
    return Beside(told, [theirs], np.array(ours), claim.sign, found.word)
