"""Every claim is about cells that are declared, and can be judged somewhere."""

import pytest

from fedlab_ledger.judge.claims import different
from fedlab_ledger.papers import CLAIMS, PAPERS, TABLES
from tests.once import each, the_book

ALL = [claim for claims in CLAIMS.values() for claim in claims]


def test_claims_have_names_of_their_own():
    assert set(CLAIMS) == {*PAPERS, "gaps"}
    paths = [claim.path for claim in ALL]
    assert len(set(paths)) == len(paths)
    assert all(claim.paper == paper for paper, cs in CLAIMS.items() for claim in cs)


@each(ALL, lambda claim: claim.path)
def test_a_claim_compares_two_declared_cells(claim):
    one, other = claim.cell, claim.beside
    for cell in (one, other):
        assert TABLES[f"{cell.paper}/{cell.table}"].at(cell.row, cell.column) is cell
    common = one.settings.keys() & other.settings.keys()
    assert common - {"tiny"} or one.lacks, "it could be judged at no scale"
    for scale in common - {"tiny"}:
        assert one.key(scale) != other.key(scale), "a cell beside itself"
    assert one.better == other.better


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_has_claims_that_small_runs_can_judge(paper):
    small = [c for c in CLAIMS[paper] if "small" in c.cell.settings]
    assert len(small) >= 8


@pytest.mark.slow
def test_rfedavgs_scaffold_is_said_to_be_fedavg_and_counts_no_more_than_that():
    """Its program corrects a copy of the model: the same run once more."""
    rows = the_book().claimed("rfedavg")
    named = [j for j in rows if "Scaffold" in (j.claim.cell.row, j.claim.beside.row)]
    assert named and all("is FedAvg's in effect" in j.claim.sentence for j in named)
    assert not {id(j) for j in different(rows)} & {id(j) for j in named}


def test_the_main_claims_are_there():
    said = {claim.path: claim for claim in ALL}
    silo = said["rfedavg/rFedAvg+, MNIST 0 %, across silos"]
    assert silo.gain == pytest.approx(0.95) and silo.sign == 1
    cost = said["rfedavg/cost"]
    assert cost.sign == -1 and cost.gain == 2808 - 56160
    impro = said["fedimpro/FedAvg, FMNIST, a=0.1, E=1, K=10"]
    assert impro.gain == pytest.approx(90.83 - 88.67)
    assert said["fedimpro/less divergence"].sign == -1
    collab = said["fedcollab/Local, label shift, FMNIST"]
    assert collab.gain == pytest.approx(0.9247 - 0.8580)
    gains = said["fedcollab/who gains, label shift, FMNIST"]
    assert gains.cell.paper_value == 1.0
