"""The process that runs a student's code, started by `judging` on a copy of the packages that has no right answers.

It calls the student's function on inputs that it is given and hands back what came of it, as numbers. It judges nothing
and has nothing to judge by, so nothing that the student's code reads, prints, patches, or exits makes an answer right.
"""

import importlib
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from chapters.book.exercise import Case, called
from chapters.book.grading.fence import TOO_LONG, enclose, limit
from chapters.book.grading.needed import needed

LONGEST = 300  # characters of a message
MOST = 100_000  # numbers in a result
DTYPES = {f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64)} | {"bool"}
OWN = ("chapters", "tricks", "ablations")


def main() -> None:
    """Read a request from standard input, say `ready`, run the answer, and write what came of it as JSON."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    request = json.loads(sys.stdin.buffer.read())
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    torch.set_num_threads(1)
    cases = [{name: _input(value) for name, value in case.items()} for case in request["cases"]]
    print("ready", file=replies, flush=True)
    limit(request["memory"], request["seconds"])
    enclose(request["readable"], os.getcwd())
    late = threading.Timer(2 * request["seconds"], os._exit, (TOO_LONG,))  # if nobody is left to stop it
    late.daemon = True
    late.start()
    reply = answered(request["code"], request["check"], request["answer"], cases, request["gradients"])
    json.dump(reply, replies)
    replies.flush()
    os._exit(0)  # without what the student's code left to be done at exit


def _input(value: Any) -> Any:
    """An argument for the answer; a function is that of the copy."""
    if "function" not in value:
        return decoded(value)
    module, name = value["function"]
    function = getattr(importlib.import_module(module), name)
    return partial(function, **value["with"]) if value["with"] else function


def answered(
    code: Sequence[tuple[int, str]], check: str, answer: str, cases: Sequence[Case], gradients: Sequence[str] = ()
) -> dict[str, Any]:
    """What came of an answer, case by case.

    `missing` if the notebook has no answer, `fault` if it cannot be run at all, otherwise its `name`, what it takes
    from this project (`uses`), and `results`, up to the first that is an exception.
    """
    found = needed(code, check, answer)
    if found.expression is None:
        return {"fault": f"its cell is not Python: {found.own}"} if found.own else {"missing": True}
    known: dict[str, Any] = {"__name__": "__main__"}
    loaded = set(sys.modules)
    first = f"not Python: {found.other}" if found.other else ""
    for statement in found.statements:
        try:
            exec(compile(statement, "<notebook>", "exec"), known)
        except BaseException as error:  # it may not matter for the answer; if it does, this is the reason
            first = first or f"a statement before it raised {': '.join(raised(error))}"
    try:
        function = eval(compile(found.expression, "<notebook>", "eval"), known)
    except BaseException as error:
        return {"fault": f"raises {': '.join(raised(error))}{f' ({first})' if first else ''}"}
    given = results(function, cases, gradients)
    if found.own and all(each.get("result") == {"nothing": False} for each in given):
        return {"fault": f"its cell is not Python: {found.own}"}
    if first and "raised" in given[-1]:
        kind, message = given[-1]["raised"]
        given[-1] = {"raised": (kind, f"{message} ({first})")}
    homes = {
        name: getattr(known.get(name), "__module__", getattr(known.get(name), "__name__", "")) for name in found.names
    }
    uses = [name for name, home in homes.items() if str(home).partition(".")[0] in OWN]
    hidden = {name.partition(".")[0] for name in sys.modules.keys() - loaded}  # an import inside of a function
    uses = uses or sorted(hidden.intersection(OWN))
    return {"name": str(getattr(function, "__name__", "your function")), "uses": uses, "results": given}


def results(function: Callable[..., Any], cases: Sequence[Case], gradients: Sequence[str] = ()) -> list[dict[str, Any]]:
    """What the function gives in each case, and its gradients, encoded, up to the first exception."""
    found: list[dict[str, Any]] = []
    for case in cases:
        try:
            value, slopes = called(function, case, gradients)
            found.append({"result": encoded(value), "slopes": [encoded(slope) for slope in slopes]})
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
    """Numbers, and tuples and lists of them, as JSON. Of a function, where it is; of anything else, its type's name."""
    if isinstance(value, torch.Tensor | np.ndarray):
        array = value.detach().numpy() if isinstance(value, torch.Tensor) else value
        if array.size <= MOST and str(array.dtype) in DTYPES:
            kind = "tensor" if isinstance(value, torch.Tensor) else "array"
            return {kind: array.tolist(), "dtype": str(array.dtype), "shape": array.shape}
    if isinstance(value, bool | int | float | np.bool | np.integer | np.floating):
        return {"number": value if isinstance(value, bool | int | float) else value.item()}
    if isinstance(value, tuple | list) and len(value) <= MOST:
        return {"list" if type(value) is list else "tuple": [encoded(each) for each in value]}
    if value is None or value is Ellipsis:
        return {"nothing": value is None}
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, partial):
        return {"function": (value.func.__module__, value.func.__name__), "with": value.keywords}
    if callable(value) and hasattr(value, "__name__"):
        return {"function": (value.__module__, value.__name__), "with": {}}
    return {"other": type(value).__name__}


def decoded(result: dict[str, Any]) -> Any:
    """What `encoded` made JSON of; of anything but numbers, an object of no use. Raises an error for other JSON."""
    ((kind, value),) = ((k, v) for k, v in result.items() if k not in ("dtype", "shape", "with"))
    if kind in ("tensor", "array"):
        if result["dtype"] not in DTYPES:
            raise ValueError(f"no numbers: {result['dtype']}")
        array = np.array(value, dtype=result["dtype"]).reshape(result["shape"])
        return torch.from_numpy(array) if kind == "tensor" else array
    if kind in ("tuple", "list"):
        return {"tuple": tuple, "list": list}[kind](decoded(each) for each in value)
    if kind in ("number", "text"):
        return value
    return (None if value else ...) if kind == "nothing" else type(str(value), (), {})()
