"""Convolutions over clients, beside PyTorch's own: values and gradients, in double."""

import copy

import pytest
import torch
from torch import nn
from torch.func import functional_call, grad

from fedlab_core.engine.convolutions import Together, together

CLIENTS, SAMPLES = 4, 5
KINDS = [  # channels in and out, kernel, stride, padding, bias: by sample, by group
    (3, 6, 5, 1, 0, True),
    (1, 4, 5, 1, 2, True),
    (5, 4, (3, 2), (2, 1), (1, 0), True),
    (16, 8, 3, 2, 1, False),
    (12, 9, 1, 1, 0, True),
]


@pytest.fixture(params=KINDS, ids=str)
def both(request):
    """A network of two convolutions, its twin that does them otherwise, and numbers."""
    torch.manual_seed(0)
    *where, bias = request.param
    first = nn.Conv2d(*where, bias=bias)
    net = nn.Sequential(first, nn.ReLU(), nn.Conv2d(where[1], 3, 3, padding=1)).double()
    twin = copy.deepcopy(net)
    together(twin)
    assert [type(m) for m in (twin[0], twin[2])] == [Together] * 2
    x = torch.randn(CLIENTS, SAMPLES, where[0], 9, 11).double().requires_grad_()
    params = {
        n: torch.randn(CLIENTS, *w.shape).double().requires_grad_()
        for n, w in net.named_parameters()
    }
    return net, twin, params, x


def of_all(net, params, x):
    value = torch.vmap(lambda p, x: functional_call(net, p, (x,)).square().mean())
    found = value(params, x)
    return [found, *torch.autograd.grad(found.sum(), [x, *params.values()])]


def assert_close(mine, theirs):
    for a, b in zip(mine, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-12)


def test_of_many_clients_values_and_gradients_are_pytorchs(both):
    net, twin, params, x = both
    assert_close(of_all(twin, params, x), of_all(net, params, x))


def test_of_one_client_they_are_too(both):
    net, twin, params, x = both
    mine = {n: w[0].detach().requires_grad_() for n, w in params.items()}

    def alone(net):
        out = functional_call(net, mine, (x[0],)).square().mean()
        return [out, *torch.autograd.grad(out, list(mine.values()))]

    assert_close(alone(twin), alone(net))


def test_a_gradient_may_be_taken_inside_a_clients_loss(both):
    net, twin, params, x = both

    def inside(net):
        loss = lambda p, x: functional_call(net, p, (x,)).square().mean()  # noqa: E731
        return torch.vmap(grad(loss))(params, x)

    assert_close(inside(twin).values(), inside(net).values())


def test_clients_may_share_a_kernel_or_their_images(both):
    net, twin, params, x = both
    one = {n: w[0] for n, w in params.items()}
    for of, held in ((params, x[0]), (one, x)):
        dims = (0, None) if of is params else (None, 0)
        found = [
            torch.vmap(lambda p, x, n=n: functional_call(n, p, (x,)), dims)(of, held)
            for n in (twin, net)
        ]
        assert_close(found[:1], found[1:])


def test_what_a_convolution_does_otherwise_is_left_alone():
    odd = nn.Sequential(
        nn.Conv2d(4, 4, 3, groups=2),
        nn.Conv2d(4, 4, 3, dilation=2),
        nn.Conv2d(4, 4, 3, padding="same"),
        nn.Conv2d(4, 4, 3, padding=1, padding_mode="circular"),
    )
    together(odd)
    assert {type(m) for m in odd} == {nn.Conv2d}
