"""A trick in a file of your own becomes a flag like ours, without a change to this package: see docs/your-own.md.

The file declares the flag as a field of `Tricks` is declared, its numbers with their defaults, its functions, and the
lines that it adds to the loop, with the statement after which they stand. The loop is text, so these lines enter it:
what is listed, diffed and trained is one text.
"""

import ast
import builtins
import dataclasses
import hashlib
import importlib.util
import inspect
import linecache
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from types import ModuleType
from typing import Any

from tricks import ladder
from tricks.config import FINITE, Config
from tricks.errors import InputError, in_words
from tricks.flags import meant
from tricks.ladder import OWN, Tricks, closed
from tricks.values import checked

TEXTS: list[str] = []  # the loop's, with the lines of each file that was loaded, the last of all
GENERATED = {"__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__"}
GENERATED |= {"__match_args__", "__msgspec_cache__"}


@checked
def load_trick(path: str | Path) -> str:
    """Make the flag in this file one of `Tricks`, with its numbers in `Config`, and its lines in the loop.

    Returns the flag's name. A file that was loaded before changes nothing. InputError says what a file lacks.
    """
    path = Path(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else ""
    if known := [name for name, loaded in OWN.items() if loaded == (path.resolve(), digest)]:
        return known[0]
    home = f"tricks.{path.stem}"
    if not path.stem.isidentifier() or iskeyword(path.stem):
        raise InputError(f"{path} must have the name of a module, such as mine.py")
    if importlib.util.find_spec(home) and path.stem not in {loaded.stem for loaded, _ in OWN.values()}:
        raise InputError(f"{path} has the name of a file of this package; give it another name")
    module = module_from(path, home)
    name, field = _flag(module, path)
    numbers = {number: _number(module, number, path) for number in field.metadata["numbers"]}
    text = _with_lines(module, name, path)
    if field.metadata["diagnostics"] and "tricks.runs.learning_curve" in sys.modules:
        raise InputError(f"{path} adds diagnostics to the curve: load it before anything trains or is read")
    _extend(Tricks, {name: field})
    _extend(Config, numbers)
    for key, table in ladder.LISTS.items():
        table[name] = field.metadata[key]
    ladder.COLORS[name], ladder.FILES[name] = field.metadata["color"], path.stem
    sys.modules[home] = module
    _replace_loop(text, path)
    OWN[name] = path.resolve(), digest
    return name


def load_asked(arguments: Sequence[str]) -> list[str]:
    """The words of a command line without `--trick FILE`, each of which is loaded. Raises InputError."""
    left, given = list[str](), iter(arguments)
    for word in given:
        option, _, value = word.partition("=")
        if option != "--trick":
            left.append(word)
        elif file := value or next(given, ""):
            load_trick(file)
        else:
            raise InputError("--trick needs a file, such as --trick mine.py")
    return left


def module_from(path: Path, name: str) -> ModuleType:
    """The module that a user's file makes, under this name. It can import what is in its own folder."""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    if (spec := importlib.util.spec_from_file_location(name, path)) is None:
        raise InputError(f"{path} is no Python file")
    module, before = importlib.util.module_from_spec(spec), sys.modules.get(name)
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:  # to read it anew, because an import could use stale bytecode
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    except (Exception, SystemExit) as error:
        raise InputError(f"{path} cannot be run: {in_words(error)}") from error
    finally:
        sys.path.pop(0)
        del sys.modules[name]
        sys.modules |= {} if before is None else {name: before}
    return module


def _flag(module: ModuleType, path: Path) -> tuple[str, dataclasses.Field[bool]]:
    """The one flag that the file declares."""
    found = {name: x for name, x in vars(module).items() if isinstance(x, dataclasses.Field)}
    if len(found) != 1:
        raise InputError(f"{path} must declare one flag, name: bool = trick(...), not {len(found)}")
    ((name, field),) = found.items()
    if name in ladder.NEEDS:
        raise InputError(f"{path}: there is a trick {name!r} already")
    for other in (*field.metadata["needs"], *field.metadata["excludes"]):
        if other not in ladder.NEEDS:
            raise InputError(f"{path}: there is no trick {other!r}{meant(other, ladder.NEEDS)}")
    field.name, field.type = name, bool
    return name, field


def _number(module: ModuleType, number: str, path: Path) -> Any:
    """A number's field: it must be positive, unless its default is not."""
    if hasattr(Config, number):
        raise InputError(f"{path}: Config has a number {number!r} already")
    default: Any = getattr(module, number, None)
    if type(default) not in (int, float):
        raise InputError(f"{path} must give {number} a default: {number}: float = 0.3")
    return dataclasses.field(default=default, metadata=FINITE if default <= 0 else {})


def _with_lines(module: ModuleType, name: str, path: Path) -> str:
    """The loop's text with the file's lines after the statement that it names, or the `if` that this stands in."""
    after, lines = (getattr(module, each, None) for each in ("AFTER", "LINES"))
    if not isinstance(after, str) or not isinstance(lines, str):
        raise InputError(f"{path} must say where its lines enter the loop: AFTER and LINES, each a text")
    try:
        wanted, body = ast.unparse(ast.parse(after.strip())), textwrap.dedent(lines).strip()
        if any(_asked(each) != name or getattr(each, "orelse", []) for each in ast.parse(body).body):
            raise InputError(f"{path}: each of its lines must stand under `if tricks.{name}:`")
    except SyntaxError as error:
        raise InputError(f"{path}: AFTER or LINES is no Python: {error.msg}") from None
    text = text_of_loop()
    places = _places(ast.parse(text), wanted)
    if len(places) != 1:
        what = "no statement" if not places else f"{len(places)} statements"
        raise InputError(f"{path}: AFTER must match exactly one statement; the loop has {what} `{after.strip()}`")
    last, rows = places[0].end_lineno or 0, text.splitlines(keepends=True)
    rows.insert(last, textwrap.indent(body, " " * places[0].col_offset) + "\n")
    whole, added = ast.parse("".join(rows)), range(last + 1, last + 1 + len(body.splitlines()))
    _check_uses(whole, added, name, module, path)
    words = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    used = sorted(each for each, x in vars(module).items() if each in words and x is not getattr(builtins, each, None))
    imports = [node.end_lineno or 0 for node in whole.body if isinstance(node, ast.ImportFrom)]
    rows.insert(imports[-1], f"from tricks.{path.stem} import {', '.join(used)}\n" if used else "")
    return "".join(rows)


def text_of_loop() -> str:
    """The loop as it is now: with the lines of files that were loaded before."""
    return TEXTS[-1] if TEXTS else Path(__file__).with_name("loop.py").read_text(encoding="utf-8")


def _asked(node: ast.AST) -> str:
    """The flag that `if tricks.flag:` asks for; of any other node, nothing."""
    test = ast.unparse(node.test) if isinstance(node, ast.If) else ""
    return test.removeprefix("tricks.") if test.startswith("tricks.") else ""


def _places(tree: ast.AST, wanted: str) -> list[ast.stmt]:
    """Each such statement, or the bare `if tricks.x:` that it stands in."""
    found = list[ast.stmt]()
    for node in ast.walk(tree):
        inner = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)]
        same = [each for each in inner if ast.unparse(each) == wanted]
        found += [node for each in same if each in node.body] if isinstance(node, ast.If) and _asked(node) else same
    return found


