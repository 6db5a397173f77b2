"""Findings of chapter 7: what is forgotten in a round, what keeps it, and how long."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fedlab_book.bench import SAID, Comparison, side
from fedlab_book.chapters.forgetting.arms import MASKED, OWN, REFIT, TURN, TWICE
from fedlab_book.findings import Facts, Row
from fedlab_book.ledger.claimed import our_gain
from fedlab_book.panels import Panel, bars, course
from fedlab_core.rounds.records import Round
from fedlab_ledger.judge.claims import Judged
from fedlab_ledger.model.verdict import OPPOSITE, SAME
from fedlab_ledger.report.book import opened

COLOURS = {"FedAvg": "FedAvg", TURN: "orange", OWN: "rose", REFIT: "green"}
COLOURS[MASKED] = "magenta"
FEW, MANY = 0.05, 0.5  # of a letter's images: next to nobody holds it; it is there
LOSES = {  # guesses of which letters a round costs, and what is told to each
    "Those that are read worst: they are the hard ones": "A hard letter is read badly "
    "in every round. What falls in one round was read well in the one before.",
    "Those that nobody drawn holds": "Whoever trains "
    "without a letter learns in every step never to say it.",
    "All of them a little: the whole network wavers": "Letters that a drawn clinic "
    "holds hardly move.",
}
KEEPS = {  # guesses of what the masked head does, and what is told to each
    "Lost letters stay, and more is read in all": "They stay. But an output that "
    "nobody corrects is not only kept: it is never told when to be silent.",
    "Lost letters stay, and less is read in all": "What unlearns K also teaches "
    "when it is not K. Masked, nobody teaches it.",
    "Lost letters do not stay: the average forgets them": "The average keeps them: "
    "nobody has pushed them down.",
}


def seen(now: Round) -> dict[str, np.ndarray]:
    """Of a round, by letter: the share of it that was drawn, and how much is read."""
    counts, scores = now.world.counts.double(), now.scores
    assert scores is not None
    present = counts[now.ids].sum(0) / counts.sum(0).clamp(min=1)
    return {
        "present": present.numpy(),
        "read": scores.per_class[0].double().cpu().numpy(),
    }


def change(found: Comparison, arm: str, before: str, after: str) -> np.ndarray:
    """Points by which a letter that was drawn so comes to be read otherwise.

    `before` and `after`, of the round before and this one: "gone", next to nobody drawn
    holds the letter; "there", clinics with half of it or more are drawn. One a seed.
    """
    present, read = (found.curves(arm, what=w) for w in ("present", "read"))
    kinds = {"gone": present < FEW, "there": present >= MANY}
    chosen = kinds[before][:, :-1] & kinds[after][:, 1:]
    return _mean(100 * np.diff(read, axis=1), chosen)


def read(found: Comparison, arm: str, when: str) -> np.ndarray:
    """Percent of a letter that is read in rounds in which it is "gone" or "there"."""
    present = found.curves(arm, what="present")
    chosen = present < FEW if when == "gone" else present >= MANY
    return _mean(100 * found.curves(arm, what="read"), chosen)


def _mean(values: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    pairs = zip(values, chosen, strict=True)
    return np.array([v[c].mean() if c.any() else np.nan for v, c in pairs])


def ahead(found: Comparison, arm: str, over: str = "FedAvg") -> np.ndarray:
    """Points that an arm has more than another: (seeds, rounds)."""
    return 100 * (found.curves(arm) - found.curves(over))


def early(found: Comparison, arm: str, over: str = "FedAvg") -> np.ndarray:
    """The same, on average over the second sixth of the rounds: one a seed."""
    more = ahead(found, arm, over)
    rounds = more.shape[1]
    return more[:, rounds // 6 : rounds // 3].mean(1)


def late(found: Comparison, arm: str, over: str = "FedAvg") -> np.ndarray:
    """The same, on average over the last rounds: one a seed."""
    return ahead(found, arm, over)[:, -found.last :].mean(1)


def loses(found: Comparison) -> str:
    """The guess that the runs bear out, on which letters a round costs."""
    _, gone, all_ = LOSES
    more = change(found, "FedAvg", "there", "gone")
    less = change(found, "FedAvg", "there", "there")
    return gone if side(more) == -1 and side(more - less) == -1 else all_


def keeps(found: Comparison) -> str:
    """The guess that the runs bear out, on the masked head."""
    more, less, not_kept = KEEPS
    if side(_kept(found)) != 1:
        return not_kept
    return more if late(found, MASKED).mean() > 0 else less


def forgetting(found: Comparison) -> Facts:
    """Whether a letter falls when its clinic goes, and comes back with it."""
    gone = change(found, "FedAvg", "there", "gone")
    back = change(found, "FedAvg", "gone", "there")
    stays = change(found, "FedAvg", "there", "there")
    rows = [
        Row("its clinic is no longer drawn", gone, words=_MORE, sign=-1),
        Row("its clinic is drawn again", back, words=_MORE, sign=1),
        Row("its clinic is drawn both times", stays, words=_MORE),
    ]
    level = {w: read(found, "FedAvg", w).mean() for w in ("there", "gone")}
    return {
        "rows": rows,
        "holds": side(gone - stays) == -1 and side(stays) > -1,
        "note": "FedAvg: how much more of one letter is read than a round before. "
        f"While its clinic is drawn, {level['there']:.0f} % of a letter is read; "
        f"while it is not, {level['gone']:.0f} %.",
    }


def whose(found: Comparison) -> Facts:
    """Whether letters in turn gain early, own ones do not, and little of it is left."""
    first, last = early(found, TURN), late(found, TURN)
    own, twice = early(found, OWN), early(found, TWICE)
    rows = [
        Row(f"{TURN}, early", first, sign=1),
        Row(f"{OWN}, early", own),
        Row(f"{TWICE}, early", twice),
        Row(f"{TURN}, at the end", last),
        Row(f"{TURN}, the end minus early", last - first, sign=-1),
    ]
    most = side(first - own) == 1 and side(own) < 1 and side(twice) < 1
    return {"rows": rows, "holds": most, "note": _when(found)}


def rivals(found: Comparison) -> Facts:
    """Whether FedImpro keeps lost letters, masking costs, a refit head gains most."""
    lost = read(found, TURN, "gone") - read(found, "FedAvg", "gone")
    kept, last = _kept(found), late(found, REFIT, TURN)
    rows = [
        Row(f"{TURN}: a letter that nobody drawn holds", lost, sign=1),
        Row(f"{MASKED}: how a letter changes when its clinic goes", kept, sign=1),
        Row(f"{MASKED}: all letters, early", early(found, MASKED), sign=-1),
        Row(f"{REFIT}: all letters, early", early(found, REFIT), sign=1),
        Row(f"{REFIT} minus {TURN}, early", early(found, REFIT, TURN), sign=1),
        Row(f"{REFIT}: all letters, at the end", late(found, REFIT), sign=1),
        Row(f"{REFIT} minus {TURN}, at the end", last),
    ]
    return {"rows": rows, "holds": side(last) > -1, "note": _when(found)}


def gains(found: Comparison, arms: Sequence[str]) -> Panel:
    """Points over FedAvg, round by round."""
    curves = {arm: ahead(found, arm) for arm in arms}
    looks = {arm: COLOURS[arm] for arm in arms}
    return course(curves, label="points over FedAvg", zero=True, colours=looks)


def by_letter(found: Comparison) -> Panel:
    """How much is read of letters that are there, and of those that are gone."""
    looks = {arm: colour for arm, colour in COLOURS.items() if arm != OWN}
    values = {
        arm: [read(found, arm, when).mean() for when in ("there", "gone")]
        for arm in looks
    }
    labels, label = ["drawn", "not drawn"], "read of a letter (%)"
    return bars(values, labels, label=label, along="its clinic is", colours=looks)


def claims() -> list[Judged]:
    """Claims of the paper's Table 1 that FedImpro is above FedAvg, run or not."""
    return [
        j
        for j in opened().claimed("fedimpro")
        if j.claim.gain is not None
        if (j.claim.beside.row, j.claim.cell.where) == ("FedAvg", "Table 1")
    ]


