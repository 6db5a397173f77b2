"""Gains that the paper prints for rFedAvg+, beside those that the ledger has."""

import pandas as pd

from fedlab_book.bench import SAID
from fedlab_book.ledger.claimed import our_gain
from fedlab_ledger.judge.claims import Judged
from fedlab_ledger.model.verdict import OPPOSITE, SAME, UNDECIDED
from fedlab_ledger.report.book import opened

_SAYS = dict(zip((SAME, OPPOSITE, UNDECIDED), SAID, strict=True))
_PART = {"Table I": "all 20", "Table II": "100 of 500", "Fig. 2a": "100 of 500"}


def claims() -> list[Judged]:
    """Claims that rFedAvg+ is above FedAvg, of those that were run."""
    return [
        j
        for j in opened().claimed("rfedavg")
        if (j.claim.cell.row, j.claim.beside.row) == ("rFedAvg+", "FedAvg")
        if j.claim.cell.unit == "%" and j.claim.sign == 1 and j.verdict.word in _SAYS
    ]


def ran() -> str:
    """The scale of the ledger's runs, in a sentence."""
    own = [j.claim.cell.where for j in claims() if not j.stand_in]
    if not own:
        return "Ours: all on stand-ins, smaller than the paper's."
    return f"Ours: on stand-ins, but for {', '.join(own)}."


def gains() -> pd.DataFrame:
    """A row a claim: the paper's gain, ours, and whether we can tell."""
    rows = []
    for j in claims():
        cell, gain = j.claim.cell, j.claim.gain
        rows.append(
            {
                "paper": f"{cell.where}, {cell.column}",
                "in a round": _PART[cell.where],
                "the paper's": "sooner" if gain is None else f"{gain:+.2f}",
                "ours": our_gain(j),
                "can we tell?": _SAYS[j.verdict.word],
            }
        )
    return pd.DataFrame(rows)
