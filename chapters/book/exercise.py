"""Exercises that check the reader's answer and say what is wrong with it."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

Cases = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Exercise:
    """A function for the reader to write. Calling the exercise with it prints whether it is right, or what is wrong.

    right: a correct function. cases: its arguments in order, case by case, under the names that messages give them.
    mistakes: wrong functions that readers write, each under the hint that it gets. tolerance: relative and absolute.
    otherwise: said of other wrong answers, where the expected numbers would give the answer away.
    """

    right: Callable[..., Any]
    cases: Cases
    mistakes: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    tolerance: float = 1e-5
    otherwise: str = ""

    def __call__(self, answer: Callable[..., Any]) -> None:
        print(self.verdict(answer))

    def verdict(self, answer: Callable[..., Any]) -> str:
        """`Right`, `Not yet` for a function that returns nothing, or the first case that differs, and how."""
        name = getattr(answer, "__name__", "your function")
        given = []
        for case in self.cases:
            try:
                given.append(answer(*deepcopy(dict(case)).values()))  # a copy: the reader may write in place
            except Exception as error:  # whatever a reader's function can raise
                return f"Not yet: {name}({_call(case)}) raises {type(error).__name__}: {error}"
        if all(each is None or each is Ellipsis for each in given):
            return f"Not yet: {name} returns nothing. Write it, and run this cell again."
        for case, got in zip(self.cases, given, strict=True):
            if fault := self._fault(got, self.right(*case.values())):
                return f"Not yet: {self._mistake(given) or self.otherwise or f'{name}({_call(case)}) {fault}'}"
        return f"Right, in {len(self.cases)} of {len(self.cases)} cases."

    def _fault(self, got: Any, wanted: Any) -> str:
        """How a result differs from the expected one; empty if it does not."""
        want = _plain(wanted)
        try:
            have = _plain(tuple(got) if isinstance(wanted, tuple) else got)
        except (TypeError, ValueError, RuntimeError):
            missing = f"{len(wanted)} results" if isinstance(wanted, tuple) else "numbers"
            return f"returns {type(got).__name__}, but should return {missing}"
        if have.shape != want.shape:
            return f"has shape {list(have.shape)}, but should have {list(want.shape)}"
        if np.allclose(have, want, rtol=self.tolerance, atol=self.tolerance, equal_nan=True):
            return ""
        if getattr(wanted, "dtype", type(wanted)) in (bool, torch.bool) and np.isin(have, (0, 1)).all():
            have, want = have.astype(bool), want.astype(bool)
        return f"gives\n{_numbers(have)}\nbut should give\n{_numbers(want)}"

    def _mistake(self, given: Sequence[Any]) -> str:
        """The hint for a known mistake that gives the same results in all cases; empty if there is none."""
        for said, wrong in self.mistakes.items():
            if not any(self._fault(got, wrong(*case.values())) for case, got in zip(self.cases, given, strict=True)):
                return said
        return ""


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
    return getattr(value, "__name__", None) or repr(value)


def _numbers(x: np.ndarray) -> str:
    return np.array2string(np.asarray(x), precision=4, suppress_small=True, separator=", ", threshold=20)
