"""The paper's claims beside ours, a row each, and whether we can tell."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fedlab_book.bench import Comparison, pm, verdict
from fedlab_book.chapters.shrinking.gains import DECAY, FIXED, GWS, PLACES, Paper
from fedlab_book.quoted import fedlaw as quoted

FEWER = "GWS gains more with one epoch than with five (there in as many rounds)"


@dataclass(frozen=True)
class Beside:
    """A claim in words, the paper's gains in points, and ours seed by seed."""

    claim: str
    paper: Sequence[float]  # of one network, or of each that the paper has
    ours: np.ndarray
    sign: int = 1  # of the paper's claim
    word: str = ""  # the verdict, where it is another's than this table's
    says: str = ""  # the paper, where it prints no number

    def row(self) -> dict[str, str]:
        """As the table has it."""
        return {
            "comparison": self.claim,
            "paper": self.says or ", ".join(f"{v:+z.1f}" for v in self.paper),
            "here": pm(self.ours),
            "can we tell?": self.word or verdict(self.ours, self.sign),
        }


def printed() -> dict[tuple[str, str], dict[str, list[float]]]:
    """The paper's gains, as (part, split) -> arm -> one a network."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    frame = quoted.chapter()
    gains = (frame.with_ - frame.without).round(6).tolist()
    names = frame[["part", "split", "arm"]].to_numpy().tolist()
    for (part, split, arm), gain in zip(names, gains, strict=True):
        found.setdefault((part, split), {}).setdefault(arm, []).append(gain)
    return found


def claims(found: Comparison, quick: Comparison, paper: Paper) -> pd.DataFrame:
    """Claims that chapter 4 ends with; `found` and `quick` are its own runs."""
    why, hurt = paper["why", "alike"], paper["hand", "uneven"][FIXED]
    costs, alone = (found.gain(arm, where="uneven") for arm in (FIXED, GWS))
    lost = sum(v < 0 for v in hurt)
    word = f"{verdict(costs, -1)} (theirs: {lost} of {len(hurt)})"
    rows = [
        Beside(
            f"{FIXED} helps, alike (there two epochs)",
            paper["hand", "alike"][FIXED],
            found.gain(FIXED, where="alike"),
        ),
        Beside(f"{FIXED} hurts, uneven", hurt, costs, -1, word),
        Beside("GWS beats FedAvg, alike", why[GWS], found.gain(GWS, where="alike")),
        Beside("GWS beats FedAvg, uneven", [], alone, says="it does (Figure 9)"),
    ]
    for where in PLACES:
        theirs, law = (
            paper["images", where]["FedLAW"],
            found.gain("FedLAW", where=where),
        )
        rows.append(Beside(f"FedLAW beats FedAvg, {where}", theirs, law))
    more = found.gain(GWS, DECAY, "alike")
    rows.append(Beside("GWS beats decay, alike", [why[GWS][0] - why[DECAY][0]], more))
    theirs, brief = paper["one epoch", "alike"][GWS], quick.gain(GWS, where="alike")
    rows.append(Beside("GWS beats FedAvg, alike, one epoch", theirs, brief))
    more = brief - found.gain(GWS, where="alike")[: len(brief)]
    says = "it does (Figure 2)"
    rows.append(Beside(FEWER, [], more, says=says))
    more = _of_factors(found, quick, paper)
    return pd.DataFrame([row.row() for row in (*rows, *more)])


def _of_factors(found: Comparison, quick: Comparison, paper: Paper) -> list[Beside]:
    """Claims on the learned factor: all in hundredths."""
    end = {w: 100 * found.ends(GWS, w, "gamma") for w in PLACES}
    brief = 100 * quick.ends(GWS, "alike", "gamma")
    farther = brief - end["alike"][: len(brief)]  # the first seeds of as many
    theirs = [100 * v for v in paper["learned", "all"]["alike, at the end"]]
    below = Beside("γ is below one, alike (hundredths)", theirs, end["alike"] - 100, -1)
    few = "γ is nearer to one with one epoch (hundredths)"
    nearer = "γ is nearer to one where uneven (hundredths)"
    first = 100 * found.curves(GWS, "alike", "gamma")[:, 0]
    rises = "γ rises in training, there at falling step sizes (hundredths)"
    path = end["alike"] - first
    word = f"{verdict(path, 1)} (another setting)"
    long = [found.curves(a, "alike", "length")[:, -1] for a in (GWS, "FedAvg")]
    shorter = "GWS's network is shorter, at the end, alike (lengths)"
    return [
        below,
        Beside(rises, [], path, 1, word, says="it does (Figure 3)"),
        Beside(shorter, [], long[0] - long[1], -1, says="it is (Figure 10)"),
        Beside(nearer, [], end["uneven"] - end["alike"], says="it does (Figure 9)"),
        Beside(few, [], farther, says="it does (Figure 2)"),
    ]
