"""Operations as loops: programs beside PyTorch, on numbers they were not made with."""

import pytest
import torch
from torch.func import grad
from torch.nn import functional as F

from fedlab_browser.tracing import Program, Reader, program_of
from fedlab_core.errors import InputError

A, B, C = (3, 4), (4, 5), (2, 3, 4)


def in_place(a, b):
    a = a.clone()
    a[:, 1:3] += b
    a[0] = 2.0
    a.clamp_(-1)
    return a


def slope(a, b):
    """A gradient of what most rules are made of."""

    def loss(w):
        hidden = torch.relu(a @ w)
        return F.cross_entropy(hidden, torch.tensor([0, 2, 1])) + w.norm()

    return grad(loss)(b)


CASES = {
    "arithmetic": (
        lambda a, b: (a + 2 * b) / (b * b + 1) - a**3 + 1 / (2 + b * b), A, A,
    ),
    "broadcasting": (lambda a, b: a[:, :, None] * b[None] + a.sum(), A, B),
    "functions": (lambda a: (-a).exp() + a.abs().log1p() + a.floor(), A),
    "roots": (
        lambda a: (a * a + 1).rsqrt() + (a * a).sqrt() + (a * a + 2).reciprocal(), A,
    ),
    "comparisons": (
        lambda a, b: (a > b) * a + (a <= 0) + 2 * (a != b) + (a == b), A, A,
    ),
    "choices": (lambda a, b: torch.where((a > 0) & ~(b < 0) | (a < -1), a, b), A, A),
    "bounds": (
        lambda a, b: a.clamp(-0.5, 0.5) + torch.maximum(a, b).clamp(min=0), A, A,
    ),
    "whole numbers": (lambda a: (3 * a).long() // 2 + (a * 4).long(), A),
    "products": (lambda a, b: a @ b, A, B),
    "products turned": (lambda a, b: b.T @ a.T, A, B),
    "products, many": (lambda c, b: c @ b, C, B),
    "a matrix and a vector": (lambda a, b: a @ b[:, 0] + b[:, 1] @ b[:, 2], A, B),
    "sums": (
        lambda c: c.sum(1) + c.mean(1) + c.amax((0, 1)) + c.transpose(1, 2).sum(2), C,
    ),
    "sum of all": (lambda c: c.sum() + c.norm() + c.var(), C),
    "softmax": (
        lambda c: c.log_softmax(1) + c.transpose(0, 1).log_softmax(0).transpose(0, 1),
        C,
    ),
    "a softmax, and on the way": (
        lambda c: c.softmax(1) + c.lerp(2 * c + 1, 0.75) + c.lerp(c * c, 0.25), C,
    ),
    "pieces": (lambda a: torch.stack(a.flatten().split([5, 5, 2])[:2]).t() @ a[:2], A),
    "softplus": (
        lambda a: F.softplus(a) + F.cosine_similarity(a, a[[2, 0, 1]], dim=0), A,
    ),
    "views": (
        lambda c: c.permute(2, 0, 1).reshape(4, 6)[1:3].unsqueeze(1).squeeze(), C,
    ),
    "parts": (
        lambda a, b: torch.cat([a, b.T[:, :4]], 0) + torch.stack([a[0], a[1]])[0], A, B,
    ),
    "in place": (in_place, A, (3, 2)),
    "a gradient": (slope, A, B),
}  # fmt: skip


def given(shapes, seed: int) -> dict[str, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    return {f"v{i}": torch.randn(s, generator=g) for i, s in enumerate(shapes)}


def run(program: Program, values: dict[str, torch.Tensor]) -> torch.Tensor:
    reader = Reader(program)
    for _ in range(2):  # the second time over what the first has left
        reader.put(**values)
        reader.run()
    return reader.outputs["out"].clone()


@pytest.mark.parametrize("name", CASES)
def test_a_program_does_what_pytorch_does(name):
    f, *shapes = CASES[name]
    program = program_of(
        lambda **v: {"out": f(*v.values())}, name, **given(shapes, seed=0)
    )
    for seed in (1, 2):
        fresh = given(shapes, seed)
        right = f(*fresh.values()).float()
        torch.testing.assert_close(run(program, fresh), right, rtol=1e-5, atol=1e-6)


def looked_up(x, y, at):
    rows = x[at]
    counts = torch.zeros(4).scatter_add(0, y, rows.sum(1))
    return {
        "out": rows.gather(1, y[:, None])[:, 0]
        + counts[y]
        + x[:, 1].index_select(0, at)
    }


def test_places_are_looked_up():
    """Labels, and rows that are drawn, are arguments and not constants."""
    g = torch.Generator().manual_seed(1)

    def some() -> dict[str, torch.Tensor]:
        y, at = torch.randint(4, (3,), generator=g), torch.randint(6, (3,), generator=g)
        return {"x": torch.randn(6, 4, generator=g), "y": y, "at": at}

    program = program_of(looked_up, "looked up", **some())
    for _ in range(3):
        fresh = some()
        right = looked_up(**fresh)["out"]
        torch.testing.assert_close(run(program, fresh), right, rtol=1e-5, atol=1e-6)


def test_what_is_not_told_stays_as_it_was():
    """A program's inputs keep what they were given; an output of their name changes."""
    program = program_of(
        lambda w, g: {"w": w - g}, "a step", w=torch.ones(2), g=torch.ones(2)
    )
    reader = Reader(program)
    reader.put(w=torch.tensor([5.0, 6.0]), g=torch.tensor([1.0, 2.0]))
    for _ in range(2):
        reader.run()
    assert reader.outputs["w"].tolist() == [3.0, 2.0]
    assert program.inputs["w"] == program.outputs["w"]


def test_two_results_that_change_places_do():
    """Each is written over what the other is made of."""
    a, b = torch.tensor([1.0]), torch.tensor([2.0])
    program = program_of(lambda a, b: {"a": b, "b": a + 0}, "a swap", a=a, b=b)
    reader = Reader(program)
    reader.put(a=a, b=b)
    reader.run()
    assert (reader.outputs["a"].item(), reader.outputs["b"].item()) == (2.0, 1.0)


def test_a_look_up_of_two_axes_is_refused():
    x, i = torch.randn(3, 4), torch.tensor([0, 1])
    with pytest.raises(
        InputError, match="pairs cannot be traced: it looks up two axes"
    ):
        program_of(lambda x, i: {"out": x[i, i]}, "pairs", x=x, i=i)


def test_a_program_that_is_wrong_is_refused(monkeypatch):
    """Each is run on its example before it is given out."""
    monkeypatch.setattr(Reader, "_bmm", lambda self, op, shape, operands: None)
    a = torch.ones(2, 2)
    with pytest.raises(
        InputError, match="a product .* its program gives other numbers"
    ):
        program_of(lambda a: {"out": a @ a}, "a product", a=a)
