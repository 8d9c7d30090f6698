"""Tree shaking: of all definitions, those that a program reaches, and of those only the members that it uses."""

from collections.abc import Iterable, Mapping

import libcst as cst

from tricks.reading.dead import without_dead_stores
from tricks.reading.decide import lead, led, text
from tricks.reading.parts import Definition, Mentions, Part, defined

ALWAYS = ("__init__", "__call__", "close", "forward", "backward")  # called by Python or PyTorch


def shaken(parts: Mapping[str, Part], roots: Iterable[str]) -> dict[str, Definition]:
    """What is left of the parts that the roots reach.

    A method, or a number of Config, stays if any code that stays mentions an attribute of its name, whosever it is.
    """
    reached, attributes, size = dict.fromkeys(roots), set[str](), -1
    while size != (size := len(reached) + len(attributes)):
        left = {name: _pruned(parts[name].node, attributes) for name in reached}
        found = Mentions.of(left.values())
        attributes |= found.attributes
        reached |= dict.fromkeys(name for name in parts if name in found.names)
    return left


def _pruned(node: Definition, attributes: set[str]) -> Definition:
    """A definition without the members that nobody has been seen to use."""
    if not isinstance(node, cst.ClassDef):
        return node
    body = [member for member in node.body.body if _stays(member, attributes, _is_record(node))]
    body = [_filled(member, attributes) if defined(member) == "__init__" else member for member in body]
    if len(body) > 1 and isinstance(body[1], cst.BaseStatement) and not lead(body[1]):
        body[1] = led(body[1], [cst.EmptyLine(indent=False)])
    return node.with_changes(body=node.body.with_changes(body=body))


def _filled(init: cst.CSTNode, attributes: set[str]) -> cst.FunctionDef:
    """A constructor without the buffers and attributes that nobody has been seen to read."""
    init = cst.ensure_type(init, cst.FunctionDef)
    kept = [line for line in init.body.body if not (name := _attribute(line)) or name in attributes]
    left = init.with_changes(body=init.body.with_changes(body=kept))
    return without_dead_stores(left, pure=lambda call: True)


def _attribute(line: cst.CSTNode) -> str:
    """The one attribute of self that a line sets, or the buffer that it registers; "" if it does something else."""
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
    call = small.value if isinstance(small, cst.Expr) else None
    if isinstance(call, cst.Call) and text(call.func).startswith("self.register_"):
        return text(call.args[0].value).strip('"')  # of a hook, this is no name that anybody reads
    if isinstance(small, cst.Assign) and len(small.targets) == 1:
        target = text(small.targets[0].target)
        return target.removeprefix("self.") if target.startswith("self.") and target.count(".") == 1 else ""
    return ""


def _stays(member: cst.CSTNode, attributes: set[str], record: bool) -> bool:
    name = defined(member)
    whole = not name or (record and not isinstance(member, cst.FunctionDef))
    return whole or name in ALWAYS or name in attributes


def _is_record(node: cst.ClassDef) -> bool:
    """Whether a class is made by giving its fields in their order: they then all stay."""
    decorated = any("dataclass" in text(decorator.decorator) for decorator in node.decorators)
    return node.name.value != "Config" and (decorated or "NamedTuple" in {text(base.value) for base in node.bases})
