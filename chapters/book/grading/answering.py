"""The process that runs a student's code: `python -m chapters.book.grading.answering`, started by `judging`.

It calls the student's function on the exercise's cases and hands back what came of it, as numbers. It judges nothing,
so nothing that the student's code prints, patches, or exits can make an answer right.
"""

import contextlib
import importlib
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch

from chapters.book.grading.needed import needed

MOST = 100_000  # numbers in a result
LONGEST = 300  # characters of a message
TOO_LONG = 124  # the exit status of an answer that used up its time on the processor
OWN = ("chapters", "tricks", "ablations")


def main() -> None:
    """Read a request from standard input, say `ready`, run the answer, and write what came of it as JSON."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    request = json.loads(sys.stdin.buffer.read())
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    exercise = getattr(importlib.import_module(f"chapters.exercises.{request['module']}"), request["check"])
    torch.set_num_threads(1)
    _limit(request["memory"], request["seconds"])
    print("ready", file=replies, flush=True)
    reply = answered(request["code"], request["check"], request["answer"], exercise.cases)
    json.dump(reply, replies)
    replies.flush()
    os._exit(0)  # without what the student's code left to be done at exit


def _limit(memory: int, seconds: float) -> None:
    """Allow so many bytes beyond what the libraries took, and little more time and disk, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = int(used.ru_utime + used.ru_stime + 2 * seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (spent, spent + 1))
    signal.signal(signal.SIGXCPU, lambda *_: os._exit(TOO_LONG))
    limits = {resource.RLIMIT_FSIZE: 64_000_000, resource.RLIMIT_CORE: 0}
    with contextlib.suppress(OSError):  # no /proc: macOS, which does not enforce it anyway
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limits[resource.RLIMIT_AS] = pages * resource.getpagesize() + memory
    for kind, most in limits.items():
        resource.setrlimit(kind, (most, most))


def answered(code: Sequence[str], check: str, answer: str, cases: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What came of an answer, case by case.

    `missing` if the notebook has no answer, `fault` if it cannot be run at all, otherwise its `name`, what it takes
    from this project (`uses`), and `results`, up to the first that is an exception.
    """
    found = needed(code, check, answer)
    if found.fault or found.expression is None:
        return {"fault": found.fault} if found.fault else {"missing": True}
    known: dict[str, Any] = {"__name__": "__main__"}
    first = ""
    for statement in found.statements:
        try:
            exec(compile(statement, "<notebook>", "exec"), known)
        except BaseException as error:  # it may not matter for the answer; if it does, this is the reason
            first = first or ": ".join(raised(error))
    try:
        function = eval(compile(found.expression, "<notebook>", "eval"), known)
    except BaseException as error:
        return {"fault": f"raises {first or ': '.join(raised(error))}"}
    uses = [name for name in found.names if _own(known.get(name))]
    given = results(function, cases)
    if first and "raised" in given[-1]:
        kind, message = given[-1]["raised"]
        given[-1] = {"raised": (kind, f"{message} (a statement before it raised {first})")}
    return {"name": getattr(function, "__name__", "your function"), "uses": uses, "results": given}


def _own(value: Any) -> bool:
    """Whether a value comes from this project."""
    name = value.__name__ if isinstance(value, type(sys)) else getattr(value, "__module__", None)
    return str(name).partition(".")[0] in OWN


def results(function: Callable[..., Any], cases: Sequence[Mapping[str, Any]]) -> list[Any]:
    """What the function gives in each case, encoded, up to the first exception."""
    found: list[Any] = []
    for case in cases:
        try:
            found.append(encoded(function(*deepcopy(dict(case)).values())))
        except BaseException as error:  # exit(), too
            return [*found, {"raised": raised(error)}]
    return found


def raised(error: BaseException) -> tuple[str, str]:
    """An exception's type and its message."""
    try:
        return type(error).__name__, str(error)[:LONGEST]
    except BaseException:
        return type(error).__name__, ""


def encoded(value: Any) -> Any:
    """A result as JSON: numbers, and tuples and lists of them. Of anything else, the name of its type."""
    if isinstance(value, torch.Tensor | np.ndarray):
        array = value.detach().numpy() if isinstance(value, torch.Tensor) else value
        if array.size <= MOST and array.dtype.kind in "biuf":
            kind = "tensor" if isinstance(value, torch.Tensor) else "array"
            return {kind: array.tolist(), "dtype": str(array.dtype), "shape": array.shape}
    if isinstance(value, bool | int | float | np.bool | np.integer | np.floating):
        return {"number": value if isinstance(value, bool | int | float) else value.item()}
    if isinstance(value, tuple | list) and len(value) <= MOST:
        return {type(value).__name__ if type(value) in (tuple, list) else "tuple": [encoded(each) for each in value]}
    if value is None or value is Ellipsis:
        return {"nothing": value is None}
    return {"other": type(value).__name__}


if __name__ == "__main__":
    main()
