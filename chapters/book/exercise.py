"""Exercises that check the reader's answer and say what is wrong with it."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

Case = Mapping[str, Any]
Cases = Sequence[Case]
SLOPES = 1e-4  # relative and absolute tolerance of gradients


class Draw:
    """Inputs at random, the same for the same seeds."""

    def __init__(self, *seeds: int) -> None:
        self.rng = np.random.default_rng(seeds)

    def tensor(self, *shape: int, low: float = -2.0, high: float = 2.0) -> Tensor:
        """Numbers between `low` and `high`."""
        return torch.tensor(self.rng.uniform(low, high, shape), dtype=torch.float32)

    def flags(self, *shape: int, share: float = 0.3) -> Tensor:
        """Flags, of which about this share is True."""
        return torch.tensor(self.rng.random(shape) < share)

    def number(self, low: float, high: float) -> float:
        """A number between `low` and `high`."""
        return float(self.rng.uniform(low, high))

    def whole(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        return int(self.rng.integers(low, high + 1))


@dataclass(frozen=True)
class Exercise:
    """A function for the reader to write. Calling the exercise with it prints whether it is right, or what is wrong.

    right: a correct function. cases: its arguments in order, case by case, under the names that messages give them.
    mistakes: wrong functions that readers write, each under the hint that it gets. tolerance: relative and absolute.
    otherwise: said of other wrong answers, where the expected numbers would give the answer away. gradients: the
    arguments in which the answer's gradient must be right, too. drawn: one more case at random, for grading.
    """

    right: Callable[..., Any]
    cases: Cases
    mistakes: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    tolerance: float = 1e-5
    otherwise: str = ""
    gradients: Sequence[str] = ()
    drawn: Callable[[Draw], Case] | None = None

    def __call__(self, answer: Callable[..., Any]) -> None:
        print(self.verdict(answer))

    def verdict(self, answer: Callable[..., Any]) -> str:
        """`Right`, `Not yet` for a function that returns nothing, or the first case that differs, and how."""
        return self.judged(
            getattr(answer, "__name__", "your function"),
            self.cases,
            lambda case: called(answer, case, self.gradients),
        )

    def judged(self, name: str, cases: Cases, outcome: Callable[[Case], "Outcome"]) -> str:
        """The verdict on what came of an answer in each of these cases; `outcome` may raise what the answer raised."""
        given = []
        for case in cases:
            try:
                given.append(outcome(case))
            except Exception as error:  # whatever a reader's function can raise
                return f"Not yet: {name}({_call(case)}) raises {type(error).__name__}: {error}"
        if all(value is None or value is Ellipsis for value, _ in given):
            return f"Not yet: {name} returns nothing. Write it, and run this cell again."
        wanted = [called(self.right, case, self.gradients) for case in cases]
        for case, (got, _), (want, _) in zip(cases, given, wanted, strict=True):
            if fault := self._fault(got, want):
                known = (  # a mistake that gives the same in all cases
                    said
                    for said, wrong in self.mistakes.items()
                    if not any(self._fault(x, wrong(*c.values())) for c, (x, _) in zip(cases, given, strict=True))
                )
                return f"Not yet: {next(known, self.otherwise) or f'{name}({_call(case)}) {fault}'}"
        for case, (_, slopes), (_, right) in zip(cases, given, wanted, strict=True):
            but = f"Not yet: {name}({_call(case)}) gives the right numbers, but"
            for each, have, want in zip(self.gradients, slopes, right, strict=True):
                if have is None:
                    return f"{but} no gradient reaches {each}: stay with tensors, without item(), detach(), or numpy."
                if not np.allclose(_plain(have), _plain(want), rtol=SLOPES, atol=SLOPES):
                    return f"{but} the gradient in {each} is wrong."
        return f"Right, in {len(cases)} of {len(cases)} cases."

    def _fault(self, got: Any, wanted: Any) -> str:
        """How a result differs from the expected one; empty if it does not."""
        want = _plain(wanted)
        try:
            have = _plain(tuple(got) if isinstance(wanted, tuple) else got)
        except (TypeError, ValueError, RuntimeError, OverflowError):
            missing = f"{len(wanted)} results" if isinstance(wanted, tuple) else "numbers"
            return f"returns {type(got).__name__}, but should return {missing}"
        if have.shape != want.shape:
            return f"has shape {list(have.shape)}, but should have {list(want.shape)}"
        if np.allclose(have, want, rtol=self.tolerance, atol=self.tolerance, equal_nan=True):
            return ""
        if getattr(wanted, "dtype", type(wanted)) in (bool, torch.bool) and np.isin(have, (0, 1)).all():
            have, want = have.astype(bool), want.astype(bool)
        return f"gives\n{_numbers(have)}\nbut should give\n{_numbers(want)}"


Slopes = Sequence[Tensor | None]
Outcome = tuple[Any, Slopes]


def called(answer: Callable[..., Any], case: Case, gradients: Sequence[str] = ()) -> Outcome:
    """What an answer gives in a case, and the gradients in these arguments of its sum, in which later numbers weigh
    more. A gradient is None where the result does not depend on the argument."""
    given = deepcopy(dict(case))  # a copy: the reader may write in place
    leaves = [given[name].requires_grad_() for name in gradients]
    given |= {name: leaf.clone() for name, leaf in zip(gradients, leaves, strict=True)}  # a leaf can't be written to
    value = answer(*given.values())
    slopes: Slopes = [None] * len(leaves)
    if leaves and isinstance(value, Tensor) and value.requires_grad:
        weights = torch.linspace(1, 2, value.numel()).reshape(value.shape)
        slopes = torch.autograd.grad((value * weights).sum(), leaves, allow_unused=True)
    return (value.detach() if isinstance(value, Tensor) else value), slopes


def _plain(x: Any) -> np.ndarray:
    """Numbers as a float array. A tuple of results becomes one flat array."""
    if isinstance(x, tuple):
        return np.concatenate([_plain(each).ravel() for each in x])
    return (x if isinstance(x, np.ndarray) else torch.as_tensor(x).detach().numpy()).astype(float)


def _call(case: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_short(value)}" for name, value in case.items())


def _short(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return _numbers(value.detach().numpy()) if value.numel() <= 12 else f"tensor {list(value.shape)}"
    if isinstance(value, partial):
        return f"{value.func.__name__}({_call(value.keywords)})"
    return getattr(value, "__name__", None) or repr(value)


def _numbers(x: np.ndarray) -> str:
    return np.array2string(np.asarray(x), precision=4, suppress_small=True, separator=", ", threshold=20)
