"""Where a computation is compiled by numba, and where it takes its plain form, in PyTorch."""

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, wraps
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from tricks.fast.formulas import Formula, say

P = ParamSpec("P")
R = TypeVar("R")
KINDS = Tensor, nn.Parameter
_wanted = True


def faster(module: str, update: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A plain formula, computed by the function of its name in a module, unless that returns None.

    A formula also takes its plain form while anything that it reads, or that those it calls read, is replaced, and if
    its text was edited. Of a function of a training, all that is asked once an `update`, and of its text, only the
    flags count that are on or that the form knows.
    """

    def chosen(plain: Callable[P, R]) -> Callable[P, R]:
        formula = Formula(plain, module)

        def usable(training: Any = None) -> bool:
            if not update:
                return wanted() and formula.as_written()
            if formula.name not in training.compiled:
                training.compiled[formula.name] = wanted() and formula.as_written(training.tricks.on)
            return bool(training.compiled[formula.name])

        @wraps(plain)
        def computed(*args: P.args, **kwargs: P.kwargs) -> R:
            found = formula.form(*args, **kwargs) if usable(*args[:1]) else None
            return plain(*args, **kwargs) if found is None else found

        return computed

    return chosen


def simple(x: Tensor, *kinds: torch.dtype) -> bool:
    """Whether these are numbers of one of these kinds in a CPU's memory: in no subclass, and none to be negated."""
    return x.dtype in kinds and type(x) in KINDS and x.is_cpu and x.layout is torch.strided and not x.is_neg()


def laid(shape: Sequence[int], *tensors: Tensor, kind: torch.dtype = torch.float32) -> bool:
    """Whether these are simple, of this shape and kind, and contiguous, so that a kernel can take their addresses."""
    return all(simple(x, kind) and x.shape == shape and x.is_contiguous() for x in tensors)


def wanted() -> bool:
    """Whether compiled functions are wanted here: not within `plain()`.

    Nor where PyTorch does more with an operation than to compute it: where it compiles or traces it, transforms or
    differentiates it as it goes (`torch.func`, forward mode), takes fewer digits (`autocast`), or shows it to a mode.
    """
    followed = torch.compiler.is_compiling() or torch.jit.is_tracing() or torch.is_autocast_enabled("cpu")
    changed = torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0
    return _wanted and not (followed or changed or torch._C._len_torch_dispatch_stack())


@contextmanager
def plain() -> Iterator[None]:
    """Within it, everything takes its plain form."""
    global _wanted
    before, _wanted = _wanted, False
    try:
        yield
    finally:
        _wanted = before


def available() -> bool:
    """Whether anything is compiled in this process."""
    return wanted() and loaded("tricks.fast.compiled_rows") is not None


@cache
def loaded(module: str) -> ModuleType | None:
    """A module of compiled functions, compiled now if numba has not kept them; None where that can't be."""
    try:
        return importlib.import_module(module)
    except ImportError:  # there is no numba, or this CPU lacks something that its functions need
        return None
    except Exception as error:  # there is no folder to keep them in, or this version of numba can't compile them
        folder = "numba finds no folder for its cache; NUMBA_CACHE_DIR can name one"
        why = folder if "no locator" in str(error) else type(error).__name__
        say(f"not compiled ({why}), so PyTorch computes the plain formulas, which is slower")
        return None
