"""Nets with a seed axis: S independent nets at once, each with a body that computes features and a linear head."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import pairwise
from math import prod
from typing import Protocol, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tricks.core.layers import affine, dense
from tricks.core.spaces import Leaf, Spaces
from tricks.errors import InputError
from tricks.fast.passes import in_passes

NATURE = ((32, 8, 4), (64, 4, 2), (64, 3, 1))  # channels, kernel, stride of each convolution
NATURE_WIDTH = 512
SMALL = 36  # pixels: images with a shorter side are too small for `Nature`
CHANNELS, KERNEL, WIDTH = 8, 3, 64  # of `Shallow`
ROWS = 3  # on which a body of one's own is tried

Generators = Sequence[np.random.Generator]  # one for each seed
Layer = tuple[nn.Parameter, nn.Parameter]  # weight [S, in, out] and bias [S, 1, out]


class Body(Protocol):
    """A module that computes features: observations [S, B, D] or [S, B, C, H, W] -> [S, B, H].

    Every parameter leads with S, and no features depend on another seed's, on other rows, or on chance. `width` is H.
    An initialization may set `layers`, weights [S, in, out] and biases [S, 1, out], and no other parameter.
    """

    width: int

    @property
    def layers(self) -> Sequence[Layer]: ...
    def __call__(self, x: Tensor, /) -> Tensor: ...


MakeBody = Callable[[Generators, Spaces], Body]


class Head(nn.Module):
    """One linear layer, [S, B, H] -> [S, B, out]; an exact one has a float64 bias, since PopArt's can be huge."""

    def __init__(self, generators: Generators, inputs: int, outputs: int, exact: bool = False) -> None:
        super().__init__()
        weight, bias = linear(generators, inputs, outputs)
        self.weight, self.bias = nn.Parameter(weight.float()), nn.Parameter(bias if exact else bias.float())
        self.exact = exact

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
    """Three convolutions and a layer of 512, with ReLU, for images: [S, B, C, H, W] -> [S, B, 512].

    Pixels are scaled to [0, 1], unless `unit` says that they already are. A convolution's weight is stored as the
    matrix [S, C·k·k, out] that multiplies each patch, for initializations. Mnih et al. 2015, 10.1038/nature14236.
    """

    def __init__(self, generators: Generators, shape: Sequence[int], unit: bool = False) -> None:
        super().__init__()
        self.width, self.unit = NATURE_WIDTH, unit
        self.layers = registered(self, image_layers(generators, shape, NATURE, SMALL, self.width))

    def forward(self, x: Tensor) -> Tensor:
        *convolutions, (weight, bias) = self.layers
        x, seeds = 255 * x.double() if self.unit else x, []  # a copy, since `div_` is in place
        for s, image in enumerate(x):  # on a CPU, a loop over seeds is faster than one convolution with S groups
            y = image.to(torch.float32, memory_format=torch.channels_last).div_(255)  # faster on a CPU
            for (w, b), (_, kernel, stride) in zip(convolutions, NATURE, strict=True):
                y = F.conv2d(y, w[s].T.unflatten(1, (-1, kernel, kernel)), b[s, 0], stride).relu_()
            seeds.append(y.flatten(1))
        return torch.baddbmm(bias, torch.stack(seeds), weight).relu_()


