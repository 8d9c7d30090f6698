"""Every chapter runs with the package's own dependencies: what its cells import, and what that imports, is among them.

The one exception is said by the chapter itself: its set-up cell installs an extra.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache

import pytest

from chapters.book.build import CHAPTERS, names
from chapters.book.setup_cells import EXTRAS

ROOT = CHAPTERS.parent
OWN = {"tricks", "ablations", "chapters"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
THERE = {re.split(r"[^\w-]", each)[0] for each in PROJECT["dependencies"]}
THERE |= {*OWN, *sys.stdlib_module_names, "PIL", "IPython"}  # pillow's module, and what runs the cells


def imports(nodes: list[ast.stmt], everywhere: bool) -> Iterator[str]:
    """The full names that statements import, in functions only if `everywhere`; without those that may be missing."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Try) and any("ImportError" in ast.unparse(h.type or node) for h in node.handlers):
            continue
        elif everywhere or not isinstance(node, ast.FunctionDef | ast.If):
            for block in ("body", "orelse", "finalbody"):
                yield from imports(getattr(node, block, []), everywhere)


@cache
def behind(name: str) -> frozenset[str]:
    """The modules that importing one of ours imports, too."""
    place = ROOT.joinpath(*name.split("."))
    path = next((each for each in (place.with_suffix(".py"), place / "__init__.py") if each.is_file()), None)
    return frozenset(imports(ast.parse(path.read_text(encoding="utf-8")).body, False) if path else ())


def needed(text: str) -> set[str]:
    """All modules that must be there for these cells."""
    found, waiting = set[str](), list(imports(ast.parse(text).body, True))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            if name.partition(".")[0] in OWN:
                waiting += [name.rsplit(".", k)[0] for k in range(1, name.count(".") + 1)]
                waiting += behind(name)
    return found


@pytest.mark.parametrize("name", names())
def test_a_chapter_needs_nothing_but_the_packages_dependencies(name: str) -> None:
    roots = {each.partition(".")[0] for each in needed((CHAPTERS / f"{name}.py").read_text(encoding="utf-8"))}
    assert {"torch", "chapters"} <= roots
    assert roots - THERE - {*EXTRAS.get(name, ())} == set()


def test_what_is_foreign_is_found_behind_ours_and_a_guard_is_seen() -> None:
    assert "jupytext" in needed("import chapters.book.build")
    assert {"ale_py"} <= needed("def f():\n    import ale_py")
    assert needed("try:\n    import ale_py\nexcept ImportError:\n    print('no games')") == set()
