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

import torch

from chapters.book.exercise import Case, called
from chapters.book.grading.fence import TOO_LONG, enclose, limit
from chapters.book.grading.needed import needed
from chapters.book.grading.wire import decoded, encoded

LONGEST = 300  # characters of a message
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
    uses = [name for name in found.names if _own(known.get(name))]
    hidden = {name.partition(".")[0] for name in sys.modules.keys() - loaded}  # an import inside of a function
    uses = uses or sorted(hidden.intersection(OWN))
    return {"name": str(getattr(function, "__name__", "your function")), "uses": uses, "results": given}


def _own(value: Any) -> bool:
    """Whether a value comes from this project."""
    name = value.__name__ if isinstance(value, type(sys)) else getattr(value, "__module__", None)
    return str(name).partition(".")[0] in OWN


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
