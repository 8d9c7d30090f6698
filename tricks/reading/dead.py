"""Assignments that nobody reads, taken out: a value that is overwritten before it is read is not printed.

What is live after a statement follows from what comes after it, so a block is read from its end to its beginning, and
a loop until nothing new is found. Aho et al. 1986, "Compilers", sec. 10.6.
"""

from collections.abc import Callable, Sequence

import libcst as cst
import libcst.matchers as m

from tricks.reading.decide import lead, led, reads

Pure = Callable[[cst.Call], bool]


def without_dead_stores(function: cst.FunctionDef, pure: Pure) -> cst.FunctionDef:
    """The function without assignments that are overwritten, or that it ends, before anyone reads them.

    Only those go whose right-hand side can go: every call in it is `pure`. What a closure reads is live throughout.
    """
    closures = m.findall(function.body, m.FunctionDef() | m.Lambda() | m.GeneratorExp())
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
            left, live = self.statement(statement, live)
            if left is not None:
                body.insert(0, left)
            elif body and _opens_paragraph(lead(statement)):
                body[0] = led(body[0], lead(statement))
        return block.with_changes(body=body), live

    def statement(self, statement: cst.BaseStatement, live: set[str]) -> tuple[cst.BaseStatement | None, set[str]]:
        """What is left of a statement, and what is live before it."""
        if isinstance(statement, cst.If):
            body, before = self.block(statement.body, live)
            orelse, otherwise = statement.orelse, live
            if isinstance(orelse, cst.Else):
                inner, otherwise = self.block(orelse.body, live)
                orelse = orelse.with_changes(body=inner)
            elif orelse is not None:
                found, otherwise = self.statement(orelse, live)
                orelse = cst.ensure_type(found, cst.If)
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
            return self._simple(statement, statement.body[0], live)
        return statement, live | reads(statement)

    def _simple(
        self, line: cst.SimpleStatementLine, small: cst.BaseSmallStatement, live: set[str]
    ) -> tuple[cst.BaseStatement | None, set[str]]:
        if isinstance(small, cst.Return):
            return line, reads(small)
        if isinstance(small, cst.Break | cst.Continue | cst.Raise):
            return line, self.everything
        target, value = _assigned(small)
        if value is None:
            return line, live | reads(small)
        stored, dead = _stored(target), set[str]()
        for part, of in zip(*_parts(target, value), strict=True):
            if _stored(part) and not _stored(part) & (live | self.kept) and self._can_go(of):
                dead |= _stored(part)
        if stored and stored <= dead:
            return None, live
        if dead:
            left = _without(cst.ensure_type(small, cst.Assign), dead)
            line, value = line.with_changes(body=[left]), left.value
        return line, (live | reads(target)) - stored | reads(value)

    def _can_go(self, value: cst.BaseExpression) -> bool:
        calls = m.findall(value, m.Call())
        unknown = m.findall(value, m.Yield() | m.Await() | m.NamedExpr())
        return not unknown and all(self.pure(cst.ensure_type(call, cst.Call)) for call in calls)


def _assigned(small: cst.BaseSmallStatement) -> tuple[cst.BaseExpression, cst.BaseExpression | None]:
    """Target and value of a plain assignment; any other statement has no value."""
    if isinstance(small, cst.Assign) and len(small.targets) == 1:
        return small.targets[0].target, small.value
    if isinstance(small, cst.AnnAssign):
        return small.target, small.value
    return cst.Name("_"), None


def _stored(target: cst.BaseExpression) -> set[str]:
    """The variables that a target sets; none if it sets anything else as well."""
    if isinstance(target, cst.Name):
        return {target.value}
    if isinstance(target, cst.Tuple) and all(isinstance(element.value, cst.Name) for element in target.elements):
        return {cst.ensure_type(element.value, cst.Name).value for element in target.elements}
    return set()


def _parts(
    target: cst.BaseExpression, value: cst.BaseExpression
) -> tuple[Sequence[cst.BaseExpression], Sequence[cst.BaseExpression]]:
    """Targets and values side by side: those of `a, b = x, y` one by one."""
    if isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple) and len(target.elements) == len(value.elements):
        return [e.value for e in target.elements], [e.value for e in value.elements]
    return [target], [value]


def _without(assign: cst.Assign, dead: set[str]) -> cst.Assign:
    """`a, b = x, y` without the dead ones."""
    targets, values = _parts(assign.targets[0].target, assign.value)
    pairs = [(t, v) for t, v in zip(targets, values, strict=True) if not _stored(t) & dead]
    left, right = (
        side[0] if len(side) == 1 else cst.Tuple([cst.Element(each) for each in side], lpar=[], rpar=[])
        for side in zip(*pairs, strict=True)
    )
    return assign.with_changes(targets=[assign.targets[0].with_changes(target=left)], value=right)


def _opens_paragraph(lines: Sequence[cst.EmptyLine]) -> bool:
    return bool(lines) and lines[0].comment is None
