"""Clinics whose labels are wrong: who gets which share, and what that is worth."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from fedlab_book.bench import Comparison, side
from fedlab_book.chapters.shrinking.gains import Facts, Printed
from fedlab_book.figures import INK, PALETTE, canvas
from fedlab_book.findings import Row
from fedlab_core.rounds.history import Round
from fedlab_core.rounds.weigh import Members

ALONE = "the right half alone"  # an arm whose server knows who is wrong


def shares_of(now: Round) -> Tensor:
    """Everyone's share in a round: the learned one, or that by size."""
    return now.servers[0].memory.get("lambda", now.weights[0]).cpu()


def shares(now: Round) -> dict[str, np.ndarray]:
    """The same, to be seen in every round of a run."""
    return {"shares": shares_of(now).numpy()}


def in_round(
    found: Comparison, wrong: Sequence[np.ndarray], arm: str, t: int
) -> tuple[Figure, str]:
    """Every client's share in a round, those of wrong labels in a row of their own."""
    held, false = 100 * found.curves(arm, what="shares"), np.array(wrong)
    now = held[:, t - 1]
    fig, ax = canvas(520, 240)
    for row, (part, colour) in enumerate(((~false, "green"), (false, "red"))):
        up = row + np.linspace(-0.25, 0.25, part.sum())
        style = {"color": PALETTE[colour], "markeredgecolor": INK, "markersize": 8}
        ax.plot(now[part], up, "oX"[row], **style)
    ax.axvline(100 / now.shape[1], color=INK, linestyle=":", linewidth=1.5)
    ax.set_yticks([0, 1], ["right labels", "wrong labels"])
    ax.set(xlabel="share λ (%)", xlim=(0, 1.1 * held.max()), ylim=(1.5, -0.5))
    together = now[false].sum() / len(now)
    ax.set_title(f"round {t}: {together:.0f} % go to the wrong half")
    below = int((now[~false] < now[false].max()).sum())
    alt = (
        f"Every clinic's share in round {t} of {arm}, all {len(now)} seeds. The wrong "
        f"half holds {together:.0f} percent together, where sizes would give it 50. Of "
        f"{(~false).sum()} clinics with right labels {below} have less than the "
        "largest share of a wrong one."
    )
    return fig, alt


def kept(found: Comparison, wrong: Sequence[np.ndarray], arm: str) -> float:
    """The share, in percent, that the wrong ones have together in the last rounds."""
    held = 100 * found.curves(arm, what="shares")[:, -found.last :]
    each = [h[:, w].sum(axis=1).mean() for h, w in zip(held, wrong, strict=True)]
    return float(np.mean(each))


@dataclass(frozen=True)
class Without:
    """Weights by size, of those that are not `left_out`: for who knows them."""

    left_out: tuple[int, ...]
    name: str = "without some"
    scalars: int = 0

    def __call__(self, members: Members) -> Tensor:
        out = torch.tensor(self.left_out, device=members.ids.device)
        kept = members.sizes.double() * ~torch.isin(members.ids, out)
        return kept / kept.sum()


def rescued(found: Comparison, paper: Printed, clean: Comparison) -> Facts:
    """Whether shares rescue the average, and the factor and imitation do far less.

    `clean` has FedAvg among the alike, all labels right, for as many rounds or more.
    """
    arms = ["GWS", "FedLAW", "FedDF", ALONE]
    theirs = {arm: gains[0] for arm, gains in paper.items()}
    rows = [Row(f"{a} over FedAvg", found.gain(a), theirs.get(a)) for a in arms]
    over = {arm: found.gain("FedLAW", over=arm) for arm in ("GWS", "FedDF")}
    less = theirs["FedLAW"] - theirs["FedDF"]
    rows.append(Row("FedLAW minus GWS", over["GWS"]))
    rows.append(Row("FedLAW minus FedDF", over["FedDF"], less))
    ahead = [side(found.gain("FedLAW")), *map(side, over.values())]
    short = found.gain("FedLAW", ALONE)
    rows.append(Row(f"FedLAW minus {ALONE}", short))
    holds = ahead == [1, 1, 1] and side(short) == -1
    level, end = found.scores("FedAvg").mean(), found.curves("FedAvg").shape[1]
    seen = 100 * clean.curves("FedAvg", "alike")[:, end - found.last : end].mean()
    note = f"FedAvg itself: {level:.1f} %; with all labels right, {seen:.1f} %."
    return {"rows": rows, "holds": holds, "note": note}