def unrun() -> str:
    """How many settings of the table have no run here."""
    every = claims()
    return f"{sum(j.verdict.n == 0 for j in every)} more of its settings were not run"


def beside() -> pd.DataFrame:
    """The ledger's gains of FedImpro over FedAvg beside the paper's, where it ran."""
    rows = []
    for j in claims():
        cell, gain = j.claim.cell, j.claim.gain
        if gain is None or j.verdict.n == 0:
            continue
        says = {SAME: SAID[0], OPPOSITE: SAID[1]}
        rows.append(
            {
                "paper": f"{cell.where}, {cell.column}",
                "the paper's": f"{gain:+.2f}",
                "ours": our_gain(j),
                "can we tell?": says.get(j.verdict.word, SAID[2]),
            }
        )
    return pd.DataFrame(rows)


_MORE = ("rises", "falls")


def _kept(found: Comparison) -> np.ndarray:
    """Points by which a letter falls less, masked, when its clinic goes."""
    mine, base = (change(found, a, "there", "gone") for a in (MASKED, "FedAvg"))
    return mine - base


def _when(found: Comparison) -> str:
    plain = 100 * found.curves("FedAvg")
    rounds = plain.shape[1]
    early = plain[:, rounds // 6 : rounds // 3].mean()
    return (
        f"Over FedAvg, unless it says minus. Early: rounds {rounds // 6 + 1} to "
        f"{rounds // 3}, FedAvg itself {early:.0f} %; the end: the last {found.last} "
        f"of {rounds}, FedAvg {plain[:, -found.last :].mean():.0f} %."
    )