class Shallow(nn.Module):
    """A 3×3 convolution with 8 channels and a layer of 64, with ReLU, for small images: [S, B, C, H, W] -> [S, B, 64].

    That of Young & Tian 2019, arXiv:1903.03176, at half its width. Pixels are divided by `brightest`.
    """

    def __init__(self, generators: Generators, shape: Sequence[int], brightest: float) -> None:
        super().__init__()
        self.brightest, self.width = brightest, WIDTH
        self.layers = registered(self, image_layers(generators, shape, ((CHANNELS, KERNEL, 1),), KERNEL, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        (kernel, offset), (weight, bias) = self.layers
        kernels = (kernel.mT / self.brightest).unflatten(2, (-1, KERNEL, KERNEL))  # [S, 8, C, 3, 3]
        # a loop over seeds takes half as long as the product with all patches at once, or a convolution with S groups
        seen = [F.conv2d(y.float(), k, b[0]).relu_() for y, k, b in zip(x, kernels, offset, strict=True)]
        return torch.baddbmm(bias, torch.stack(seen).flatten(2), weight).relu_()


def image_layers(
    generators: Generators, shape: Sequence[int], kinds: Sequence[tuple[int, int, int]], smallest: int, width: int
) -> list[tuple[Tensor, Tensor]]:
    """The weights and biases of convolutions of these channels, kernels, and strides, and of the layer behind them."""
    (channels, *sides), sizes = shape, []
    if min(sides) < smallest:
        raise InputError(f"images must be at least {smallest}×{smallest} pixels, not {shape[1]}×{shape[2]}")
    for out, kernel, stride in kinds:
        sizes.append((channels * kernel * kernel, out))
        channels, sides = out, [(side - kernel) // stride + 1 for side in sides]
    return [linear(generators, *size) for size in (*sizes, (channels * prod(sides), width))]


def image_body(generators: Generators, leaf: Leaf) -> Body:
    """`Nature`, or `Shallow` for images that are too small for it. Raises InputError if they are for either."""
    if min(leaf.shape[1:]) < SMALL:
        return Shallow(generators, leaf.shape, leaf.brightest)
    return Nature(generators, leaf.shape, unit=leaf.space.dtype != np.uint8)


class Joined(nn.Module):
    """Convolutions for each image, which lies flat among other parts, then dense layers: [S, B, D] -> [S, B, H]."""

    def __init__(self, generators: Generators, spaces: Spaces, hidden: Sequence[int], activation: str) -> None:
        super().__init__()
        self.sizes = [leaf.size for leaf in spaces.leaves]
        self.images = [(i, leaf) for i, leaf in enumerate(spaces.leaves) if leaf.axes]
        bodies = [image_body(generators, leaf) for _, leaf in self.images]
        self.bodies = nn.ModuleList(cast(list[nn.Module], bodies))
        width = sum(leaf.size for leaf in spaces.leaves if not leaf.axes) + sum(body.width for body in bodies)
        self.dense = Dense(generators, (width, *hidden), activation)
        self.width = self.dense.width
        self.layers = [layer for body in (*bodies, self.dense) for layer in body.layers]

    def forward(self, x: Tensor) -> Tensor:
        parts = list(x.split(self.sizes, -1))
        for body, (i, leaf) in zip(self.bodies, self.images, strict=True):
            parts[i] = body(parts[i].unflatten(-1, leaf.shape).to(leaf.dtype))
        features: Tensor = self.dense(torch.cat(parts, -1))  # [S, B, Σ]
        return features


class Net(nn.Module):
    """A body and a head: [S, B, ...] -> [S, B, out]. Two nets can share a body."""

    def __init__(self, body: Body, head: Head) -> None:
        super().__init__()
        self.body, self.head = body, head

    @property
    def layers(self) -> list[Layer]:
        """Weight [S, in, out] and bias [S, 1, out] of every layer; the last one is the head."""
        return [*self.body.layers, (self.head.weight, self.head.bias)]

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
    layers = [(nn.Parameter(weight.float()), nn.Parameter(bias.float())) for weight, bias in drawn]
    for i, (weight, bias) in enumerate(layers):
        module.register_parameter(f"weight{i}", weight)
        module.register_parameter(f"bias{i}", bias)
    return layers


def checked(body: Body, spaces: Spaces, seeds: int) -> Body:
    """Return the body after testing it on a few rows. Raises InputError if it does not follow the `Body` protocol."""
    measured = hasattr(body, "layers") and isinstance(getattr(body, "width", None), int)
    if not (isinstance(body, nn.Module) and measured):
        raise InputError(f"body= must make an nn.Module with a width and layers, not {type(body).__name__}")
    for name, tensor in (*body.named_parameters(), *body.named_buffers()):
        if tensor.shape[:1] != (seeds,):
            raise InputError(f"{name} of the body must lead with the seed axis, {seeds}; it is {list(tensor.shape)}")
    space = deepcopy(spaces.observation)
    space.seed(0)
    obs = torch.stack([spaces.encode(space.sample(), ()) for _ in range(seeds * ROWS)]).unflatten(0, (seeds, ROWS))
    again = "gives other features the second time, so no ratio would begin at 1 (dropout?)"
    mixes = "mixes rows: an observation's features depend on the others of its batch (batch norm?)"
    with torch.no_grad():
        features = tried(body, obs)
        for part, fault in ((slice(ROWS), again), (slice(1), mixes), (slice(1, ROWS), mixes)):
            if not alike(tried(body, obs[:, part]), features[:, part]):
                raise InputError(f"the body {fault}")
        for s in range(seeds):
            others = obs.flip(1)
            others[s] = obs[s]
            if not alike(tried(body, others)[s], features[s]):
                raise InputError("the body mixes seeds: one seed's features depend on another's observations")
    with torch.enable_grad():
        learned, free = tried(body, obs), [p for p in body.parameters() if p.requires_grad]
        if not alike(learned.detach(), features):
            raise InputError("the body gives other features where gradients are computed than where it plays")
        if free and not learned.requires_grad:
            how = "if that is meant, give them requires_grad=False"
            raise InputError(f"no gradient reaches the body's parameters; {how}")
        for s in range(seeds if free else 0):
            grads = torch.autograd.grad(learned[s].sum(), free, retain_graph=True, materialize_grads=True)
            if any(g[:s].any() or g[s + 1 :].any() for g in grads):
                raise InputError("the body mixes seeds: one seed's features depend on another's parameters")
    return body


def tried(body: Body, obs: Tensor) -> Tensor:
    """The features of these observations, after a look at their shape and type."""
    given, wanted = obs.clone(), [*obs.shape[:2], body.width]
    try:
        features: Tensor = body(given)
        shape, kind = list(features.shape), features.dtype
    except Exception as error:  # a net can raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"the body fails on observations {list(obs.shape)}: {reason}") from error
    if not torch.equal(given, obs):
        raise InputError("the body changes the observations that it is given, which others read too")
    if shape != wanted:
        raise InputError(f"the body maps observations {list(obs.shape)} to {shape}; [S, B, width] is {wanted}")
    if kind is not torch.float32:
        raise InputError(f"the body's features must be float32, and are {str(kind).removeprefix('torch.')}")
    return features


def alike(mine: Tensor, other: Tensor) -> bool:
    """Up to the rounding of sums in another order."""
    return torch.allclose(mine, other, rtol=1e-3, atol=1e-4 * float(other.abs().nan_to_num().max()), equal_nan=True)
