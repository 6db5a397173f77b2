"""Convolutions of many clients at once, as a CUDA device is quick at them.

Of one client each is PyTorch's own. Over clients `vmap` makes one in groups of them,
which the device's library does group after group where images have few channels: there
a product of matrices for each sample is faster, several times over. Else groups are
fast with the channels last in memory.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn import functional as F

_FEW = 8  # channels; more are better in groups
_LAST = torch.channels_last
Pair = tuple[int, int]


def together(model: nn.Module) -> None:
    """Let a model's plain convolutions be fast over clients."""
    for m in model.modules():
        plain = type(m) is nn.Conv2d and m.groups == 1 and m.dilation == (1, 1)
        if plain and m.padding_mode == "zeros" and not isinstance(m.padding, str):
            m.__class__ = Together


class Together(nn.Conv2d):
    """A convolution that `vmap` does in a way of its own."""

    def forward(self, input: Tensor) -> Tensor:
        x, w, kind = input, self.weight, input.device.type
        if torch.is_autocast_enabled(kind):
            short = torch.get_autocast_dtype(kind)
            x, w = x.to(short), w.to(short)
        out = _Once.apply(x, w, self.stride, self.padding)
        return (
            out if self.bias is None else out + self.bias.to(out.dtype)[:, None, None]
        )


class _Once(Function):
    """One client's, from (samples, channels, height, width)."""

    @staticmethod
    def forward(x: Tensor, w: Tensor, stride: Pair, padding: Pair) -> Tensor:
        return F.conv2d(x, w, None, stride, padding)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Tensor) -> None:
        x, w, *ctx.how = inputs
        ctx.save_for_backward(x, w)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (x, w), (stride, padding) = ctx.saved_tensors, ctx.how
        ours = grads[0], x, w, None, stride, padding, (1, 1), False, (0, 0), 1
        wanted = (ctx.needs_input_grad[0], ctx.needs_input_grad[1], False)
        to_x, to_w, _ = torch.ops.aten.convolution_backward(*ours, wanted)
        return to_x, to_w, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *inputs: Any) -> Any:
        (x, w, *how), n = inputs, info.batch_size
        rows = [
            v.expand(n, *v.shape) if at is None else v.movedim(at, 0)
            for v, at in zip((x, w), in_dims[:2], strict=True)
        ]
        way = _by_sample if rows[1].shape[-3] <= _FEW else _by_group
        return way(*rows, *how), 0


def _by_group(x: Tensor, w: Tensor, stride: Pair, padding: Pair) -> Tensor:
    wide = x.transpose(0, 1).flatten(1, 2).contiguous(memory_format=_LAST)
    kernels = w.flatten(0, 1).contiguous(memory_format=_LAST)
    out = F.conv2d(wide, kernels, None, stride, padding, groups=len(x)).contiguous()
    return out.unflatten(1, (len(x), -1)).transpose(0, 1)  # as BatchNorm asks for it


def _by_sample(x: Tensor, w: Tensor, stride: Pair, padding: Pair) -> Tensor:
    columns = _Columns.apply(x, tuple(w.shape[-2:]), stride, padding)
    out = w.flatten(2)[:, None] @ columns
    high = (x.shape[-2] + 2 * padding[0] - w.shape[-2]) // stride[0] + 1
    return out.unflatten(-1, (high, -1))


class _Columns(Function):
    """Patches under a kernel as columns, for each client and sample."""

    @staticmethod
    def forward(x: Tensor, kernel: Pair, stride: Pair, padding: Pair) -> Tensor:
        (up, left), (high, wide) = padding, kernel
        seen = F.pad(x, (left, left, up, up)) if up or left else x
        seen = seen.unfold(-2, high, stride[0]).unfold(-2, wide, stride[1])
        n, samples, channels, rows, across = seen.shape[:5]
        deep = channels * high * wide
        seen = seen.permute(0, 1, 2, 5, 6, 3, 4)
        return seen.reshape(n, samples, deep, rows * across)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Tensor) -> None:
        x, *ctx.how = inputs
        ctx.shape = x.shape

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        kernel, stride, padding = ctx.how
        size, seen = tuple(ctx.shape[-2:]), grads[0].flatten(0, 1)
        folded = F.fold(seen, size, kernel, padding=padding, stride=stride)
        return folded.view(ctx.shape), None, None, None
