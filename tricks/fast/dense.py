"""Dense layers and linear heads, compiled by numba. Each function returns None for tensors that it is not for."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from tricks.fast.dispatch import laid, loaded, simple

CODE = "tricks.fast.compiled_layers"


class Stack(NamedTuple):
    """Where layers are that lead on from one another, as kernels take them: nothing can check an address later."""

    sizes: np.ndarray  # of the input and of each layer's features
    weights: np.ndarray  # addresses of weights [S, in, out]
    biases: np.ndarray  # ... and of biases [S, 1, out]

    @classmethod
    def of(cls, seeds: int, inputs: int, layers: Sequence[Any], last: torch.dtype = torch.float32) -> "Stack | None":
        """None if one of them has another shape, type or layout; the `last` bias is of this type."""
        sizes = [inputs, *(bias.shape[-1] if bias.dim() else 0 for _, bias in layers)]
        kinds = [torch.float32] * (len(layers) - 1) + [last]
        for (weight, bias), size, kind in zip(layers, pairwise(sizes), kinds, strict=True):
            if not (laid((seeds, *size), weight) and laid((seeds, 1, size[1]), bias, kind=kind)):
                return None
        return cls(np.array(sizes), *map(addresses, zip(*layers, strict=True)))


def addresses(tensors: Sequence[Tensor]) -> np.ndarray:
    return np.array([x.data_ptr() for x in tensors])


def dense(x: Tensor, layers: Sequence[tuple[Tensor, Tensor]], tanh: bool) -> Tensor | None:
    """`core.layers.dense`."""
    code: Any = loaded(CODE) if layers and simple(x, torch.float32) else None
    return computed(code, code.TANH if tanh else code.RELU, x, layers) if code else None


def affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor | None:
    """`core.layers.affine`."""
    known = simple(x, torch.float32) and bias.dtype in (torch.float32, torch.float64)
    code: Any = loaded(CODE) if known else None
    return computed(code, code.LINEAR, x, [(weight, bias)], last=bias.dtype) if code else None


def computed(
    code: Any, kind: int, x: Tensor, layers: Sequence[Any], last: torch.dtype = torch.float32
) -> Tensor | None:
    """What layers of a kind make of x."""
    stack = Stack.of(len(x), x.shape[2], layers, last) if x.dim() == 3 else None
    if stack is None:
        return None
    given = code, stack, kind, x, *(tensor for layer in layers for tensor in layer)
    found: Tensor = Layers.apply(*given) if torch.is_grad_enabled() else Layers.forward(None, *given)  # type: ignore[no-untyped-call]
    return found


class Layers(torch.autograd.Function):
    """Layers of a kind, of weights and biases in turn, and their gradients."""

    @staticmethod
    def forward(ctx: Any, code: Any, stack: Stack, kind: int, x: Tensor, *flat: Tensor) -> Tensor:
        x, weights, biases, (seeds, rows, _) = x.contiguous(), flat[::2], flat[1::2], x.shape
        features = [x.new_empty(seeds, rows, weight.shape[2]) for weight in weights]
        at = stack.weights, stack.biases, addresses(features)
        code.layers_forward(x.data_ptr(), *at, stack.sizes, seeds, rows, kind)
        if ctx is not None:
            ctx.save_for_backward(x, *features, *weights)
            ctx.code, ctx.kind, ctx.sizes = code, kind, stack.sizes
        return features[-1] + biases[-1] if kind == code.LINEAR else features[-1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, *rest = ctx.saved_tensors
        features, weights = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        single, (seeds, rows, _) = grad.float().contiguous(), x.shape
        of_weights = [torch.zeros_like(weight) for weight in weights]
        of_biases = [weight.new_zeros(seeds, 1, weight.shape[2]) for weight in weights]
        of_x = torch.empty_like(x) if ctx.needs_input_grad[3] else None
        at = [addresses(each) for each in (weights, features, of_weights, of_biases)]
        x_at = 0 if of_x is None else of_x.data_ptr()
        ctx.code.layers_backward(single.data_ptr(), x.data_ptr(), x_at, *at, ctx.sizes, seeds, rows, ctx.kind)
        if grad.dtype is torch.float64:  # as the bias of values is: added up in order, so that filler changes no bit
            of_biases = [F.pad(grad, (0, 0, 1, 0)).cumsum(1)[:, -1:]]
        layers = zip(of_weights, of_biases, strict=True)
        return None, None, None, of_x, *(tensor for layer in layers for tensor in layer)
