"""Source with its questions answered: an `if` whose test is known gives way to the branch that is taken."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, lru_cache
from typing import TypeVar

import libcst as cst

Node = TypeVar("Node", bound=cst.CSTNode)


@cache
def _fields(kind: type[cst.CSTNode]) -> list[str]:
    return [f.name for f in fields(kind)]


def _parts(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes right below one. (libcst's own `children` are ten times slower.)"""
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            yield value
        elif isinstance(value, list | tuple):
            yield from (each for each in value if isinstance(each, cst.CSTNode))


@lru_cache(4096)
def reads(node: cst.CSTNode) -> set[str]:
    """The variables that a piece of code mentions: not the attributes of others, nor the names of keywords."""
    if isinstance(node, cst.Name):
        return {node.value}
    below = [node.value] if isinstance(node, cst.Attribute | cst.Arg) else _parts(node)
    return set().union(*map(reads.__wrapped__, below))


def inside(node: cst.CSTNode, *kinds: type[Node]) -> list[Node]:
    """The nodes of these kinds in a piece of code, itself included. libcst's own matchers take long to load."""
    own = [node] if isinstance(node, kinds) else []
    return own + [found for child in _parts(node) for found in inside(child, *kinds)]


def text(node: cst.CSTNode) -> str:
    """The code of one node."""
    return cst.Module([]).code_for_node(node)


class Decide(cst.CSTTransformer):
    """Answers each test whose text is in `known`, or that with `not` before it. None of them has an `elif`."""

    def __init__(self, known: Mapping[str, bool]) -> None:
        self.known = known

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        body: list[cst.BaseStatement] = []
        blank: list[cst.EmptyLine] = []  # a blank line before something that vanished separates what is left
        for statement in updated_node.body:
            branch = self._decided(statement)
            if branch:
                body += [led(branch[0], blank), *branch[1:]]
                blank = []
            else:
                blank = [line for line in lead(statement) if line.comment is None] or blank
            last = body[-1] if body else None
            if isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Return | cst.Raise):
                break  # what follows is never reached
        return updated_node.with_changes(body=body)

    def _decided(self, statement: cst.BaseStatement) -> list[cst.BaseStatement]:
        """What is left of a statement: itself, unless it is an `if` whose test is known."""
        test = text(statement.test) if isinstance(statement, cst.If) else ""
        said = self.known.get(test.removeprefix("not "))
        if not isinstance(statement, cst.If) or said is None:
            return [statement]
        taken = said is not test.startswith("not ")
        block = statement.body if taken else statement.orelse and statement.orelse.body
        if not isinstance(block, cst.IndentedBlock):
            return []
        remark = [cst.EmptyLine(comment=block.header.comment)] if block.header.comment else []
        first, *rest = (s for s in block.body if isinstance(s, cst.SimpleStatementLine | cst.BaseCompoundStatement))
        return [led(first, [*statement.leading_lines, *remark]), *rest]


def lead(statement: cst.BaseStatement) -> Sequence[cst.EmptyLine]:
    """The blank lines and comments before a statement."""
    lines: Sequence[cst.EmptyLine] = getattr(statement, "leading_lines", ())
    return lines


def led(statement: cst.BaseStatement, lines: Sequence[cst.EmptyLine]) -> cst.BaseStatement:
    """A statement with `lines` before it."""
    own = lead(statement)
    if lines and own and own[0].comment is None:  # never two blank lines in a row
        lines = [line for line in lines if line.comment is not None]
    return statement.with_changes(leading_lines=[*lines, *own])


def assigned(statement: cst.BaseSmallStatement) -> list[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """Targets with their values: those of `a, b = x, y` one by one; none if this is no plain assignment."""
    if isinstance(statement, cst.AnnAssign):
        return [] if statement.value is None else [(statement.target, statement.value)]
    if not isinstance(statement, cst.Assign) or len(statement.targets) > 1:
        return []
    target, value = statement.targets[0].target, statement.value
    if isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple) and len(target.elements) == len(value.elements):
        return [(to.value, of.value) for to, of in zip(target.elements, value.elements, strict=True)]
    return [(target, value)]


def assignment(pairs: Sequence[tuple[cst.BaseExpression, cst.BaseExpression]]) -> cst.Assign:
    """`a, b = x, y` of its pairs."""
    left, right = (
        side[0] if len(side) == 1 else cst.Tuple([cst.Element(each) for each in side], lpar=[], rpar=[])
        for side in zip(*pairs, strict=True)
    )
    return cst.Assign([cst.AssignTarget(left)], right)
