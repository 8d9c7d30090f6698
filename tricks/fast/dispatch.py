"""Where a computation is compiled by numba, and where it takes its plain form, in PyTorch."""

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from tricks.fast.formulas import all_unchanged, as_written, note, reads

P = ParamSpec("P")
R = TypeVar("R")
KINDS = Tensor, nn.Parameter
_wanted = True


def faster(
    module: str, name: str = "", late: bool = False, update: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A plain formula, computed by the function of its own or this name in a module, unless that returns None.

    The module is one of `tricks.fast`, or another, named with a dot. A formula also takes its plain form while a
    function or constant that it reads, or that those it calls read, is replaced, and if its text was edited. Another
    module is imported at once, before anybody can replace what it stands for, unless it imports the formula's own
    module (`late`). Of a function of a training, all that is asked once an `update`, and of its text, only the flags
    count that are on or that the compiled form knows.
    """

    def chosen(formula: Callable[P, R]) -> Callable[P, R]:
        @cache
        def form() -> Callable[P, R | None]:
            found: Callable[P, R | None] = getattr(importlib.import_module(path(module)), name or formula.__name__)
            return found

        if "." in module and not late:
            form()
        known, noted = reads(formula), note(formula, form)

        def unchanged(on: tuple[str, ...] = ()) -> bool:
            return all_unchanged(known) and all_unchanged(getattr(form(), "formulas", ())) and as_written(noted, on)

        def usable(training: Any = None) -> bool:
            if not update:
                return wanted() and unchanged()
            if noted not in training.compiled:
                training.compiled[noted] = wanted() and unchanged(training.tricks.on)
            found: bool = training.compiled[noted]
            return found

        @wraps(formula)
        def computed(*args: P.args, **kwargs: P.kwargs) -> R:
            found = form()(*args, **kwargs) if usable(*args[:1]) else None
            return formula(*args, **kwargs) if found is None else found

        return computed

    return chosen


def path(module: str) -> str:
    """A module's name in full, if it has no dot."""
    return module if "." in module else f"tricks.fast.{module}"


def compiled(module: str, *tensors: Tensor) -> ModuleType | None:
    """A module of compiled functions, such as `compiled_rows`, if these tensors are float32, contiguous, and on a CPU.

    None stands for the plain form: for other tensors, on a machine without numba, and within `plain()`.
    """
    for x in tensors:
        if not (simple(x, torch.float32) and x.is_contiguous()):
            return None
    return loaded(module) if wanted() else None


def simple(x: Tensor, *kinds: torch.dtype) -> bool:
    """Whether these are numbers of one of these kinds in a CPU's memory: in no subclass, and none to be negated."""
    return x.dtype in kinds and type(x) in KINDS and x.is_cpu and x.layout is torch.strided and not x.is_neg()


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
    return wanted() and loaded("compiled_rows") is not None


def gradients() -> Any:
    """What is compiled for the gradients of single layers and rows."""
    return loaded("compiled_gradients")


@cache
def loaded(module: str) -> ModuleType | None:
    """A module of compiled functions: from numba's cache on the disk, or compiled now, which is said on stderr.

    None if numba, or something that its functions need of the CPU, is not there.
    """
    start = time.perf_counter()
    try:
        found = importlib.import_module(path(module))
    except ImportError:
        return None
    except Exception as error:  # there is no folder to keep them in, or this version of numba can't compile them
        if "no locator" in str(error):
            homeless()
        else:
            _say(module, f"not compiled ({type(error).__name__}), so PyTorch computes the plain formulas")
        return None
    stats = [each.stats for each in vars(found).values() if hasattr(each, "stats")]
    seconds = time.perf_counter() - start
    if seconds >= 0.5 and any(each.cache_misses for each in stats):
        _say(module, f"compiled for this CPU, once, in {seconds:.0f} s")
    return found


@cache
def homeless() -> None:
    why = "not compiled, because numba finds no folder for its cache; NUMBA_CACHE_DIR can name one"
    print(f"{why}. PyTorch computes the plain formulas, which is slower", file=sys.stderr, flush=True)


def _say(module: str, what: str) -> None:
    print(f"{module.rpartition('.')[2]}: {what}", file=sys.stderr, flush=True)
