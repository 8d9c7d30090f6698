"""The definitions of the library by name, and what their code mentions."""

from collections.abc import Iterable
from functools import cache, lru_cache
from importlib import resources
from typing import Any, NamedTuple

import libcst as cst

Definition = cst.FunctionDef | cst.ClassDef | cst.SimpleStatementLine


class Part(NamedTuple):
    """A function, a class or a constant of a module."""

    module: str
    node: Definition


class Mentions(cst.CSTVisitor):
    """What code mentions: the names of variables that it reads, quoted types among them, and attributes."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self._typed = 0

    @classmethod
    def of(cls, nodes: Iterable[cst.CSTNode]) -> "Mentions":
        """What all of these mention; of a class, what its members do."""
        found = cls()
        for node in nodes:
            inner = [*node.decorators, *node.bases, *node.body.body] if isinstance(node, cst.ClassDef) else [node]
            for each in map(_mentioned, inner):
                found.names |= each.names
                found.attributes |= each.attributes
        return found

    def visit_Annotation(self, node: cst.Annotation) -> None:
        self._typed += 1

    def leave_Annotation(self, original_node: cst.Annotation) -> None:
        self._typed -= 1

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        if self._typed:
            self.names.add(str(node.evaluated_value))

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        self.attributes.add(node.attr.value)
        node.value.visit(self)
        return False

    def visit_AssignTarget(self, node: cst.AssignTarget) -> bool:
        elements = [e.value for e in node.target.elements] if isinstance(node.target, cst.Tuple) else [node.target]
        for element in elements:  # what is set is not read
            if isinstance(element, cst.Attribute):
                element.value.visit(self)
            elif not isinstance(element, cst.Name):
                element.visit(self)
        return False

    def visit_AnnAssign(self, node: cst.AnnAssign) -> bool:
        for child in (node.annotation, node.value):
            if child is not None:
                child.visit(self)
        return False

    def visit_Arg(self, node: cst.Arg) -> bool:
        node.value.visit(self)
        return False

    def visit_Param(self, node: cst.Param) -> bool:
        for child in (node.annotation, node.default):
            if child is not None:
                child.visit(self)
        return False

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        for child in (*node.decorators, node.params, node.returns, node.body):
            if child is not None:
                child.visit(self)
        return False  # its own name is no use of it

    def visit_Name(self, node: cst.Name) -> None:
        self.names.add(node.value)


@lru_cache(4096)
def _mentioned(node: cst.CSTNode) -> Mentions:
    """What one node mentions; a node never changes."""
    found = Mentions()
    node.visit(found)
    return found


def defined(node: cst.CSTNode) -> str:
    """The name that a statement at the top of a module, or of a class, defines; "" if it defines none."""
    if isinstance(node, cst.FunctionDef | cst.ClassDef):
        return node.name.value
    if isinstance(node, cst.SimpleStatementLine):
        statement = node.body[0]
        if isinstance(statement, cst.Assign) and isinstance(target := statement.targets[0].target, cst.Name):
            return target.value
        if isinstance(statement, cst.AnnAssign) and isinstance(statement.target, cst.Name):
            return statement.target.value
    return ""


@cache
def parsed(module: str) -> cst.Module:
    """A module's tree."""
    *folders, name = module.split(".")[1:]
    path = resources.files("tricks").joinpath(*folders, f"{name}.py")
    return cst.parse_module(path.read_text(encoding="utf-8"))


class Plain(cst.CSTTransformer):
    """Functions without the decorators that let a CPU compute them faster, or a training go on."""

    def leave_Decorator(self, original_node: cst.Decorator, updated_node: cst.Decorator) -> Any:
        call = updated_node.decorator
        name = call.func if isinstance(call, cst.Call) else call
        gone = isinstance(name, cst.Name) and name.value in ("faster", "continuable")
        return cst.RemoveFromParent() if gone else updated_node


@cache
def definitions(module: str) -> dict[str, Part]:
    """The functions, classes and constants of a module, as plain formulas."""
    found = {}
    for node in cst.ensure_type(parsed(module).visit(Plain()), cst.Module).body:
        if isinstance(node, cst.FunctionDef | cst.ClassDef | cst.SimpleStatementLine) and (name := defined(node)):
            found[name] = Part(module, node)
    return found


@cache
def imports(module: str) -> dict[str, tuple[str, str]]:
    """Where the names come from that a module imports: `Tensor` -> (torch, Tensor), `np` -> (numpy, "")."""
    found = {}
    for line in parsed(module).body:
        statement = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
        if isinstance(statement, cst.Import):
            for alias in statement.names:
                found[alias.evaluated_alias or alias.evaluated_name] = (alias.evaluated_name, "")
        if (
            isinstance(statement, cst.ImportFrom)
            and statement.module
            and not isinstance(statement.names, cst.ImportStar)
        ):
            source = cst.Module([]).code_for_node(statement.module)
            for alias in statement.names:
                found[alias.evaluated_alias or alias.evaluated_name] = (source, alias.evaluated_name)
    return found