def _check_uses(tree: ast.Module, lines: range, name: str, module: ModuleType, path: Path) -> None:
    """Raise InputError if these lines use what nothing defines, or the loop only under flags that are not needed."""
    needs = {name, *closed(vars(module)[name].metadata["needs"])}
    known = {*vars(module), *vars(import_module("tricks.loop")), *dir(builtins)}
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        inner, bound = list(_under(function)), defaultdict[str, list[Set[str]]](list)
        for flags, node in inner:
            if isinstance(node, ast.arg):
                bound[node.arg].append(flags)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                bound[node.id].append(set() if node.lineno in lines else flags)
        for each in [node.id for _, node in inner if isinstance(node, ast.Name) and node.lineno in lines]:
            if each not in bound and each not in known:
                raise InputError(f"{path}: its lines use {each!r}, which neither the file nor the loop defines")
            if each in bound and not any(flags <= needs for flags in bound[each]):
                lacking = ", ".join(sorted(bound[each][0]))
                raise InputError(f"{path}: its lines use {each!r}, so {name} needs {lacking}: needs=(...)")


def _under(node: ast.AST, flags: Set[str] = frozenset()) -> Iterator[tuple[Set[str], ast.AST]]:
    """All nodes below this one, each with the flags that have to be on for it to run."""
    for child in ast.iter_child_nodes(node):
        yield flags, child
        inside = isinstance(node, ast.If) and child in node.body and _asked(node)
        yield from _under(child, flags | {inside} if inside else flags)


def _extend(kind: type, defaults: Mapping[str, Any]) -> None:
    """Give a frozen dataclass more fields, in place, so that all that knows the class knows them."""
    for each in GENERATED & vars(kind).keys():
        delattr(kind, each)
    kind.__annotations__ |= {name: type(x.default) for name, x in defaults.items()}
    for name, default in {**vars(kind)["__dataclass_fields__"], **defaults}.items():
        setattr(kind, name, default)
    dataclasses.dataclass(frozen=True)(kind)


def _replace_loop(text: str, path: Path) -> None:
    """Run the loop's new text in its module, and put its functions wherever the old ones are known by name."""
    loop = import_module("tricks.loop")
    before = {name: x for name, x in vars(loop).items() if inspect.isfunction(x) and x.__module__ == loop.__name__}
    place = f"{loop.__file__} with {path.name}"
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    exec(compile(text, place, "exec"), vars(loop))
    after = {id(old): getattr(loop, name) for name, old in before.items()}
    for other in [each for name, each in sys.modules.items() if name.partition(".")[0] in ("tricks", "ablations")]:
        vars(other).update({name: after[id(x)] for name, x in vars(other).items() if id(x) in after})
    TEXTS.append(text)
