"""What a listing does without: what a caller may bring (a net, a listener, ...), and parameters that nobody reads."""

from collections.abc import Mapping

import libcst as cst

from tricks.reading.dead import Pure, without_dead_stores
from tricks.reading.decide import reads, text

CONTEXT = {"t", "config"}  # parameters that stay, so that a diff shows what a trick does and no more
DOORS = ("checkpoints", "start", "evaluation", "on_update", "body", "make", "env")


class CloseDoors(cst.CSTTransformer):
    """Takes from functions the parameters that they are never given here, and from calls the arguments for them.

    Those are `tricks`, which has been decided, and every optional parameter of DOORS; or else `unused`, by function.
    `functions` are those that are printed, by the name that they are called by.
    """

    def __init__(self, functions: Mapping[str, cst.FunctionDef], unused: Mapping[str, set[str]] | None = None) -> None:
        self.gone = {name: gone(function) for name, function in functions.items()} if unused is None else unused
        self.unused = unused
        self.takes = {
            name: [param.name.value for param in function.params.params if param.name.value != "self"]
            for name, function in functions.items()
        }
        self._here: list[set[str]] = [set()]  # of the functions that are being visited

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._here.append(self._here[-1] | self._closed(node))

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        self._here.pop()
        if not self._closed(original_node):
            return updated_node
        return updated_node.with_changes(whitespace_before_params=cst.SimpleWhitespace(""))  # all on one line

    def _closed(self, function: cst.FunctionDef) -> set[str]:
        return gone(function) if self.unused is None else self.unused.get(function.name.value, set())

    def leave_Parameters(self, original_node: cst.Parameters, updated_node: cst.Parameters) -> cst.Parameters:
        left = [param for param in updated_node.params if param.name.value not in self._here[-1]]
        if len(left) == len(updated_node.params):
            return updated_node
        comma, end = cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")), cst.SimpleWhitespace("")
        left = [param.with_changes(comma=comma) for param in left]
        left[-1:] = [p.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_param=end) for p in left[-1:]]
        return updated_node.with_changes(params=left)

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
    functions = {name: without_dead_stores(function, pure) for name, function in functions.items()}
    unused = {
        name: {param.name.value for param in function.params.params} - reads(function.body) - CONTEXT
        for name, function in functions.items()
        if name != root
    }
    changed = {name for name, params in unused.items() if params}
    if not changed:
        return functions
    drop, left = CloseDoors(functions, unused), dict(functions)
    for name, function in functions.items():
        if name in changed or reads(function) & changed:
            left[name] = cst.ensure_type(function.visit(drop), cst.FunctionDef)
    return without_unused(left, root, pure)


def gone(function: cst.FunctionDef) -> set[str]:
    """The parameters that a function does without: its flags, and doors that need not be used."""

    def optional(param: cst.Param) -> bool:
        return param.default is not None or (
            param.annotation is not None and "None" in text(param.annotation.annotation)
        )

    params = function.params.params
    return {p.name.value for p in params if p.name.value == "tricks" or (p.name.value in DOORS and optional(p))}
