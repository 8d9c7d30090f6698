"""The training loop with its flags resolved: what is printed is what runs.

A listing is made from the source of `tricks/loop.py`: each `if tricks.<flag>:` is replaced by the branch it takes;
code for optional arguments (checkpoints, a listener, ...) and dead stores are removed. Executing it defines a
`train(config)` with the same curve as the library's `train(config, tricks)`.
"""

import ast
import difflib
import re
import textwrap
from collections.abc import Sequence
from functools import cache

import libcst as cst

from tricks.errors import InputError
from tricks.ladder import NEEDS, Tricks
from tricks.own_trick import text_of_loop
from tricks.reading.dead import Unread
from tricks.reading.decide import Decide, reads, text
from tricks.reading.doors import CloseDoors, without_unused
from tricks.reading.source import Code
from tricks.values import checked


@checked
def listing(tricks: Tricks, *names: str) -> Code:
    """The training loop for these flags as a module: the imports it needs, and `train(config)`.

    Given names, only these of its functions. Raises InputError for one that it does not have.
    """
    functions = _loop(tricks)
    if names:
        known = {function.name.value: function for function in functions}
        if unknown := [name for name in names if name not in known]:
            raise InputError(f"this loop has no function {unknown[0]!r}", f"it has {', '.join(known)}")
        return Code(cst.Module(body=[known[name] for name in names]).code.strip() + "\n")
    used = {"Tricks"}.union(*(reads(function) for function in functions))
    imports = "".join(reduced(node, used) for node in _source().body)
    title = f"The training loop with {', '.join(tricks.on)}." if tricks.on else "The training loop: REINFORCE."
    header = "\n".join(textwrap.wrap(title, 100))
    flags = "".join(f"    {name}=True,\n" for name in tricks.on)
    constant = f"TRICKS = Tricks(\n{flags})" if flags else "TRICKS = Tricks()"
    code = cst.Module(body=functions).code.strip()
    return Code(f'"""{header}"""\n\n{imports.strip()}\n\n{constant}\n\n\n{code}\n')


@checked
def diff(before: Tricks, after: Tricks) -> Code:
    """A unified diff of the loop from the flags `before` to the flags `after`."""
    old, new = (cst.Module(body=_loop(tricks)).code.strip().splitlines() for tricks in (before, after))
    this, that = (", ".join(tricks.on) or "reinforce" for tricks in (before, after))
    lines = difflib.unified_diff(old, new, this, that, lineterm="")
    return Code("".join(f"{line}\n" for line in lines), "diff")


_parsed = cache(cst.parse_module)


def _source() -> cst.Module:
    return _parsed(text_of_loop())


@cache
def _loop(tricks: Tricks) -> tuple[cst.FunctionDef, ...]:
    """The functions that `train` uses, with their flags resolved, in file order."""
    source, decided, reached = _source(), dict[str, cst.FunctionDef](), ["train"]
    functions = _functions(source)
    for name in reached:
        decided[name] = _decided(source, name, tuple(flag for flag in tricks.on if flag in _flags(functions[name])))
        reached += [other for other in functions if other in reads(decided[name]) and other not in reached]
    unread = Unread(decided, pure)
    decided = {name: cst.ensure_type(each.visit(unread), cst.FunctionDef) for name, each in decided.items()}
    decided = without_unused(decided, "train", pure)
    return tuple(decided[name] for name in functions if name in decided)


@cache
def _functions(source: cst.Module) -> dict[str, cst.FunctionDef]:
    return {node.name.value: node for node in source.body if isinstance(node, cst.FunctionDef)}


@cache
def _flags(function: cst.FunctionDef) -> set[str]:
    """The flags that a function asks for."""
    return set(re.findall(r"\btricks\.(\w+)", text(function)))


@cache
def _decided(source: cst.Module, name: str, on: tuple[str, ...]) -> cst.FunctionDef:
    """A function with these of its flags on, and the doors closed."""
    functions = _functions(source)
    node: cst.CSTNode = functions[name]
    for change in (Decide(answers(on)), CloseDoors(functions), _Constant()):
        node = cst.ensure_type(node.visit(change), cst.FunctionDef)
    return cst.ensure_type(node, cst.FunctionDef).with_changes(decorators=())  # they check the arguments of a call


def answers(on: Sequence[str]) -> dict[str, bool]:
    """Maps each condition `tricks.<flag>` to its value."""
    return {f"tricks.{name}": name in on for name in NEEDS}


def pure(call: cst.Call) -> bool:
    """Whether a call in the loop has no side effects, so it can be removed if its result is unused.

    True for this project's functions, except those that play and those that modify an argument (named with a final _,
    as in PyTorch), and for the few tensor operations in the loop.
    """
    name = text(call.func)
    if name.startswith("torch."):
        return not name.endswith("_")
    known = _imported() | {"t.each"}
    return name in known and not (name.endswith("_") or name[:4] == "play")


class _Constant(cst.CSTTransformer):
    """Replaces `tricks`, where the flags are passed on, by the constant TRICKS."""

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return cst.Name("TRICKS") if original_node.value == "tricks" else updated_node


@cache
def _imported() -> set[str]:
    """The names that the loop imports from this project."""
    froms = [node for node in ast.parse(text_of_loop()).body if isinstance(node, ast.ImportFrom)]
    return {alias.name for node in froms if str(node.module).startswith("tricks") for alias in node.names}


def reduced(node: cst.CSTNode, used: set[str], without: str = "") -> str:
    """An import reduced to the names in `used`, "" if it is of `without`; a blank line before it is kept."""
    if not isinstance(node, cst.SimpleStatementLine):
        return ""
    statement = node.body[0]
    gap = "".join("\n" for line in node.leading_lines if line.comment is None)
    if isinstance(statement, cst.Import):
        return f"{gap}{text(statement)}\n" if reads(statement) & used else ""
    if not isinstance(statement, cst.ImportFrom) or isinstance(statement.names, cst.ImportStar):
        return ""
    start = text(statement).partition("import ")[0]
    if without and start.startswith((f"from {without} ", f"from {without}.")):
        return ""
    names = [alias.evaluated_name for alias in statement.names if alias.evaluated_name in used]
    line = f"{start}import {', '.join(names)}\n"
    if len(line) > 121:
        each = "".join(f"    {name},\n" for name in names)
        line = f"{start}import (\n{each})\n"
    return gap + (line if names else "")
