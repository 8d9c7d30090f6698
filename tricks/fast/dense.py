"""Dense layers and linear heads, compiled by numba. Each function returns None for tensors that it is not for."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from tricks.fast.dispatch import laid, loaded, simple


def dense(x: Tensor, layers: Sequence[tuple[Tensor, Tensor]], tanh: bool) -> Tensor | None:
    """`core.layers.dense`."""
    code, flat = loaded("compiled_layers"), [tensor for layer in layers for tensor in layer]
    if code is None or not (layers and simple(x, torch.float32) and chained(x.shape, flat)):
        return None
    return Layers.computed(code, code.TANH if tanh else code.RELU, x, *flat)


def affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor | None:
    """`core.layers.affine`."""
    code = loaded("compiled_layers") if simple(x, torch.float32) else None
    if code is None or not simple(bias, torch.float32, torch.float64):
        return None
    return Layers.computed(code, code.LINEAR, x, weight, bias) if chained(x.shape, [weight, bias.float()]) else None


def chained(shape: Sequence[int], flat: Sequence[Tensor]) -> bool:
    """Whether weights [S, in, out] and biases [S, 1, out] in turn, as kernels take them, lead on from [S, B, in]."""
    for weight, bias in zip(flat[::2], flat[1::2], strict=True):
        if len(shape) != 3 or weight.dim() != 3 or weight.shape[:2] != (shape[0], shape[2]):
            return False
        shape = (*shape[:2], weight.shape[2])
        if not (laid(weight.shape, weight) and laid((shape[0], 1, shape[2]), bias)):
            return False
    return True


def addresses(tensors: Sequence[Tensor]) -> np.ndarray:
    return np.array([x.data_ptr() for x in tensors])


class Layers(torch.autograd.Function):
    """Layers of a kind, of weights and biases in turn, and their gradients."""

    @classmethod
    def computed(cls, *given: Any) -> Tensor:
        """What they make of x, given after the code and their kind."""
        found: Tensor = cls.apply(*given) if torch.is_grad_enabled() else cls.forward(None, *given)  # type: ignore[no-untyped-call]
        return found

    @staticmethod
    def forward(ctx: Any, code: Any, kind: int, x: Tensor, *flat: Tensor) -> Tensor:
        x, weights, biases, (seeds, rows, inputs) = x.contiguous(), flat[::2], flat[1::2], x.shape
        features = [x.new_empty(seeds, rows, weight.shape[2]) for weight in weights]
        sizes = np.array([inputs, *(weight.shape[2] for weight in weights)])
        at = addresses(weights), addresses(biases), addresses(features)
        code.layers_forward(x.data_ptr(), *at, sizes, seeds, rows, kind)
        if ctx is not None:
            ctx.save_for_backward(x, *features, *weights)
            ctx.code, ctx.kind, ctx.sizes = code, kind, sizes
        return features[-1] + biases[-1] if kind == code.LINEAR else features[-1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, *rest = ctx.saved_tensors
        features, weights = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        single, (seeds, rows, _) = grad.float().contiguous(), x.shape
        of_weights = [torch.zeros_like(weight) for weight in weights]
        of_biases = [weight.new_zeros(seeds, 1, weight.shape[2]) for weight in weights]
        of_x = torch.empty_like(x) if ctx.needs_input_grad[2] else None
        at = [addresses(each) for each in (weights, features, of_weights, of_biases)]
        x_at = 0 if of_x is None else of_x.data_ptr()
        ctx.code.layers_backward(single.data_ptr(), x.data_ptr(), x_at, *at, ctx.sizes, seeds, rows, ctx.kind)
        if grad.dtype is torch.float64:  # as the bias of values is: added up in order, so that filler changes no bit
            of_biases = [F.pad(grad, (0, 0, 1, 0)).cumsum(1)[:, -1:]]
        layers = zip(of_weights, of_biases, strict=True)
        return None, None, of_x, *(tensor for layer in layers for tensor in layer)
