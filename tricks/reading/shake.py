"""Tree shaking: of all definitions, those that a program reaches, and of those only the members that it uses."""

from collections.abc import Callable, Iterable, Mapping

import libcst as cst
import libcst.matchers as m

from tricks.reading.decide import assigned, assignment, text
from tricks.reading.parts import Definition, Mentions, Part, defined, is_alias, mentions

ALWAYS = ("__init__", "__post_init__", "forward", "backward")  # called by Python or PyTorch, not by name
BUFFER = m.SimpleStatementLine([m.Expr(m.Call(m.Attribute(m.Name("self"), m.Name("register_buffer"))))])


def shaken(parts: Mapping[str, Part], roots: Iterable[str], pure: Callable[[cst.Call], bool]) -> dict[str, Definition]:
    """What is left of the parts that the roots reach.

    A method, a field or an attribute stays if any code that stays mentions one of its name, whosever it is.
    """
    reached, seen, size = dict.fromkeys(roots), Mentions(), -1
    while size != (size := _size(seen) + len(reached)):
        prune = _Prune(seen, parts, pure)
        left = {name: prune.part(parts[name].node) for name in reached}
        seen = Mentions.of(left.values())
        reached |= dict.fromkeys(name for name in parts if name in seen.names)
    absent = parts.keys() - reached.keys()
    return {
        name: cst.ensure_type(node.visit(_Unions(absent, is_alias(node))), type(node)) for name, node in left.items()
    }


def _size(seen: Mentions) -> int:
    return sum(map(len, (seen.names, seen.read, seen.written, seen.keywords)))


class _Prune:
    """A definition without the members that nobody has been seen to use."""

    def __init__(self, seen: Mentions, parts: Mapping[str, Part], pure: Callable[[cst.Call], bool]) -> None:
        self.seen, self.parts, self.pure = seen, parts, pure

    def part(self, node: Definition) -> Definition:
        if not isinstance(node, cst.ClassDef):
            return node
        body: list[cst.BaseStatement] = []
        dropped = False
        for member in node.body.body:
            if dropped and _is_docstring(member):
                continue  # of the field before it
            dropped = not self._used(node, member)
            if not dropped and isinstance(member, cst.SimpleStatementLine | cst.BaseCompoundStatement):
                body.append(self._method(member) if isinstance(member, cst.FunctionDef) else member)
        return node.with_changes(body=node.body.with_changes(body=body))

    def _method(self, method: cst.FunctionDef) -> cst.FunctionDef:
        """A method without the attributes that it sets for nobody."""
        if not mentions(method).written - self.seen.read and "register_buffer" not in mentions(method).read:
            return method
        return cst.ensure_type(method.visit(_Statements(self)), cst.FunctionDef)

    def _used(self, of: cst.ClassDef, member: cst.CSTNode) -> bool:
        name, seen = defined(member), self.seen
        if isinstance(member, cst.FunctionDef):
            return name in ALWAYS or name in seen.read | seen.written
        return not name or _is_record(of) or name in seen.read | seen.keywords

    def needs(self, statement: cst.BaseStatement) -> bool:
        """Whether a statement of a method stays: one that only sets attributes does if somebody reads them."""
        if m.matches(statement, BUFFER):
            call = cst.ensure_type(m.findall(statement, m.Call())[0], cst.Call)
            name = call.args[0].value
            return not isinstance(name, cst.SimpleString) or name.evaluated_value in self.seen.read
        if isinstance(statement, cst.For) and all(m.matches(inner, BUFFER) for inner in statement.body.body):
            given = Mentions.of([statement.iter])
            return bool(given.strings & self.seen.read or given.names & self.parts.keys() & self.seen.names)
        return True

    def unread(self, target: cst.BaseExpression, value: cst.BaseExpression) -> bool:
        """Whether this sets an attribute of self that nobody reads, to what nobody misses."""
        if not m.matches(target, m.Attribute(m.Name("self"))) or text(target).removeprefix("self.") in self.seen.read:
            return False
        return all(self.pure(cst.ensure_type(call, cst.Call)) for call in m.findall(value, m.Call()))


class _Statements(cst.CSTTransformer):
    def __init__(self, prune: _Prune) -> None:
        self.prune = prune

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        body = [left for line in updated_node.body if (left := self._left(line)) is not None]
        return updated_node.with_changes(body=body)

    def _left(self, line: cst.BaseStatement) -> cst.BaseStatement | None:
        if not self.prune.needs(line):
            return None
        if not isinstance(line, cst.SimpleStatementLine) or not isinstance(line.body[0], cst.Assign | cst.AnnAssign):
            return line
        pairs = assigned(line.body[0])
        left = [pair for pair in pairs if not self.prune.unread(*pair)]
        if len(left) == len(pairs):
            return line
        return line.with_changes(body=[assignment(left)]) if left else None


class _Unions(cst.CSTTransformer):
    """Takes from unions of types the members that are not there."""

    def __init__(self, absent: Iterable[str], typed: bool) -> None:
        self.absent, self._typed = set(absent), int(typed)

    def visit_Annotation(self, node: cst.Annotation) -> None:
        self._typed += 1

    def leave_Annotation(self, original_node: cst.Annotation, updated_node: cst.Annotation) -> cst.Annotation:
        self._typed -= 1
        return updated_node

    def leave_BinaryOperation(
        self, original_node: cst.BinaryOperation, updated_node: cst.BinaryOperation
    ) -> cst.BaseExpression:
        if self._typed and isinstance(updated_node.operator, cst.BitOr):
            for side, other in ((updated_node.left, updated_node.right), (updated_node.right, updated_node.left)):
                if Mentions.of([side]).names & self.absent:
                    return other
        return updated_node


def _is_record(node: cst.ClassDef) -> bool:
    """Whether a class is made by giving its fields in their order: they then all stay."""
    bases = {text(base.value) for base in node.bases}
    decorated = any("dataclass" in text(decorator.decorator) for decorator in node.decorators)
    return "NamedTuple" in bases or (decorated and node.name.value != "Config")


def _is_docstring(node: cst.CSTNode) -> bool:
    return m.matches(node, m.SimpleStatementLine([m.Expr(m.SimpleString() | m.ConcatenatedString())]))
