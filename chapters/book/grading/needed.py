"""The part of a notebook that an answer needs: the statements that define it, and what those refer to.

The rest is not run: it may train for a minute, fail, or be half edited, and has nothing to do with the answer.
"""

import ast
import builtins
import re
import symtable
from collections.abc import Sequence
from dataclasses import dataclass, field

MAGIC = re.compile(r"^([ \t]*)[%!?].*$", re.MULTILINE)
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)  # what the parser says to a student's cell


@dataclass
class Needed:
    """The statements that an answer needs, in order, and the expression that is checked.

    Without an expression, the notebook has no answer. `own` and `other` name a cell that is not Python: one that has
    the exercise's function or its check, and one that has a name which the answer needs and nothing else defines.
    """

    expression: ast.Expression | None = None
    statements: list[ast.Module] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """The global names that it refers to."""
    own: str = ""
    other: str = ""


def needed(code: Sequence[tuple[int, str]], check: str, answer: str) -> Needed:
    """The last `check(...)` in these cells or, without one, the function `answer`, with what it needs.

    Each cell has its number in the notebook.
    """
    statements, broken = list[ast.stmt](), list[tuple[str, str]]()
    for number, source in code:
        try:
            statements += _parsed(source).body
        except UNREADABLE as error:
            line = f", line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else f": {error}"
            broken.append((source, f"cell {number}{line}"))
    place, expression = _checked(statements, check)
    bound = [_symbols(statement) for statement in statements]
    if expression is None and any(answer in binds for binds, _, _ in bound):
        place, expression = len(statements), ast.Name(answer, ast.Load())
    own = _mentioned(broken, rf"({check}|def {answer})")
    if expression is None or (own and not any(answer in binds for binds, _, _ in bound)):
        return Needed(own=own)
    asked = ast.Expression(expression)
    used = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
    chosen, names = _closure(bound, used, place)
    chosen |= {k for k, x in enumerate(statements) if isinstance(x, ast.ImportFrom) and x.names[0].name == "*"}
    kept = [ast.Module([statements[k]], []) for k in sorted(chosen)]
    lost = sorted(names.difference(vars(builtins), *(binds for binds, _, _ in bound)))
    other = _mentioned(broken, "|".join(map(re.escape, lost))) if lost else ""
    return Needed(ast.fix_missing_locations(asked), kept, sorted(names), own, other)


def _mentioned(broken: Sequence[tuple[str, str]], words: str) -> str:
    """What is wrong with the last of these cells that has one of the words."""
    return next((said for source, said in reversed(broken) if re.search(rf"\b(?:{words})\b", source)), "")


def _parsed(source: str) -> ast.Module:
    """A cell's code; its lines for IPython and for the shell are left out."""
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.parse(MAGIC.sub(r"\1pass", source))


def _checked(statements: Sequence[ast.stmt], check: str) -> tuple[int, ast.expr | None]:
    """The place of the last statement that calls the check, and the argument of that call."""
    found: tuple[int, ast.expr | None] = (len(statements), None)
    for place, statement in enumerate(statements):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                found = (place, node.args[0]) if name == check else found
    return found


Symbols = tuple[set[str], set[str], set[str]]


def _symbols(statement: ast.stmt) -> Symbols:
    """The global names that a statement binds, those that it needs when it runs, and those that its functions need."""
    try:
        scopes = [symtable.symtable(ast.unparse(statement), "<notebook>", "exec")]
    except UNREADABLE:
        return set(), set(), set()
    for scope in scopes:
        scopes += scope.get_children()
    top = scopes[0].get_symbols()
    binds = {each.get_name() for each in top if each.is_assigned() or each.is_imported() or each.is_namespace()}
    now = {each.get_name() for each in top if each.is_referenced()}
    later = {each.get_name() for scope in scopes[1:] for each in scope.get_symbols() if each.is_global()}
    return binds, now, later - now


def _closure(bound: Sequence[Symbols], names: set[str], place: int) -> tuple[set[int], set[str]]:
    """The statements that these names need, and all names that are needed.

    A name means its last binding before the statement that needs it, and inside a function its last one before the
    check. The answer itself is the last of its name in the whole notebook: a cell further down may hold it.
    """
    chosen, seen = set[int](), set[str]()
    open_ = [(name, len(bound)) for name in names]
    while open_:
        name, before = open_.pop()
        seen.add(name)
        places = [k for k, (binds, _, _) in enumerate(bound) if name in binds]
        k = max((k for k in places if k < before), default=min(places, default=-1))
        if k < 0 or k in chosen:
            continue
        chosen.add(k)
        _, now, later = bound[k]
        open_ += [(each, k) for each in now]
        open_ += [(each, max(place, k + 1)) for each in later]
    return chosen, seen
