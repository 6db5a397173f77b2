"""FedLAW, FedDF, FedBE, Server-FT: what the server does with a proxy set."""

import math

import pytest
import torch
from torch.func import functional_call
from torch.nn.functional import cross_entropy, kl_div

from tests.reference import common, distill, fedlaw
from tests.reference.toy import CLIENTS, PROXY, net


def epochs(count: int):
    """The proxy set in two batches, the same in every epoch."""
    return [[torch.arange(6), torch.arange(6, 12)]] * count


def gradient(trained, gamma, lam, batch) -> tuple[float, list[float]]:
    """(d/dg, d/dx) by one G = dL/dw: <G, w> and gamma lambda_i <G, w_i - mean>."""
    ws = [torch.cat([p.flatten() for p in m.parameters()]).detach() for m in trained]
    mean = torch.tensor(lam).double() @ torch.stack(ws)
    at, start = {}, 0
    for name, p in common.parameters(trained[0]).items():
        flat = gamma * mean[start : start + p.numel()]
        at[name] = flat.reshape(p.shape).requires_grad_()
        start += p.numel()
    loss = cross_entropy(functional_call(net(), at, PROXY[0][batch]), PROXY[1][batch])
    G = torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(at.values()))])
    of_x = [gamma * p * (G @ (w - mean)).item() for p, w in zip(lam, ws, strict=True)]
    return gamma * (G @ mean).item(), of_x


def descend(start, rates, slope) -> list[list[float]]:
    """Adam (.5, .999) in plain numbers; where it is after each epoch of two batches."""
    at, m, v, count, path = list(start), [0.0] * len(start), [0.0] * len(start), 0, []
    for rate in rates:
        for batch in epochs(1)[0]:
            count += 1
            g = slope(at, batch)
            for i in range(len(at)):
                m[i] = 0.5 * m[i] + 0.5 * g[i]
                v[i] = 0.999 * v[i] + 0.001 * g[i] ** 2
                m_hat, v_hat = m[i] / (1 - 0.5**count), v[i] / (1 - 0.999**count)
                at[i] -= rate * m_hat / (math.sqrt(v_hat) + 1e-8)
        path.append(list(at))
    return path


def softmax(x: list[float]) -> list[float]:
    return [math.exp(v) / sum(math.exp(u) for u in x) for v in x]


TRAINED = [common.train(net(), c, [torch.arange(4)], 1.0, 0, 0) for c in CLIENTS[:3]]
N = [0.2, 0.3, 0.5]


@pytest.mark.slow
def test_fedlaw_against_adam_in_plain_numbers():
    # 45 epochs: the rate halves after 20 and after 40
    rates = [0.01] * 20 + [0.005] * 20 + [0.0025] * 5

    def slope(at, batch):
        of_g, of_x = gradient(TRAINED, math.exp(at[0]), softmax(at[1:]), batch)
        return [of_g, *of_x]

    end = descend([0.0, *map(math.log, N)], rates, slope)[-1]
    gamma, lam = fedlaw.learn(net(), TRAINED, N, PROXY, epochs(45), 0.01)
    assert gamma == pytest.approx(math.exp(end[0]), rel=1e-6)
    assert lam == pytest.approx(softmax(end[1:]), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("count", [12, 44])
def test_swa_against_adam_in_plain_numbers(count):
    # first half: cosine rates of epochs 0..6, then half a cosine from there to .05 in
    # ten epochs; mean of the logits after epochs 6, 7, ... (the last if there is none)
    half, lr = count // 2, 0.01
    rates = [lr * (1 + math.cos(math.pi * e / 100)) / 2 for e in range(7)]
    for j in range(1, half):
        share = (1 - math.cos(math.pi * min(j, 10) / 10)) / 2
        rates.append(share * 0.05 + (1 - share) * rates[6])
    path = descend(
        [math.log(n) for n in N],
        rates[:half],
        lambda x, batch: gradient(TRAINED, 1.0, softmax(x), batch)[1],
    )
    kept = path[6:] or path[-1:]
    want = softmax([sum(x[i] for x in kept) / len(kept) for i in range(3)])
    halving = ([lr] * 20 + [lr / 2] * 20)[:half]
    (*_, (g,)) = descend(
        [0.0],
        halving,
        lambda g, batch: [gradient(TRAINED, math.exp(g[0]), want, batch)[0]],
    )
    gamma, lam = fedlaw.learn_swa(net(), TRAINED, N, PROXY, epochs(count), lr)
    assert lam == pytest.approx(want, rel=1e-6)
    assert gamma == pytest.approx(math.exp(g), rel=1e-6)


def test_divergence_is_torchs():
    z, student = torch.randn(5, 3).double(), torch.randn(5, 3).double()
    want = kl_div(student.log_softmax(1), z.softmax(1), reduction="batchmean")
    assert torch.allclose(distill.divergence(z, student), want)
