"""Bodies for images: the one that fits their size, the one for small images, and the one for images beside vectors."""

from collections.abc import Sequence
from math import prod
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tricks.core.nets import Body, Dense, Nature, linear, registered
from tricks.core.spaces import Spaces
from tricks.errors import InputError

SMALL = 36  # pixels: images with a shorter side are too small for `Nature`
CHANNELS = 8
KERNEL = 3
WIDTH = 64


def image_body(generators: Sequence[np.random.Generator], spaces: Spaces) -> Body:
    """`Nature`, or `Shallow` for images that are too small for it. Raises InputError if they are for either."""
    if is_small(spaces.shape):
        return Shallow(generators, spaces.shape, spaces.brightest)
    if spaces.bytes:
        return Nature(generators, spaces.shape)
    return UnitNature(generators, spaces.shape)


def is_small(shape: Sequence[int]) -> bool:
    """Whether images [C, H, W] are too small for `Nature`."""
    return min(shape[1:]) < SMALL


class Shallow(nn.Module):
    """A 3×3 convolution with 8 channels and a layer of 64, with ReLU: [S, B, C, H, W] -> [S, B, 64].

    Pixels are divided by `brightest`. The convolution's weight is stored as the matrix [S, C·9, 8] that multiplies each
    patch, as in `Nature`. Raises InputError for images smaller than 3×3. The body for small images of Young & Tian
    2019, arXiv:1903.03176, at half its width.
    """

    def __init__(self, generators: Sequence[np.random.Generator], shape: Sequence[int], brightest: float) -> None:
        super().__init__()
        channels, *sides = shape
        if min(sides) < KERNEL:
            raise InputError(f"images must be at least {KERNEL}×{KERNEL} pixels, not {shape[1]}×{shape[2]}")
        self.brightest, self.width = brightest, WIDTH
        features = CHANNELS * prod(side - KERNEL + 1 for side in sides)
        self.layers = registered(
            self, [linear(generators, channels * KERNEL**2, CHANNELS), linear(generators, features, WIDTH)]
        )

    def forward(self, x: Tensor) -> Tensor:
        (kernel, offset), (weight, bias) = self.layers
        kernels = (kernel.mT / self.brightest).unflatten(2, (-1, KERNEL, KERNEL))  # [S, 8, C, 3, 3]
        # a loop over seeds takes half as long as the product with all patches at once, or a convolution with S groups
        seen = [F.conv2d(y.float(), k, b[0]).relu_() for y, k, b in zip(x, kernels, offset, strict=True)]
        return torch.baddbmm(bias, torch.stack(seen).flatten(2), weight).relu_()


class UnitNature(Nature):
    """The same for pixels that are at most 1: [S, B, C, H, W] -> [S, B, 512]."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(255 * x.double())  # which `Nature` copies as float32 before it divides in place


class Joined(nn.Module):
    """Convolutions for each image and, after them, dense layers for all parts: [S, B, D] -> [S, B, H].

    An observation is a vector, in which each image lies flat between the other parts. Raises InputError for images that
    are too small.
    """

    def __init__(
        self, generators: Sequence[np.random.Generator], spaces: Spaces, hidden: Sequence[int], activation: str
    ) -> None:
        super().__init__()
        self.sizes = [leaf.size for leaf in spaces.leaves]
        images = {i: spaces.part(leaf) for i, leaf in enumerate(spaces.leaves) if leaf.axes}
        self.images = [(i, image.shape, image.dtype) for i, image in images.items()]
        bodies = [image_body(generators, image) for image in images.values()]
        self.bodies = nn.ModuleList(cast(list[nn.Module], bodies))
        width = sum(leaf.size for leaf in spaces.leaves if not leaf.axes) + sum(body.width for body in bodies)
        self.dense = Dense(generators, (width, *hidden), activation)
        self.width = self.dense.width
        self.layers = [layer for body in (*bodies, self.dense) for layer in body.layers]

    def forward(self, x: Tensor) -> Tensor:
        parts = list(x.split(self.sizes, -1))
        for body, (i, shape, dtype) in zip(self.bodies, self.images, strict=True):
            parts[i] = body(parts[i].unflatten(-1, shape).to(dtype))
        features: Tensor = self.dense(torch.cat(parts, -1))  # [S, B, Σ]
        return features
