"""Assignments that nobody reads, taken out: a value that is overwritten before it is read is not printed.

What is live after a statement follows from what comes after it, so a block is read from its end to its beginning, and
a loop until nothing new is found. Aho et al. 1986, "Compilers", sec. 10.6.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache

import libcst as cst

from tricks.reading.decide import assigned, assignment, inside, lead, led, reads, text

Pure = Callable[[cst.Call], bool]
Left = tuple[cst.BaseStatement | None, set[str]]  # what is left of a statement, and what is live before it


@lru_cache(4096)
def without_dead_stores(function: cst.FunctionDef, pure: Pure) -> cst.FunctionDef:
    """The function without assignments that are overwritten, or that it ends, before anyone reads them.

    Only those go whose right-hand side can go: every call in it is `pure`. What a closure reads is live throughout.
    """
    closures = inside(function.body, cst.FunctionDef, cst.Lambda, cst.GeneratorExp)
    kept = {name for closure in closures for name in reads(closure)}
    block, _ = _Liveness(pure, kept, reads(function)).block(function.body, set())
    return function.with_changes(body=block)


class _Liveness:
    def __init__(self, pure: Pure, kept: set[str], everything: set[str]) -> None:
        self.pure, self.kept, self.everything = pure, kept, everything

    def block(self, block: cst.BaseSuite, live: set[str]) -> tuple[cst.BaseSuite, set[str]]:
        """A block without its dead stores, and what is live before it, given what is live after it."""
        if not isinstance(block, cst.IndentedBlock):
            return block, live | reads(block)
        body: list[cst.BaseStatement] = []
        for statement in reversed(block.body):
            (left, live), lines = self.statement(statement, live), lead(statement)
            if left is not None:
                body.insert(0, left)
            elif body and lines and lines[0].comment is None:  # it opened a paragraph
                body[0] = led(body[0], lines)
        return block.with_changes(body=body), live

    def statement(self, statement: cst.BaseStatement, live: set[str]) -> Left:
        if isinstance(statement, cst.If):
            body, before = self.block(statement.body, live)
            orelse, otherwise = statement.orelse, live
            if isinstance(orelse, cst.Else):
                inner, otherwise = self.block(orelse.body, live)
                orelse = orelse.with_changes(body=inner)
            return statement.with_changes(body=body, orelse=orelse), before | otherwise | reads(statement.test)
        if isinstance(statement, cst.For | cst.While) and statement.orelse is None:
            head = reads(statement.iter if isinstance(statement, cst.For) else statement.test)
            around, size = live | head, -1
            while size < len(around):
                size = len(around)
                body, before = self.block(statement.body, around)
                around |= before
            return statement.with_changes(body=body), around
        if isinstance(statement, cst.With):
            body, before = self.block(statement.body, live)
            return statement.with_changes(body=body), before.union(*map(reads, statement.items))
        if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
            return self.simple(statement, statement.body[0], live)
        return statement, live | reads(statement)

    def simple(self, line: cst.SimpleStatementLine, small: cst.BaseSmallStatement, live: set[str]) -> Left:
        if isinstance(small, cst.Return):
            return line, reads(small)
        if isinstance(small, cst.Break | cst.Continue | cst.Raise):
            return line, self.everything
        pairs = assigned(small)
        if not pairs:
            return line, live | reads(small)
        left = [pair for pair in pairs if not self.dead(*pair, live)]
        if not left:
            return None, live
        if len(left) < len(pairs):
            line = line.with_changes(body=[assignment(left)])
        targets, values = zip(*left, strict=True)
        unset = live.union(*map(reads, targets)).difference(*map(_stored, targets))
        return line, unset.union(*map(reads, values))

    def dead(self, target: cst.BaseExpression, value: cst.BaseExpression, live: set[str]) -> bool:
        stored = _stored(target)
        if not stored or stored & (live | self.kept) or inside(value, cst.Yield, cst.Await, cst.NamedExpr):
            return False
        return all(self.pure(call) for call in inside(value, cst.Call))


def _stored(target: cst.BaseExpression) -> set[str]:
    """The variables that a target sets; none if it sets anything else as well."""
    elements = [e.value for e in target.elements] if isinstance(target, cst.Tuple) else [target]
    names = {element.value for element in elements if isinstance(element, cst.Name)}
    return names if len(names) == len(elements) else set()


class Unread(cst.CSTTransformer):
    """Takes out what is stored in an attribute of `t` that none of these functions reads, but to store it again."""

    def __init__(self, functions: Mapping[str, cst.FunctionDef], pure: Pure) -> None:
        every = [*functions.values()]
        stores = [pair for each in every for line in inside(each, cst.Assign) for pair in assigned(line)]
        stores = [(to, of) for to, of in stores if of_t(to) and all(map(pure, inside(of, cst.Call)))]
        uses = Counter(text(use) for each in every for use in inside(each, cst.Attribute))
        for to, of in stores:
            uses[text(to)] -= sum(text(use) == text(to) for use in [to, *inside(of, cst.Attribute)])
        self.unread = {text(to) for to, _ in stores if not uses[text(to)]}

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.RemovalSentinel:
        return unstored(updated_node, self.unread)


def of_t(target: cst.BaseExpression) -> bool:
    return isinstance(target, cst.Attribute) and text(target.value) == "t"


def unstored(line: cst.SimpleStatementLine, unread: set[str]) -> cst.SimpleStatementLine | cst.RemovalSentinel:
    """A line without what it assigns to these."""
    pairs = assigned(line.body[0])
    left = [(to, of) for to, of in pairs if text(to) not in unread]
    if len(left) == len(pairs):
        return line
    return line.with_changes(body=[assignment(left)]) if left else cst.RemoveFromParent()
