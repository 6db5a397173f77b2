"""Networks that read texts: whole numbers, one a word, 0 for padding.

Their shape is (length,). Padding stands for a word without meaning: zeros to the text
CNN, nothing at all to the LSTM.
"""

from collections.abc import Sequence
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fedlab_core.arguments import Axes, Count, Fading, checked
from fedlab_core.errors import require
from fedlab_core.models.layers import Dropout
from fedlab_core.models.split import Point, Shape, Split, Width, cut

PADDING = 0
Vectors = Annotated[Tensor, Axes("words width")]


class Words(nn.Module):
    """A vector for each word, zero for padding.

    Frozen vectors belong to no client: they are not part of the state, nor sent. Frozen
    vectors that are not given are drawn once, the same for everyone.
    """

    weight: Tensor
    looks_up = True

    def __init__(
        self,
        vocabulary: int,
        width: int,
        vectors: Tensor | None = None,
        frozen: bool = False,
    ):
        super().__init__()
        size, device = (vocabulary, width), torch.get_default_device()
        given = None if vectors is None else tuple(vectors.shape)
        fits = given in (None, size)
        require(fits, f"vectors must be {size}, not {given}")
        if vectors is not None and not vectors.is_floating_point():
            vectors = vectors.float()
        self.told = f"{vocabulary}, {width}"
        if not frozen:
            begin = torch.empty(size) if vectors is None else vectors
            if vectors is None and not begin.is_meta:
                nn.init.normal_(begin)
            self.weight = nn.Parameter(begin.to(device, copy=True))
            return
        if vectors is None:
            draw = torch.Generator().manual_seed(0)
            vectors = torch.randn(size, generator=draw, device="cpu")
        self.told += f", frozen, sum={float(vectors.double().sum()):.12g}"
        fixed = vectors.to(device, copy=True)
        self.register_buffer("weight", fixed, persistent=False)

    def extra_repr(self) -> str:
        return self.told

    def forward(self, tokens: Tensor) -> Tensor:
        return F.embedding(tokens, self.weight) * (tokens != PADDING).unsqueeze(-1)


class Phrases(nn.Module):
    """Best fit of any phrase in a text, for each filter."""

    def __init__(self, width: int, filters: int, kernels: Sequence[int]):
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv1d(width, filters, kernel) for kernel in kernels
        )

    def forward(self, x: Tensor) -> Tensor:
        across = x.transpose(1, 2)
        found = [F.relu(conv(across)).amax(2) for conv in self.convolutions]
        return torch.cat(found, 1)


class Cells(nn.Module):
    """One layer of LSTM cells, in plain products: vmap has no rule for PyTorch's.

    At padding the state stays as it is.
    """

    def __init__(self, inside: int, units: int):
        super().__init__()
        shapes = {"weight_ih": (4 * units, inside), "weight_hh": (4 * units, units)}
        shapes |= {"bias_ih": (4 * units,), "bias_hh": (4 * units,)}
        for name, shape in shapes.items():
            drawn = nn.init.uniform_(torch.empty(shape), -(units**-0.5), units**-0.5)
            self.register_parameter(name, nn.Parameter(drawn))

    def extra_repr(self) -> str:
        return str(tuple(self.get_parameter("weight_ih").shape))

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        w_x, w_h, b_x, b_h = self.parameters()
        given = F.linear(x, w_x, b_x + b_h)
        state = memory = given.new_zeros(len(x), w_h.shape[1])
        states = []
        for t in range(x.shape[1]):
            let_in, keep, new, show = (given[:, t] + F.linear(state, w_h)).chunk(4, -1)
            held = keep.sigmoid() * memory + let_in.sigmoid() * new.tanh()
            here = real[:, t, None]
            memory = torch.where(here, held, memory)
            state = torch.where(here, show.sigmoid() * held.tanh(), state)
            states.append(state)
        return torch.stack(states, 1)


class Reader(nn.Module):
    """Layers of LSTM cells over a text; gives the last state of the last layer."""

    def __init__(self, words: Words, width: int, units: int, layers: int):
        super().__init__()
        self.words = words
        self.layers = nn.ModuleList(
            Cells(units if layer else width, units) for layer in range(layers)
        )

    def forward(self, tokens: Tensor) -> Tensor:
        x, real = self.words(tokens), tokens != PADDING
        for layer in self.layers:
            x = layer(x, real)
        return x[:, -1]


@checked
def textcnn(
    shape: Shape,
    classes: Width,
    vocabulary: Count = 3000,
    width: Width = 32,
    hidden: Width = 32,
    kernels: Sequence[Width] = (3, 4, 5),
    dropout: Fading = 0.0,
    vectors: Vectors | None = None,
    frozen: bool = False,
    split: Point = None,
) -> Split:
    """Text CNN: filters over phrases of 3, 4 and 5 words, `hidden` for each length.

    Paper: FedDisco App. B.1.4 gives the 32; the phrases are those of Kim's network.
    """
    most = max(kernels, default=0)
    long = len(shape) == 1 and shape[0] >= most > 0
    require(long, f"textcnn needs kernels, and texts as long: {most}, not {shape}")
    stages: dict[str, list[nn.Module]] = {
        "words": [Words(vocabulary, width, vectors, frozen)],
        "phrases": [Phrases(width, hidden, kernels)],
    }
    if dropout:
        stages["phrases"].append(Dropout(dropout, salt=1))
    last = nn.Linear(len(kernels) * hidden, classes)
    return cut(shape, stages, last, split)


@checked
def lstm(
    shape: Shape,
    classes: Width,
    vocabulary: Count = 3000,
    width: Width = 300,
    hidden: Width = 256,
    layers: Width = 2,
    vectors: Vectors | None = None,
    frozen: bool = False,
    split: Point = None,
) -> Split:
    """LSTM of two layers; the features are its last state, at the last word.

    rFedAvg's network for texts, where the vectors are given and frozen.
    """
    text = len(shape) == 1 and shape[0] >= 1
    require(text, f"lstm needs texts, (length,), not {shape}")
    words = Words(vocabulary, width, vectors, frozen)
    stages = {"state": [Reader(words, width, hidden, layers)]}
    return cut(shape, stages, nn.Linear(hidden, classes), split)
