"""The loop with its flags decided: what is printed is what runs.

A listing is made from the source of `tricks/loop.py`: every `if tricks.<flag>:` gives way to the branch that is taken,
and every `if checkpoints:` to nothing. Executing it defines a `train(config)` with the same curve as the library's
`train(config, tricks)`.
"""

import difflib
import textwrap
from collections.abc import Sequence
from importlib import resources

import libcst as cst

from tricks.ladder import Tricks
from tricks.reading.source import Code


def listing(tricks: Tricks) -> Code:
    """The module of the training loop for these flags: the imports that it uses, and `train(config)`."""
    functions = _loop(tricks)
    used = set().union(*(_names(function) for function in functions))
    imports = "".join(_import(node, used) for node in _source().body)
    title = f"The training loop with {', '.join(tricks.on)}." if tricks.on else "The training loop: REINFORCE."
    header = "\n".join(textwrap.wrap(title, 100))
    flags = "".join(f"    {name}=True,\n" for name in tricks.on)
    constant = f"TRICKS = Tricks(\n{flags})" if flags else "TRICKS = Tricks()"
    code = cst.Module(body=functions).code.strip()
    return Code(f'"""{header}"""\n\n{imports.strip()}\n\n{constant}\n\n\n{code}\n')


def diff(before: Tricks, after: Tricks) -> Code:
    """What changes in the loop from the flags `before` to the flags `after`, as a unified diff."""
    old, new = (cst.Module(body=_loop(tricks)).code.strip().splitlines() for tricks in (before, after))
    lines = difflib.unified_diff(old, new, _title(before), _title(after), lineterm="")
    return Code("".join(f"{line}\n" for line in lines), "diff")


def _title(tricks: Tricks) -> str:
    return ", ".join(tricks.on) or "reinforce"


def _source() -> cst.Module:
    return cst.parse_module(resources.files("tricks").joinpath("loop.py").read_text(encoding="utf-8"))


def _loop(tricks: Tricks) -> list[cst.FunctionDef]:
    functions = [node for node in _source().body if isinstance(node, cst.FunctionDef)]
    names = frozenset(function.name.value for function in functions)
    decided = [function.visit(_Decide(tricks, names, _optional(function))) for function in functions]
    return [function for function in decided if isinstance(function, cst.FunctionDef)]


def _optional(function: cst.FunctionDef) -> frozenset[str]:
    """The parameters that have a default: a listing does without them."""
    return frozenset(param.name.value for param in function.params.params if param.default is not None)


class _Decide(cst.CSTTransformer):
    """Replaces each `if tricks.<flag>:` by the branch taken, and the parameter `tricks` by the constant TRICKS.

    `if checkpoints:` and the `optional` parameters go, and the arguments for them. `functions` are those of the loop.
    """

    def __init__(self, tricks: Tricks, functions: frozenset[str], optional: frozenset[str]) -> None:
        self.tricks, self.functions, self.optional = tricks, functions, optional

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        body: list[cst.BaseStatement] = []
        blank: list[cst.EmptyLine] = []  # a blank line before something that vanished separates what is left
        for statement in updated_node.body:
            branch = [] if _keeps(statement) else self._decided(statement)
            if branch:
                body += [_led(branch[0], blank), *branch[1:]]
                blank = []
            else:
                blank = [line for line in _lead(statement) if line.comment is None] or blank
        return updated_node.with_changes(body=body)

    def leave_Param(self, original_node: cst.Param, updated_node: cst.Param) -> cst.Param | cst.RemovalSentinel:
        gone = original_node.name.value in self.optional | {"tricks"}
        return cst.RemoveFromParent() if gone else updated_node

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        plain = [param.with_changes(comma=cst.MaybeSentinel.DEFAULT) for param in updated_node.params.params]
        one_line = updated_node.with_changes(whitespace_before_params=cst.SimpleWhitespace(""))
        return one_line.with_changes(params=updated_node.params.with_changes(params=plain))

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        ours = isinstance(original_node.func, cst.Name) and original_node.func.value in self.functions
        gone = self.optional | ({"tricks"} if ours else set())
        pairs = zip(original_node.args, updated_node.args, strict=True)
        given = [new for old, new in pairs if not (isinstance(old.value, cst.Name) and old.value.value in gone)]
        if len(given) == len(updated_node.args):
            return updated_node
        return updated_node.with_changes(args=[*given[:-1], given[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)])

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return cst.Name("TRICKS") if original_node.value == "tricks" else updated_node

    def _decided(self, statement: cst.BaseStatement) -> list[cst.BaseStatement]:
        """What is left of a statement: itself, unless it tests a flag."""
        flag = _flag(statement)
        if flag is None:
            return [statement]
        assert isinstance(statement, cst.If)
        block = statement.body if getattr(self.tricks, flag) else statement.orelse and statement.orelse.body
        if not isinstance(block, cst.IndentedBlock):
            return []
        said = [cst.EmptyLine(comment=block.header.comment)] if block.header.comment else []
        first, *rest = (s for s in block.body if isinstance(s, cst.SimpleStatementLine | cst.BaseCompoundStatement))
        return [_led(first, [*statement.leading_lines, *said]), *rest]


def _flag(statement: cst.BaseStatement) -> str | None:
    """The flag that an `if` tests. Names are TRICKS already: children are visited first."""
    if isinstance(statement, cst.If) and isinstance(statement.test, cst.Attribute):
        of = statement.test.value
        if isinstance(of, cst.Name) and of.value == "TRICKS":
            return statement.test.attr.value
    return None


def _keeps(statement: cst.BaseStatement) -> bool:
    return (
        isinstance(statement, cst.If) and isinstance(statement.test, cst.Name) and statement.test.value == "checkpoints"
    )


def _lead(statement: cst.BaseStatement) -> Sequence[cst.EmptyLine]:
    assert isinstance(statement, cst.SimpleStatementLine | cst.If | cst.For | cst.While | cst.With | cst.FunctionDef)
    return statement.leading_lines


def _led(statement: cst.BaseStatement, lines: Sequence[cst.EmptyLine]) -> cst.BaseStatement:
    own = _lead(statement)
    if lines and own and own[0].comment is None:  # never two blank lines in a row
        lines = [line for line in lines if line.comment is not None]
    return statement.with_changes(leading_lines=[*lines, *own])


def _names(node: cst.CSTNode) -> set[str]:
    found: set[str] = set()

    class Visitor(cst.CSTVisitor):
        def visit_Name(self, node: cst.Name) -> None:
            found.add(node.value)

    node.visit(Visitor())
    return found | {"Tricks"}


def _import(node: cst.CSTNode, used: set[str]) -> str:
    """The import statement `node` with the names that are used, as a line; a blank line before it is kept."""
    if not isinstance(node, cst.SimpleStatementLine):
        return ""
    statement = node.body[0]
    gap = "".join("\n" for line in node.leading_lines if line.comment is None)
    if isinstance(statement, cst.Import):
        return gap + cst.Module(body=[node.with_changes(leading_lines=[])]).code
    if not isinstance(statement, cst.ImportFrom) or isinstance(statement.names, cst.ImportStar):
        return ""
    names = [alias.evaluated_name for alias in statement.names if alias.evaluated_name in used]
    assert statement.module is not None
    module = cst.Module([]).code_for_node(statement.module)
    return gap + (f"from {module} import {', '.join(names)}\n" if names else "")
