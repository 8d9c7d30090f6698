"""Mutants: copies of a file with one small change each: `<` for `<=`, a deleted line, two swapped arguments."""

import ast
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple, cast

OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    **{ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")},
    **{ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is")},
    **{ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"), ast.And: ("and", "or"), ast.Or: ("or", "and")},
    **{ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.Pow: ("**", "*")},
    **{ast.FloorDiv: ("//", "/"), ast.Mod: ("%", "*"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&")},
}
PAIRS = (
    ("terminated", "truncated"), ("any", "all"), ("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"),
    ("sum", "mean"), ("floor", "ceil"), ("sin", "cos"), ("exp", "log"), ("gamma", "gae_lambda"), ("obs", "next_obs"),
    ("value", "next_value"), ("epochs", "minibatches"), ("horizon", "lanes"), ("first", "last"), ("low", "high"),
    ("rsqrt", "sqrt"), ("ones", "zeros"), ("mean", "std"),
)  # fmt: skip
CONFUSED = {a: b for pair in PAIRS for a, b in (pair, pair[::-1])}
UNSEEN = {"strict", "device"}  # arguments that only guard, as an assert does, or that a CPU can't tell apart
COMMUTATIVE = {"minimum", "maximum", "min", "max", "isclose"}
SKIPPED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)  # texts of messages, and what mypy needs
COSMETIC = {"print", "warn", "tqdm", "set_description", "cast", "overload", "TypeVar", "isinstance", "default_rng"}


class Mutant(NamedTuple):
    file: str
    line: int
    before: str
    after: str
    source: str
    reach: tuple[int, int]  # first and last line of the changed statement: a test that runs neither can't notice
    body: bool  # the change is in the body of a function, not in what runs on import

    @property
    def name(self) -> str:
        return f"{self.file}: `{self.before}` → `{self.after}`"


def mutants(root: Path, file: str) -> list[Mutant]:
    maker = Maker(file, (root / file).read_bytes())
    maker.visit(ast.parse(maker.source))
    return sorted({mutant.source: mutant for mutant in maker.found}.values(), key=lambda mutant: mutant.line)


class Maker(ast.NodeVisitor):
    def __init__(self, file: str, source: bytes) -> None:
        self.file, self.source, self.found = file, source, list[Mutant]()
        self.starts = [0, *accumulate(map(len, source.splitlines(keepends=True)))]
        self.names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
        self.reach, self.body, self.assigned = (1, 1), False, set[str]()

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        first, last = self.starts[node.lineno - 1], self.starts[cast(int, node.end_lineno) - 1]
        return first + node.col_offset, last + cast(int, node.end_col_offset)

    def text(self, node: ast.expr | ast.keyword) -> str:
        start, end = self.span(node)
        return self.source[start:end].decode()

    def put(self, start: int, end: int, new: str) -> None:
        """One more mutant: `new` stands where start to end was. As many lines as before, so that places still agree."""
        gone = self.source[start:end].count(b"\n") - new.count("\n")
        source = (self.source[:start] + new.encode() + b"\n" * gone + self.source[end:]).decode()
        try:
            compile(source, self.file, "exec")
        except SyntaxError:  # it would have needed parentheses
            return
        lines = zip(self.source.decode().splitlines(), source.splitlines(), strict=False)
        for number, (old, changed) in enumerate(lines, start=1):
            if old != changed:
                texts = old.strip(), changed.strip()
                self.found.append(Mutant(self.file, number, *texts, source, self.reach, self.body))
                break

    def between(self, left: ast.expr, right: ast.expr, kind: ast.AST) -> None:
        start, end = self.span(left)[1], self.span(right)[0]
        if type(kind) in OPERATORS:
            self.put(start, end, self.source[start:end].decode().replace(*OPERATORS[type(kind)], 1))

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, SKIPPED) or (isinstance(node, ast.Call) and called(node) in COSMETIC):
            return
        if isinstance(node, ast.stmt):
            last = node.body[0].lineno - 1 if isinstance(node, ast.If | ast.For | ast.While | ast.With) else None
            self.reach = node.lineno, max(node.lineno, last or node.end_lineno or 0)
            self.delete(node)
        if isinstance(node, ast.If | ast.While | ast.IfExp):
            self.negate(node.test)
        super().visit(node)

    def delete(self, node: ast.stmt) -> None:
        """Without a statement that is there for its effect: a call, or an assignment to what already has a value."""
        targets = node.targets if isinstance(node, ast.Assign) else []
        names = {x.id for t in targets for x in ast.walk(t) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
        again = isinstance(node, ast.Assign) and (not names or names <= self.assigned)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            again = called(node.value) not in COSMETIC
        if again or isinstance(node, ast.AugAssign | ast.Continue | ast.Break):
            self.put(*self.span(node), "pass")
        self.assigned |= names

    def negate(self, test: ast.expr) -> None:
        opposite = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot)
        inverse = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        if not (opposite or inverse):  # those come by themselves
            self.put(*self.span(test), f"(not ({self.text(test)}))")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name == "__repr__":
            return
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(default)
        outer, names = self.body, {arg.arg for arg in (*node.args.args, *node.args.kwonlyargs)}
        self.body, self.assigned = True, names
        for statement in node.body:
            self.visit(statement)
        self.body, self.assigned = outer, set()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self.negate(test)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, kind, right in zip((node.left, *node.comparators), node.ops, node.comparators, strict=False):
            self.between(left, right, kind)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp | ast.BinOp) -> None:
        for left, right in pairwise(node.values if isinstance(node, ast.BoolOp) else [node.left, node.right]):
            self.between(left, right, node.op)
        self.generic_visit(node)

    visit_BinOp = visit_BoolOp

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.between(node.target, node.value, node.op)
        self.visit(node.value)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self.put(*self.span(node), self.text(node.operand))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.put(*self.span(node), repr(not value))
        elif isinstance(value, int | float):
            self.put(*self.span(node), repr(value + 1 if value < 1 or isinstance(value, int) else 2 * value))

    def visit_Name(self, node: ast.Name) -> None:
        if CONFUSED.get(node.id) in self.names and isinstance(node.ctx, ast.Load):
            self.put(*self.span(node), CONFUSED[node.id])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        end = self.span(node)[1]
        if node.attr in CONFUSED:
            self.put(end - len(node.attr), end, CONFUSED[node.attr])
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        """The first two swapped, a keyword or a last constant dropped, min= for max=."""
        named = [keyword for keyword in node.keywords if keyword.arg not in UNSEEN]
        arguments: list[ast.expr | ast.keyword] = [*node.args, *named]
        texts = [self.text(argument) for argument in arguments]
        if arguments and not (len(arguments) == 1 and isinstance(arguments[0], ast.GeneratorExp)):
            start, end = self.span(arguments[0])[0], self.span(arguments[-1])[1]
            if len(node.args) > 1 and called(node) not in COMMUTATIVE:
                self.put(start, end, ", ".join([texts[1], texts[0], *texts[2:]]))
            kept = len(node.args) - bool(node.args and isinstance(node.args[-1], ast.Constant) and called(node) != "f4")
            for i in range(kept, len(texts)):  # a last argument that is a variable is hardly ever optional
                self.put(start, end, ", ".join(texts[:i] + texts[i + 1 :]))
        for keyword in named:
            if keyword.arg in CONFUSED:
                self.put(self.span(keyword)[0], self.span(keyword.value)[0], f"{CONFUSED[keyword.arg]}=")
        for part in (node.func, *arguments):
            self.visit(part)


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
