"""What a listing does without: what a caller may bring (a net, a listener, ...), and parameters that nobody reads."""

from collections.abc import Mapping

import libcst as cst

from tricks.reading.dead import Pure, without_dead_stores
from tricks.reading.decide import reads, text

CONTEXT = {"t", "config"}  # parameters that stay, so that a diff shows what a trick does and no more
DOORS = {"checkpoints", "start", "evaluation", "on_update", "body", "env"}


class CloseDoors(cst.CSTTransformer):
    """Takes from functions the parameters that they are never given here, and from calls the arguments for them.

    Those are `tricks`, which has been decided, and every optional parameter of DOORS; or else `unused`, by function.
    `functions` are those that are printed, by the name that they are called by.
    """

    def __init__(self, functions: Mapping[str, cst.FunctionDef], unused: Mapping[str, set[str]] | None = None) -> None:
        self.unused = unused
        self.gone = {name: self._closed(function) for name, function in functions.items()}
        self.takes = {name: [each for each in takes(of) if each != "self"] for name, of in functions.items()}
        self._here: list[set[str]] = [set()]  # of the functions that are being visited

    def _closed(self, function: cst.FunctionDef) -> set[str]:
        if self.unused is not None:
            return self.unused.get(function.name.value, set())
        optional = {param.name.value for param in function.params.params if param.default is not None}
        return {"tricks"} | optional & DOORS

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._here.append(self._here[-1] | self._closed(node))

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        here, before = self._here.pop(), updated_node.params.params
        left = [param for param in before if param.name.value not in here]
        if len(left) == len(before):
            return updated_node
        line = {"comma": cst.MaybeSentinel.DEFAULT, "whitespace_after_param": cst.SimpleWhitespace("")}  # all on one
        updated_node = updated_node.with_changes(whitespace_before_params=cst.SimpleWhitespace(""))
        return updated_node.with_deep_changes(updated_node.params, params=[each.with_changes(**line) for each in left])

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        name = text(original_node.func)
        left: list[cst.Arg] = []
        for i, arg in reversed(list(enumerate(updated_node.args))):
            if name in self.takes and not arg.star:
                parameter = arg.keyword.value if arg.keyword else "".join(self.takes[name][i : i + 1])
                closed = parameter in self.gone[name]
            else:
                closed = isinstance(arg.value, cst.Name) and arg.value.value in self._here[-1] - {"tricks"}
                if closed and any(other.keyword is None for other in left):  # its place is needed
                    arg, closed = arg.with_changes(value=cst.Name("None")), False
            if not closed:
                left.insert(0, arg)
        if len(left) < len(updated_node.args) and left:
            left[-1] = left[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        return updated_node.with_changes(args=left)


def without_unused(functions: Mapping[str, cst.FunctionDef], root: str, pure: Pure) -> dict[str, cst.FunctionDef]:
    """Drop every parameter that its function does not read, with its arguments; the `root` keeps all of its own."""
    left = {name: without_dead_stores(function, pure) for name, function in functions.items()}
    unused = {name: {*takes(each)} - reads(each.body) - CONTEXT for name, each in left.items() if name != root}
    changed = {name for name, params in unused.items() if params}
    if not changed:
        return left
    drop = CloseDoors(left, unused)
    for name, function in left.items():
        if name in changed or reads(function) & changed:
            left[name] = cst.ensure_type(function.visit(drop), cst.FunctionDef)
    return without_unused(left, root, pure)


def takes(function: cst.FunctionDef) -> list[str]:
    """The names of a function's parameters."""
    return [param.name.value for param in function.params.params]
