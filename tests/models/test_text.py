"""The networks for texts: against PyTorch's layers, and trained on whole numbers."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from fedlab_core import Training, build, tree
from fedlab_core.client.rule import ClientInput
from fedlab_core.engine import Client, train
from fedlab_core.errors import InputError
from fedlab_core.models import initial_state
from fedlab_core.models.text import Words
from tests.models_cases import WORDS, samples

SMALL = {"vocabulary": WORDS, "width": 4, "hidden": 3}


class Theirs(nn.Module):
    """PyTorch's embedding and LSTM, which skips padding by sorting and packing."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 4)
        self.lstm = nn.LSTM(4, 3, num_layers=2, batch_first=True)
        self.head = nn.Linear(3, 2)

    def forward(self, tokens):
        lengths = (tokens != 0).sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(
            self.words(tokens), lengths, batch_first=True, enforce_sorted=False
        )
        return self.head(self.lstm(packed)[1][0][-1])


def test_lstm_is_pytorchs_and_draws_what_it_draws():
    make = build("lstm", (6,), 2, **SMALL)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        theirs = Theirs()
    ours, x = make(), samples((6,), 9)
    ours.load_state_dict(initial_state(make, 3))
    pairs = list(zip(ours.parameters(), theirs.parameters(), strict=True))
    assert all(torch.equal(a, b) for a, b in pairs)
    assert (x == 0).any() and (x[:, -1] != 0).any()
    torch.testing.assert_close(ours(x), theirs(x))
    for net in (ours, theirs):
        net(x).square().sum().backward()
    for a, b in pairs:
        torch.testing.assert_close(a.grad, b.grad)


def test_padding_is_nothing_to_an_lstm():
    make = build("lstm", (6,), 2, **SMALL)
    net, x = make(), samples((6,), 5)
    more = torch.cat([x, torch.zeros(5, 3, dtype=torch.int64)], 1)
    assert torch.equal(net(x), net(more))
    assert torch.equal(net.features(torch.zeros(1, 6).long()), torch.zeros(1, 3))


def test_textcnn_is_the_network_described():
    """Filters as wide as the words slide over the text; the best fit of each counts."""
    net = build("textcnn", (6,), 5, **SMALL, kernels=(2, 4))()
    x, p = samples((6,), 7), dict(net.named_parameters())
    table = p["features.0.weight"].detach().clone()
    table[0] = 0
    image = table[x][:, None]  # one channel of words x width
    found = []
    for k in (0, 1):
        kernel = p[f"features.1.convolutions.{k}.weight"].mT[:, None]
        bias = p[f"features.1.convolutions.{k}.bias"]
        found.append(F.relu(F.conv2d(image, kernel, bias)).amax((2, 3)))
    want = torch.cat(found, 1)
    torch.testing.assert_close(net.features(x), want)
    torch.testing.assert_close(net(x), net.head(want))


# -- training ----------------------------------------------------------------------


def learnable(n: int = 60, length: int = 6):
    """Texts in which word 1 or word 2 comes, never both: that is the class."""
    g = torch.Generator().manual_seed(0)
    x = torch.randint(3, WORDS, (n, length), generator=g)
    y = torch.arange(n) % 2
    x[torch.arange(n), torch.randint(length, (n,), generator=g)] = 1 + y
    return x, y


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["stacked", "looped"])
@pytest.mark.parametrize("name", ["textcnn", "lstm"])
def test_texts_are_learnt(name, engine):
    x, y = learnable()
    make = build(name, (6,), 2, **SMALL | {"hidden": 8})
    cohort = [Client(torch.arange(k * 30, (k + 1) * 30), (0, 0, k)) for k in (0, 1)]
    start = ClientInput(tree.repeat(initial_state(make, 0), 2))
    local = Training(lr=0.3, epochs=30, batch_size=10, momentum=0.9)
    got = train(make(), x, y, cohort, start, local, engine=engine)
    net = make().eval()
    for k, client in enumerate(cohort):
        net.load_state_dict(tree.take(got.states, k))
        mine = client.indices
        assert (net(x[mine]).argmax(1) == y[mine]).float().mean() > 0.9


