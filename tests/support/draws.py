"""Inputs at random for the formulas that have compiled forms, seldom what a form is for to the last detail."""

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from tricks.core.layers import affine, dense
from tricks.core.policies import Categorical
from tricks.core.reductions import discounted_sum, mean
from tricks.fast.dispatch import plain

DTYPES = torch.float64, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool
ODD = torch.nan, torch.inf, -torch.inf, 0.0, -0.0, 30.0, -30.0, 1e-40
FORMS = "mean", "discounted_sum", "log_prob", "dense", "affine"
Call = tuple[Callable[..., Any], list[Tensor]]


class Draw(random.Random):
    """Tensors at random, seldom what a form is for to the last detail, unless what is drawn is `usual`."""

    def __init__(self, seed: str, usual: bool = False) -> None:
        super().__init__(seed)
        self.usual = usual

    def tensor(self, *shape: int, dtype: torch.dtype = torch.float32, high: int = 3) -> Tensor:
        size = list(shape)
        if self.usual:
            return self.numbers(size, dtype, dtype, high)
        if self.random() < 0.12 and size:
            size[self.randrange(len(size))] = self.choice([0, 1, 2, 3, 5])
        if self.random() < 0.04:
            size = self.choice([size[1:], [1, *size], size[:-1]])
        kind = self.choice(DTYPES) if self.random() < 0.06 else dtype
        return self.laid(self.numbers(size, kind, dtype, high))

    def numbers(self, size: list[int], kind: torch.dtype, dtype: torch.dtype, high: int) -> Tensor:
        generator = torch.Generator().manual_seed(self.randrange(2**31))
        if dtype in (torch.int64, torch.bool):
            x = torch.randint(0, high, size, generator=generator)
            if self.random() < 0.2 and x.numel() and dtype is torch.int64:
                x.view(-1)[self.randrange(x.numel())] = self.choice([-1, high, 2**40, -(2**62)])
            x = x.to(kind)
        else:
            x = torch.randn(size, generator=generator, dtype=torch.float32).to(kind)
            x = x.round() if self.random() < 0.2 and x.is_floating_point() else x
            for _ in range(self.choice([0, 0, 0, 1, 3]) if x.numel() and x.is_floating_point() else 0):
                x.view(-1)[self.randrange(x.numel())] = self.choice(ODD)
        return x

    def laid(self, x: Tensor) -> Tensor:
        way = self.randrange(12)
        if way == 0 and x.dim() > 1:
            return x.mT.contiguous().mT
        if way == 1 and x.dim():
            return torch.stack([x, x], -1)[..., 0]
        if way == 2 and x.dim() and x.shape[0]:
            return x[:1].expand(x.shape)
        if way == 3 and x.dim():
            return torch.cat([x, x])[len(x) :]
        if way == 4 and x.is_floating_point():
            return torch._neg_view(-x)  # as the imaginary part of a conjugate
        return x

    def rows(self) -> tuple[int, int]:
        return self.choice([1, 2, 3]), self.choice([0, 1, 5, 33, 70])

    def mean(self) -> Call:
        shape, kind = self.rows(), self.choice([torch.float32, torch.float64])
        return mean, [self.tensor(*shape, dtype=kind), self.tensor(*shape, dtype=torch.bool, high=2)]

    def discounted_sum(self) -> Call:
        shape, kind = (self.choice([1, 3]), self.choice([0, 1, 6]), self.choice([1, 2])), self.choice(DTYPES[:2])
        return discounted_sum, [self.tensor(*shape, dtype=kind), self.tensor(*shape, dtype=kind)]

    def log_prob(self) -> Call:
        shape, actions = self.choice([(), (4,), (2, 5), (2, 3, 2)]), self.choice([0, 1, 2, 5])
        action = self.tensor(*shape, dtype=torch.int64, high=max(1, actions))
        return Categorical.log_prob, [self.tensor(*shape, actions), action]

    def dense(self) -> Call:
        seeds, rows = self.rows()
        sizes, tanh = [self.choice([1, 2, 4, 17]) for _ in range(self.choice([1, 2, 3]))], self.random() < 0.5
        flat = [x for size in pairwise(sizes) for x in (self.tensor(seeds, *size), self.tensor(seeds, 1, size[1]))]
        x = self.tensor(seeds, rows, sizes[0])
        return lambda x, *flat: dense(x, [*zip(flat[::2], flat[1::2], strict=True)], tanh), [x, *flat]

    def affine(self) -> Call:
        (seeds, rows), inputs, outputs = self.rows(), self.choice([0, 1, 5]), self.choice([0, 1, 2, 18])
        bias = self.tensor(seeds, 1, outputs, dtype=self.choice([torch.float32, torch.float64]))
        return affine, [self.tensor(seeds, rows, inputs), self.tensor(seeds, inputs, outputs), bias]


def outcome(call: Call, seed: int) -> list[Tensor] | None:
    """The results, and the gradients of what has any; None if it raises."""
    function, given = call
    given = [x.detach() for x in given]
    wanted = random.Random(seed)
    if wanted.random() < 0.7:
        given = [x.requires_grad_(x.is_floating_point() and wanted.random() < 0.7) for x in given]
    try:
        with torch.set_grad_enabled(wanted.random() < 0.85):
            found = function(*given)
            results = [found] if isinstance(found, Tensor) else list(found)
            free, out = [x for x in given if x.requires_grad], [x for x in results if x.requires_grad]
            if not free or not out:
                return results
            weights = [torch.linspace(-1, 2, x.numel()).view(x.shape).to(x.dtype) for x in out]
            if wanted.random() < 0.2 and weights[0].numel() and weights[0].is_floating_point():
                weights[0].view(-1)[0] = wanted.choice(ODD)
            grads = torch.autograd.grad(out, free, weights, allow_unused=True, materialize_grads=True)
            return results + [torch.where(g.isfinite(), g, torch.nan) for g in grads]
    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
        return None


def largest(x: Tensor) -> float:
    x = x.detach().double()
    return float(torch.where(x.isfinite(), x, 0).abs().amax()) if x.numel() else 0.0


def assert_form(call: Call, seed: int) -> bool:
    """Both forms raise, or agree; whether they did not raise."""
    with plain():
        theirs = outcome(call, seed)
    mine = outcome(call, seed)
    shown = [(x.shape, x.dtype, x.stride()) for x in call[1]]
    assert (mine is None) == (theirs is None), shown
    for x, y in zip(mine or [], theirs or [], strict=True):
        atol = 1e-5 * (1 + max(map(largest, (y, *call[1]))))
        torch.testing.assert_close(x, y, rtol=1e-4, atol=atol, equal_nan=True)
    return mine is not None
