"""What the process of an answer gets to read: a copy of the packages without right answers, and the libraries."""

import ast
import contextlib
import inspect
import os
import shutil
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[3]
GRADING = ("__init__", "answering", "fence", "needed", "wire")
BOOK = ("exercise.py", *(f"grading/{name}.py" for name in GRADING))  # what the copy has of the package `book`
SYSTEM = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/dev/urandom", "/dev/random")


def copy_packages(target: Path, module: ModuleType, kept: Sequence[str] = ()) -> None:
    """Copy what an answer may import: the library, and the module of its exercise without anything to judge by."""
    ignored = shutil.ignore_patterns("__pycache__", "results")
    for package in ("tricks", "ablations"):
        shutil.copytree(ROOT / package, target / package, ignore=ignored)
    for each in ("book/grading", "exercises"):
        (target / "chapters" / each).mkdir(parents=True)
    for each in ("__init__.py", "book/__init__.py", "exercises/__init__.py"):
        (target / "chapters" / each).touch()
    for each in BOOK:
        shutil.copy(ROOT / "chapters" / "book" / each, target / "chapters" / "book" / each)
    path = target / "chapters" / "exercises" / f"{module.__name__.rpartition('.')[2]}.py"
    path.write_text(without_answers(inspect.getsource(module), kept), encoding="utf-8")


def without_answers(source: str, kept: Sequence[str] = ()) -> str:
    """A module of exercises without the right functions, the mistakes, and the cases: what has a private name goes,
    except for what is `kept`, and a check does nothing."""
    body = list[ast.stmt]()
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node]
        names = [str(getattr(each, "name", getattr(each, "id", ""))) for each in targets]
        if names[0].startswith("check_"):
            body += ast.parse(f"def {names[0]}(answer): ...").body
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith("chapters."):
            continue
        elif not names[0].startswith("_") or names[0] in kept:
            body.append(node)
    return ast.unparse(ast.Module(body, []))


@cache
def libraries() -> list[str]:
    """The path of this process without the folder that it was started in, and without a clone of this project."""
    own = {Path.cwd(), *([ROOT] if (ROOT / "pyproject.toml").is_file() else [])}
    found = [(each, Path(each).resolve()) for each in sys.path if each]
    return [each for each, path in found if path not in own and (ROOT not in path.parents or _installed(path))]


def _installed(path: Path) -> bool:
    """Whether it is in this Python's own folder, which may be in a clone."""
    return Path(sys.prefix).resolve() in path.parents


def readable(roots: Sequence[str | Path], hidden: Sequence[Path]) -> list[str]:
    """As few files and folders as name everything in these folders but what is hidden."""
    secret = {path.resolve() for path in hidden}
    above = {parent for path in secret for parent in path.parents}
    seen, found, todo = set(secret), list[str](), list(roots)
    while todo:
        path = Path(os.path.realpath(todo.pop()))
        if path in seen or not path.exists():
            continue
        seen.add(path)
        if path not in above:
            found.append(str(path))
            continue
        with contextlib.suppress(OSError):
            todo += path.iterdir()
    return found
