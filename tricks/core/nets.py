"""Nets with a seed axis: S independent nets at once, each with a body that computes features and a linear head."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tricks.core.layers import affine, dense
from tricks.core.spaces import Spaces
from tricks.errors import InputError
from tricks.fast.passes import in_passes

NATURE = ((32, 8, 4), (64, 4, 2), (64, 3, 1))  # channels, kernel, stride of each convolution
NATURE_WIDTH = 512

Generators = Sequence[np.random.Generator]  # one for each seed
Layer = tuple[nn.Parameter, nn.Parameter]  # weight [S, in, out] and bias [S, 1, out]


class Body(Protocol):
    """A module that computes features: observations [S, B, D] or [S, B, C, H, W] -> [S, B, H].

    Every parameter leads with S, and no seed's features depend on another seed's, so the agents are independent. Nor do
    those of a row depend on other rows, or on chance.
    """

    width: int
    """H: the number of features."""

    @property
    def layers(self) -> Sequence[Layer]:
        """Weights [S, in, out] and biases [S, 1, out] that an initialization may set, and no other."""

    def __call__(self, x: Tensor, /) -> Tensor:
        """The features."""


MakeBody = Callable[[Generators, Spaces], Body]


class Head(nn.Module):
    """One linear layer, [S, B, H] -> [S, B, out]; an exact one has a float64 bias, for values far from 0.

    Under PopArt the bias can be huge and the outputs small, which float32 cannot represent together.
    """

    def __init__(self, generators: Generators, inputs: int, outputs: int, exact: bool = False) -> None:
        super().__init__()
        weight, bias = linear(generators, inputs, outputs)
        self.weight, self.bias = nn.Parameter(weight.float()), nn.Parameter(bias if exact else bias.float())
        self.exact = exact

    @property
    def layer(self) -> Layer:
        return self.weight, self.bias

    def forward(self, x: Tensor) -> Tensor:
        return affine(x, self.weight, self.bias)


class Dense(nn.Module):
    """Layers with tanh or ReLU: [S, B, D] -> [S, B, H]."""

    def __init__(self, generators: Generators, sizes: Sequence[int], activation: str = "tanh") -> None:
        super().__init__()
        self.width, self.tanh = sizes[-1], activation == "tanh"
        self.layers = registered(self, [linear(generators, *pair) for pair in pairwise(sizes)])

    def forward(self, x: Tensor) -> Tensor:
        return dense(x, self.layers, self.tanh)


class Nature(nn.Module):
    """Three convolutions and a layer of 512, with ReLU, for images: [S, B, C, H, W] uint8 -> [S, B, 512].

    Pixels are scaled to [0, 1]. A convolution's weight is stored as the matrix [S, C·k·k, out] that multiplies each
    patch, so it is initialized like any other layer. Raises InputError for images smaller than 36×36.
    Mnih et al. 2015, 10.1038/nature14236.
    """

    def __init__(self, generators: Generators, shape: Sequence[int]) -> None:
        super().__init__()
        (channels, *sides), sizes = shape, []
        for out, kernel, stride in NATURE:
            sizes.append((channels * kernel * kernel, out))
            channels, sides = out, [(side - kernel) // stride + 1 for side in sides]
        self.width: int = NATURE_WIDTH
        if min(sides) < 1:
            raise InputError(f"images must be at least 36×36 pixels, not {shape[1]}×{shape[2]}")
        sizes.append((channels * sides[0] * sides[1], self.width))
        self.layers = registered(self, [linear(generators, *size) for size in sizes])

    def forward(self, x: Tensor) -> Tensor:
        *convolutions, (weight, bias) = self.layers
        seeds = []
        for s, image in enumerate(x):  # on a CPU, a loop over seeds is faster than one convolution with S groups
            y = image.to(torch.float32, memory_format=torch.channels_last).div_(255)  # faster on a CPU
            for (w, b), (_, kernel, stride) in zip(convolutions, NATURE, strict=True):
                y = F.conv2d(y, w[s].T.unflatten(1, (-1, kernel, kernel)), b[s, 0], stride).relu_()
            seeds.append(y.flatten(1))
        return torch.baddbmm(bias, torch.stack(seeds), weight).relu_()


class Net(nn.Module):
    """A body and a head: [S, B, ...] -> [S, B, out]. Two nets can share a body."""

    def __init__(self, body: Body, head: Head) -> None:
        super().__init__()
        self.body, self.head = body, head

    @property
    def layers(self) -> list[Layer]:
        """Weight [S, in, out] and bias [S, 1, out] of every layer; the last one is the head."""
        return [*self.body.layers, self.head.layer]

    def forward(self, x: Tensor) -> Tensor:
        return in_passes(lambda some: self.head(self.body(some)), x, self.body.width)


def mlp(generators: Generators, sizes: Sequence[int], exact: bool = False) -> Net:
    """tanh layers and a linear head: [S, B, D] -> [S, B, out]; `exact` as in `Head`."""
    *hidden, outputs = sizes
    return Net(Dense(generators, hidden), Head(generators, hidden[-1], outputs, exact))


def linear(generators: Generators, inputs: int, outputs: int) -> tuple[Tensor, Tensor]:
    """Weight [S, in, out] and bias [S, 1, out] in float64, initialized like torch.nn.Linear: U(±1/√in)."""
    limit = 1 / inputs**0.5
    weight, bias = (np.stack([g.uniform(-limit, limit, (n, outputs)) for g in generators]) for n in (inputs, 1))
    return torch.from_numpy(weight), torch.from_numpy(bias)


def registered(module: nn.Module, drawn: Sequence[tuple[Tensor, Tensor]]) -> list[Layer]:
    """Register the layers as float32 parameters; returned as plain tuples, which are cheaper than a ParameterList."""
    layers = []
    for i, (weight, bias) in enumerate(drawn):
        layers.append((nn.Parameter(weight.float()), nn.Parameter(bias.float())))
        module.register_parameter(f"weight{i}", layers[i][0])
        module.register_parameter(f"bias{i}", layers[i][1])
    return layers
