"""Questions with known answers, and doors that are closed."""

import libcst as cst
import pytest

from tricks.reading.decide import Decide
from tricks.reading.doors import CloseDoors, closed_doors, without_unused

CASES = {
    "taken": ("if yes:\n    a()\nelse:\n    b()", "a()"),
    "not taken": ("if no:\n    a()\nelse:\n    b()", "b()"),
    "nothing left": ("c()\n\nif no:\n    a()\nd()", "c()\n\nd()"),
    "unknown": ("if what:\n    a()", "if what:\n    a()"),
    "not": ("if not no:\n    a()", "a()"),
    "and": ("if what and no:\n    a()\nd()", "d()"),
    "or": ("if what or yes:\n    a()", "a()"),
    "elif after no": ("if no:\n    a()\nelif what:\n    b()\nelse:\n    c()", "if what:\n    b()\nelse:\n    c()"),
    "elif yes": ("if what:\n    a()\nelif yes:\n    b()\nelse:\n    c()", "if what:\n    a()\nelse:\n    b()"),
    "elif no": ("if what:\n    a()\nelif no:\n    b()", "if what:\n    a()"),
    "expression": ("x = a if no else b", "x = b"),
    "after a return": ("if yes:\n    return a\nreturn b", "return a"),
    "its comment": ("# why\nif yes:  # and how\n    a()", "# why\n# and how\na()"),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_known_tests_give_way_to_their_branch(before: str, after: str) -> None:
    lines = "".join(f"    {line}\n" if line else "\n" for line in before.split("\n"))
    decided = cst.parse_module(f"def f():\n{lines}").visit(Decide({"yes": True, "no": False}))
    left = decided.code.removeprefix("def f():\n")
    assert "\n".join(line.removeprefix("    ") for line in left.splitlines()) == after


LOOP = """
def train(config, tricks, *, env: str | None = None, checkpoints: Checkpoints | None = None):
    with make(config, env, purpose=None) as world:
        return inside(world, config, tricks, checkpoints)


def inside(env: Env, config, tricks, checkpoints: Checkpoints | None):
    log = Log(config, checkpoints)
    log.say(checkpoints, 1, checkpoints=checkpoints)
    if checkpoints is not None:
        checkpoints.begin(tricks)
    return log, env
"""

CLOSED = """
def train(config):
    with make(config, purpose=None) as world:
        return inside(world, config)


def inside(env: Env, config):
    log = Log(config)
    log.say(None, 1)
    return log, env
"""


def test_doors_are_closed() -> None:
    """An environment that is needed is no door; one that may be brought is."""
    module = cst.parse_module(LOOP)
    close = CloseDoors({node.name.value: node for node in module.body if isinstance(node, cst.FunctionDef)})
    assert close.gone == {"train": {"tricks", "env", "checkpoints"}, "inside": {"tricks", "checkpoints"}}
    assert module.visit(Decide(closed_doors({"checkpoints"}))).visit(close).code == CLOSED


ASKED = """
def train(config, seeds):
    first = second = make(seeds)
    other = make(2)
    return step(config, first, other, 3)


def step(config, first, other, deep):
    return turn(config, first, far=deep)


def turn(config, rate, far):
    return rate
"""

ANSWERED = """
def train(config, seeds):
    first = second = make(seeds)
    return step(config, first)


def step(config, first):
    return turn(config, first)


def turn(config, rate):
    return rate
"""


def test_parameters_that_nobody_reads_go_with_their_arguments_and_what_was_computed_for_them() -> None:
    """But not those of the root, nor `config`, which every function of the loop takes."""
    module = cst.parse_module(ASKED)
    functions = {node.name.value: node for node in module.body if isinstance(node, cst.FunctionDef)}
    left = without_unused(functions, "train", lambda call: True)
    assert cst.Module([*left.values()]).code.strip() == ANSWERED.strip()


@pytest.mark.parametrize("width", [110, 130, 240])
def test_parameters_that_are_left_stand_as_they_would_when_formatted(width: int) -> None:
    names = [f"parameter_{k}" for k in range(width // 14)]
    code = f"def f({', '.join([*names, 'gone'])}) -> None:\n    return {', '.join(names)}\n"
    (function,) = cst.parse_module(code).body
    left = without_unused({"f": cst.ensure_type(function, cst.FunctionDef)}, "", lambda call: True)["f"]
    head = cst.Module([left]).code.split(") -> None")[0]
    on_one_line, inside = f"def f({', '.join(names)}", f"def f(\n    {', '.join(names)}\n"
    each = "def f(\n" + "".join(f"    {name},\n" for name in names)
    assert head == {110: on_one_line, 130: inside, 240: each}[width]