@pytest.mark.parametrize("engine", ["stacked", "looped"])
@pytest.mark.parametrize("name", ["textcnn", "lstm"])
def test_texts_may_be_trained_in_half_precision(name, engine):
    x, y = learnable()
    make = build(name, (6,), 2, **SMALL)
    cohort = [Client(torch.arange(20), (0, 0, 0)), Client(torch.arange(15), (0, 0, 1))]
    start = ClientInput(tree.repeat(initial_state(make, 0), 2))
    given = (make(), x, y, cohort, start, Training(lr=0.1, epochs=2))
    half = train(*given, engine=engine, precision="bf16")
    whole = train(*given, engine=engine)
    assert all(v.dtype == torch.float32 for v in half.states.values())
    torch.testing.assert_close(half.loss, whole.loss, rtol=0.02, atol=0.02)
    assert not torch.equal(half.loss, whole.loss)


# -- word vectors ------------------------------------------------------------------


def test_padding_learns_nothing():
    words, x = Words(WORDS, 4), samples((6,), 5)
    assert not words(x)[x == 0].any() and (x == 0).any()
    words(x).sum().backward()
    assert words.weight.grad is not None and not words.weight.grad[0].any()
    assert words.weight.grad[1:].any()


def test_given_vectors_are_where_learning_begins():
    vectors = torch.rand(WORDS, 4)
    kept = vectors.clone()
    make = build("lstm", (6,), 2, **SMALL, vectors=vectors)
    assert torch.equal(initial_state(make, 0)["features.0.words.weight"], vectors)
    with torch.no_grad():
        make().features[0].words.weight.add_(1)  # pyright: ignore
    assert torch.equal(vectors, kept)


@pytest.mark.parametrize("name", ["textcnn", "lstm"])
def test_frozen_vectors_are_nobodys(name):
    """Not in the state, so not trained, not sent, and the same in every copy."""
    vectors = torch.rand(WORDS, 4)
    frozen = build(name, (6,), 2, **SMALL, vectors=vectors, frozen=True)
    assert not any("words.weight" in n for n in initial_state(frozen, 0))
    free = build(name, (6,), 2, **SMALL, vectors=vectors)()
    fixed, x = frozen(), samples((6,), 5)
    free.load_state_dict(fixed.state_dict(), strict=False)
    torch.testing.assert_close(fixed(x), free(x))
    assert len(list(free.parameters())) == len(list(fixed.parameters())) + 1


def test_frozen_vectors_that_are_not_given_are_always_the_same():
    torch.manual_seed(1)
    one = Words(WORDS, 4, frozen=True)
    torch.manual_seed(2)
    assert torch.equal(one.weight, Words(WORDS, 4, frozen=True).weight)
    assert one.weight.std() > 0.5


def test_networks_with_other_frozen_vectors_say_so():
    """Worlds are told apart by the text of their networks."""
    a, b = (Words(WORDS, 4, torch.rand(WORDS, 4), frozen=True) for _ in range(2))
    assert repr(a) != repr(b) != repr(Words(WORDS, 4)) != repr(Words(WORDS, 5))


def test_what_cannot_be_read_is_refused():
    with pytest.raises(
        InputError, match=r"textcnn needs kernels, and texts as long: 5"
    ):
        build("textcnn", (4,), 2)()
    with pytest.raises(
        InputError, match=r"textcnn needs kernels, and texts as long: 5"
    ):
        build("textcnn", (3, 32, 32), 2)()
    with pytest.raises(InputError, match=r"lstm needs texts, \(length,\), not"):
        build("lstm", (1, 28, 28), 2)()
    with pytest.raises(InputError, match=r"vectors must be \(11, 4\), not \(11, 5\)"):
        build("lstm", (6,), 2, **SMALL, vectors=torch.zeros(11, 5))()
