"""Bodies for images: the one that fits their size, and the one for small images."""

from collections.abc import Sequence
from math import prod

import numpy as np
import torch
from torch import Tensor, nn

from tricks.core.nets import Body, Nature, linear, registered
from tricks.core.spaces import Spaces
from tricks.errors import InputError

SMALL = 36  # pixels: images with a shorter side are too small for `Nature`
CHANNELS, KERNEL, WIDTH = 8, 3, 64


def image_body(generators: Sequence[np.random.Generator], spaces: Spaces) -> Body:
    """`Nature`, or `Shallow` for images that are too small for it. Raises InputError if they are for both."""
    if is_small(spaces.shape):
        return Shallow(generators, spaces.shape, float(spaces.observation.high.max()))  # type: ignore[attr-defined]
    return Nature(generators, spaces.shape)


def is_small(shape: Sequence[int]) -> bool:
    """Whether images [C, H, W] are too small for `Nature`."""
    return min(shape[1:]) < SMALL


class Shallow(nn.Module):
    """A 3×3 convolution with 8 channels and a layer of 64, with ReLU: [S, B, C, H, W] uint8 -> [S, B, 64].

    Pixels are divided by `brightest`. The convolution is the product of the matrix [S, C·9, 8] and each patch, which on
    a CPU takes no longer than torch's own, and needs no loop over seeds. Raises InputError for images smaller than 3×3.
    The body for small images of Young & Tian 2019, arXiv:1903.03176, at half its width.
    """

    def __init__(self, generators: Sequence[np.random.Generator], shape: Sequence[int], brightest: float = 255) -> None:
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
        y = torch.baddbmm(offset, patches(x), kernel, alpha=1 / self.brightest).relu_()  # [S, B*H*W, 8]
        return torch.baddbmm(bias, y.view(*x.shape[:2], -1), weight).relu_()


def patches(x: Tensor) -> Tensor:
    """Every 3×3 patch of every image as a row: [S, B, C, H, W] -> [S, B·(H−2)·(W−2), 3·3·C] float32."""
    x = x.permute(0, 1, 3, 4, 2).float().contiguous()  # channels last, so that three pixels side by side are one piece
    seeds, rows, height, width, channels = x.shape
    shape = (seeds, rows, height - KERNEL + 1, width - KERNEL + 1, KERNEL, KERNEL * channels)
    overlapping = x.as_strided(shape, (*x.stride()[:4], width * channels, 1))
    return overlapping.reshape(seeds, -1, KERNEL**2 * channels)
