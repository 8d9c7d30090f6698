"""What a listing does without: what a caller may bring (a net, a listener, ...), and parameters that nobody reads."""

from collections.abc import Iterable, Mapping

import libcst as cst

from tricks.reading.dead import Pure, without_dead_stores
from tricks.reading.decide import reads, text

WIDTH = 120  # of a line
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
        return wrapped(updated_node.with_changes(whitespace_before_params=cst.SimpleWhitespace("")))

    def _closed(self, function: cst.FunctionDef) -> set[str]:
        return gone(function) if self.unused is None else self.unused.get(function.name.value, set())

    def leave_SimpleString(self, original_node: cst.SimpleString, updated_node: cst.SimpleString) -> cst.SimpleString:
        """A docstring without the paragraphs on parameters that are gone."""
        kept = [
            part for part in updated_node.value.split("\n\n") if part.split()[:1] not in [[n] for n in self._here[-1]]
        ]
        return updated_node.with_changes(value="\n\n".join(kept))

    def leave_Parameters(self, original_node: cst.Parameters, updated_node: cst.Parameters) -> cst.Parameters:
        if not any(p.name.value in self._here[-1] for p in (*updated_node.params, *updated_node.kwonly_params)):
            return updated_node
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))  # on one line, now that they are fewer
        params, named = (
            [param.with_changes(comma=comma) for param in kind if param.name.value not in self._here[-1]]
            for kind in (updated_node.params, updated_node.kwonly_params)
        )
        last = named or params
        last[-1:] = [param.with_changes(comma=cst.MaybeSentinel.DEFAULT) for param in last[-1:]]
        last[-1:] = [param.with_changes(whitespace_after_param=cst.SimpleWhitespace("")) for param in last[-1:]]
        star = updated_node.star_arg
        if isinstance(star, cst.ParamStar) and not named:
            star = cst.MaybeSentinel.DEFAULT
        return updated_node.with_changes(params=params, kwonly_params=named, star_arg=star)

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
    if not any(unused.values()):
        return functions
    drop = CloseDoors(functions, unused)
    left = {name: cst.ensure_type(function.visit(drop), cst.FunctionDef) for name, function in functions.items()}
    return without_unused(left, root, pure)


def wrapped(function: cst.FunctionDef) -> cst.FunctionDef:
    """Break a header that is too long for one line, as ruff does: after the bracket, or else after each parameter."""
    head = cst.Module([function.with_changes(body=cst.SimpleStatementSuite([cst.Pass()]), leading_lines=())]).code
    if len(head.splitlines()[-1].removesuffix(" pass")) <= WIDTH:
        return function
    params, line = function.params.params, cst.ParenthesizedWhitespace(indent=False)
    inner = line.with_changes(last_line=cst.SimpleWhitespace("    "))
    ends: list[cst.BaseParenthesizableWhitespace] = [cst.SimpleWhitespace(" ") for _ in params[:-1]]
    if 4 + len(text(function.params)) > WIDTH:
        ends = [inner] * len(params[:-1])
    left = [p.with_changes(comma=cst.Comma(whitespace_after=end)) for p, end in zip(params, ends, strict=False)]
    trailing = cst.Comma(whitespace_after=line) if inner in ends else cst.MaybeSentinel.DEFAULT
    last = params[-1].with_changes(comma=trailing)
    if inner not in ends:
        last = last.with_changes(whitespace_after_param=line)
    made = function.params.with_changes(params=[*left, last])
    return function.with_changes(params=made, whitespace_before_params=inner)


def gone(function: cst.FunctionDef) -> set[str]:
    """The parameters that a function does without: its flags, and doors that need not be used."""

    def optional(param: cst.Param) -> bool:
        return param.default is not None or (
            param.annotation is not None and "None" in text(param.annotation.annotation)
        )

    params = [*function.params.params, *function.params.kwonly_params]
    return {p.name.value for p in params if p.name.value == "tricks" or (p.name.value in DOORS and optional(p))}


def closed_doors(doors: Iterable[str]) -> dict[str, bool]:
    """The answers to all that can be asked of a door that is closed."""
    answers = {"{}": False, "{} is None": True, "{} is not None": False}
    return {question.format(door): answer for door in doors for question, answer in answers.items()}
