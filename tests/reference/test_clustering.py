"""IFCA, CFL, FeSEM, k-means: toys by hand, library oracles, reductions to FedAvg."""

import numpy as np
import pytest
import torch
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.cluster.vq import kmeans2

from tests.reference import clustering, fedavg
from tests.reference.toy import data, everything, line, on_line, same, u_of, world

# Two clients say 0 for x = 1 and two say 1: opposite updates on a line.
KINDS = [data([1.0], [0]), data([2.0], [0]), data([1.0], [1]), data([2.0, 1.0], [1, 1])]
ALL = [[0, 1, 2, 3]] * 3


def test_ifca():
    args = world()
    one = clustering.ifca([args[0]], *args[1:])
    assert same([r.models[0] for r in one], fedavg.run(*args))
    rest = on_line(KINDS, ALL, everything(KINDS))[1:]
    run = clustering.ifca([line(0.1), line(-0.1)], *rest)
    assert run[0].assignment == run[2].assignment == [0, 0, 1, 1]
    # a tie goes to the first model, and the other stays as it was
    tie = clustering.ifca([line(), line()], *rest)
    assert tie[0].assignment == [0] * 4 and u_of(tie[0].models[1]) == 0


@pytest.mark.parametrize("seed", range(5))
def test_bipartition_is_scipys_complete_linkage(seed):
    points = list(
        torch.randn(7, 3, generator=torch.Generator().manual_seed(seed)).double()
    )
    alpha = clustering.cosines(points)
    one, other, across = clustering.bipartition(alpha)
    apart = [1 - alpha[i][j] for i in range(7) for j in range(i + 1, 7)]
    labels = fcluster(linkage(apart, "complete"), 2, "maxclust")
    assert {*one} in [{i for i in range(7) if labels[i] == c} for c in (1, 2)]
    assert sorted(one + other) == list(range(7)) and one[0] == 0
    assert across == max(alpha[i][j] for i in one for j in other)


def test_fesem():
    args = world()
    one = clustering.fesem([args[0]], [0] * 4, *args[1:])
    assert same([r.models[0] for r in one], fedavg.run(*args))
    # centres .5 and -.5; client 3 starts at .5 with x = 2 of class 1, whose gradient
    # 2 s(2) = 1.76 takes it to -1.26: it changes sides, the others do not
    clients = KINDS[:3] + [data([2.0], [1])]
    rest = on_line(clients, ALL, everything(clients))[1:]
    run = clustering.fesem([line(0.5), line(-0.5)], [0, 0, 1, 0], *rest)
    assert run[0].assignment == [0, 0, 1, 1]


@pytest.mark.parametrize("seed", range(3))
def test_lloyd_is_scipys(seed):
    points = torch.randn(15, 2, generator=torch.Generator().manual_seed(seed)).double()
    mine = clustering.lloyd(list(points), [points[0], points[1], points[2]])
    _, theirs = kmeans2(points.numpy(), points[:3].numpy(), 50, minit="matrix")
    assert np.array_equal(mine, theirs)
