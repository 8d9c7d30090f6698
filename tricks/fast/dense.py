"""Dense layers and linear heads, compiled by numba. Each function returns None for tensors that it is not for."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from tricks.fast.dispatch import compiled, gradients, simple


def dense(x: Tensor, layers: Sequence[tuple[Tensor, Tensor]], tanh: bool) -> Tensor | None:
    """`core.layers.dense`."""
    code, flat = compiled("compiled_layers"), [tensor for weight, bias in layers for tensor in (weight, bias)]
    if code is None or not (layers and simple(x, torch.float32) and chained(x.shape, flat)):
        return None
    if torch.is_grad_enabled():
        features: Tensor = DenseLayers.apply(code, tanh, x, *flat)  # type: ignore[no-untyped-call]
        return features
    return _features(code, tanh, x.contiguous(), flat)[-1]


def affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor | None:
    """`core.layers.affine`."""
    code = compiled("compiled_layers", weight) if simple(x, torch.float32) else None
    if code is None or not simple(bias, torch.float32, torch.float64) or not _fits(x.shape, weight, bias):
        return None
    if torch.is_grad_enabled():
        out: Tensor = Affine.apply(code, x, weight, bias)  # type: ignore[no-untyped-call]
        return out
    return _product(code, x.contiguous(), weight) + bias


def chained(shape: Sequence[int], flat: Sequence[Tensor]) -> bool:
    """Whether weights [S, in, out] and biases [S, 1, out] in turn, as kernels take them, lead on from [S, B, in]."""
    for weight, bias in zip(flat[::2], flat[1::2], strict=True):
        if not _fits(shape, weight, bias):
            return False
        shape = (*shape[:2], weight.shape[2])
    return all(simple(x, torch.float32) and x.is_contiguous() for x in flat)


def _fits(shape: Sequence[int], weight: Tensor, bias: Tensor) -> bool:
    if len(shape) != 3 or weight.dim() != 3:
        return False
    seeds, inputs, outputs = weight.shape
    return shape[0] == seeds and shape[2] == inputs and bias.shape == (seeds, 1, outputs)


def _features(code: Any, tanh: bool, x: Tensor, flat: Sequence[Tensor]) -> list[Tensor]:
    """The features of every layer, [S, B, ...] each."""
    weights, biases, (seeds, rows, inputs) = flat[::2], flat[1::2], x.shape
    features = [x.new_empty(seeds, rows, weight.shape[2]) for weight in weights]
    sizes = np.array([inputs, *(weight.shape[2] for weight in weights)])
    at = _addresses(weights), _addresses(biases), _addresses(features)
    code.layers_forward(x.data_ptr(), *at, sizes, seeds, rows, bool(tanh))
    return features


def _product(code: Any, x: Tensor, weight: Tensor) -> Tensor:
    (seeds, rows, inputs), outputs = x.shape, weight.shape[2]
    out = x.new_empty(seeds, rows, outputs)
    code.head_forward(x.data_ptr(), weight.data_ptr(), out.data_ptr(), seeds, rows, inputs, outputs)
    return out


def _addresses(tensors: Sequence[Tensor]) -> np.ndarray:
    return np.array([x.data_ptr() for x in tensors])


class DenseLayers(torch.autograd.Function):
    """`dense` and its gradient."""

    @staticmethod
    def forward(ctx: Any, code: Any, tanh: bool, x: Tensor, *flat: Tensor) -> Tensor:
        x = x.contiguous()
        features = _features(code, tanh, x, flat)
        ctx.save_for_backward(x, *features, *flat[::2])
        ctx.code, ctx.tanh = code, tanh
        return features[-1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, *rest = ctx.saved_tensors
        features, weights = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        grad, (seeds, rows, inputs) = grad.contiguous(), x.shape
        of_weights = [torch.empty_like(weight) for weight in weights]
        of_biases = [weight.new_empty(seeds, 1, weight.shape[2]) for weight in weights]
        of_x = torch.empty_like(x) if ctx.needs_input_grad[2] else None
        sizes = [inputs, *(weight.shape[2] for weight in weights)]
        code = gradients()
        scratch = x.new_empty(2 * ctx.code.BLOCK * max(sizes) + sum(a * b for a, b in pairwise(sizes)))
        at = [_addresses(each) for each in (weights, features, of_weights, of_biases)]
        x_at = 0 if of_x is None else of_x.data_ptr()
        more = np.array(sizes), seeds, rows, bool(ctx.tanh), scratch.data_ptr()
        code.layers_backward(grad.data_ptr(), x.data_ptr(), x_at, *at, *more)
        layers = zip(of_weights, of_biases, strict=True)
        return None, None, of_x, *(tensor for layer in layers for tensor in layer)


class Affine(torch.autograd.Function):
    """`affine` and its gradient."""

    @staticmethod
    def forward(ctx: Any, code: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        x = x.contiguous()
        ctx.save_for_backward(x, weight)
        return _product(code, x, weight) + bias

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        (seeds, rows, inputs), outputs = x.shape, weight.shape[2]
        of_x, of_weight, scratch = torch.empty_like(x), torch.empty_like(weight), x.new_empty(inputs * outputs)
        of_bias, single = grad.new_empty(seeds, 1, outputs), grad.float().contiguous()
        code = gradients()
        code.column_sums(grad.numpy(), of_bias.numpy())
        at = [tensor.data_ptr() for tensor in (single, x, weight, of_x, of_weight)]
        code.head_backward(*at, seeds, rows, inputs, outputs, scratch.data_ptr())
        return None, of_x, of_weight, of_bias
