"""The house: every file is in a room, rooms are layers, imports only go down, and types are right."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import tricks
from tricks.core.rollout import Batch
from tricks.ladder import FILES, NEEDS

ROOT = Path(tricks.__file__).parents[1]
LAYERS = {  # from the bottom up: a module may import from its own layer and from those before it
    "tricks": (
        *({"errors", "flags", "values", "version"}, {"texts"}),
        *({"ladder", "config"}, {"fast"}, {"core"}, {"worlds", *FILES.values()}, {"envs"}, {"runs"}),
        *({"training", "one_run"}, {"fused"}, {"loop", "one_agent", "one_game"}, {"restore", "replaced", "own_trick"}),
        *({"reading"}, {"cli"}, {"__init__"}, {"__main__"}),
    ),
    "ablations": (
        *({"lazy"}, {"question"}, {"training"}, {"analysis"}, {"report"}, {"experiments"}, {"tools"}, {"findings"}),
        *({"cli"}, {"__init__"}, {"__main__"}),
    ),
}
WORDS = {"baseline", "reuse", "clip", "entropy", "segments", "bootstrap", "recompute"}  # mean other things, too
WORDS |= {"recurrent"}  # an ordinary adjective of nets
FILES_OF = {package: sorted((ROOT / package).rglob("*.py")) for package in LAYERS}
MODULES = {path: path.relative_to(ROOT).with_suffix("").parts for paths in FILES_OF.values() for path in paths}


def height(parts: tuple[str, ...]) -> int:
    """In which layer of its package a module stands."""
    room = parts[1] if len(parts) > 1 else "__init__"
    return next(i for i, rooms in enumerate(LAYERS[parts[0]]) if room in rooms)


@cache
def imported(path: Path) -> set[tuple[str, ...]]:
    """The modules of this project that a file imports, wherever in it: inside functions and for types, too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for parts in (tuple(name.split(".")) for name in names):
            if parts[0] in LAYERS:
                while parts not in MODULES.values() and (*parts, "__init__") not in MODULES.values():
                    parts = parts[:-1]  # a name in a module
                found.add(parts)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: "/".join(MODULES[path]))
def test_imports_only_go_down(path: Path) -> None:
    mine = MODULES[path]
    for other in imported(path):
        if other[0] != mine[0]:
            assert mine[0] == "ablations", f"{'.'.join(mine)} imports {'.'.join(other)}"
        elif other[:2] != mine[:2]:
            assert height(other) <= height(mine), f"{'.'.join(mine)} imports {'.'.join(other)} from above"


def test_core_knows_no_trick_the_harness_no_finding_and_modules_are_in_no_circle_nor_share_a_name() -> None:
    harness = [path for path, parts in MODULES.items() if parts[0] == "ablations" and "findings" not in parts]
    known = {path.name for path in harness for other in imported(path) if "findings" in other}
    assert known <= {"cli.py", "__init__.py"}
    for path in [*(ROOT / "tricks" / "core").glob("*.py"), *(ROOT / "tricks" / "fast").glob("*.py")]:
        assert not set(re.findall(r"\w+", path.read_text(encoding="utf-8"))) & (set(NEEDS) - WORDS), path.name
    assert list(Batch.__annotations__) == ["obs", "legal", "action", "valid", "advantage", "task"]
    graph = {parts[:-1] if parts[-1] == "__init__" else parts: imported(path) for path, parts in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        pytest.fail(" imports ".join(".".join(module) for module in reversed(circle.args[1])))
    names = Counter(parts[-1] for parts in MODULES.values() if not parts[-1].startswith("__"))
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("folder", ["tricks", "ablations", "tests", "chapters/book", "chapters/exercises"])
def test_a_function_fits_a_screen(folder: str) -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / folder).rglob("*.py")]
    functions = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    sizes = {each.name: each.end_lineno - each.lineno + 1 for each in functions if each.end_lineno is not None}
    assert {name: size for name, size in sizes.items() if size > 60} == {}
    assert len((ROOT / "tricks" / "one_agent.py").read_text(encoding="utf-8").splitlines()) <= 260


def test_mypy_finds_nothing() -> None:
    pytest.importorskip("mypy")
    root = Path(__file__).parents[2]
    found = subprocess.run([sys.executable, "-m", "mypy"], cwd=root, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_lock_has_every_package_at_a_version_that_is_allowed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    named = [*project["dependencies"], *extras["dev"], *extras["parity"]]
    lock = [Requirement(line) for line in (ROOT / ".ci" / "lock.txt").read_text().splitlines() if line[0] != "#"]
    here = [each for each in lock if not each.marker or each.marker.evaluate()]
    locked = {each.name: str(each.specifier).removeprefix("==") for each in here}
    for wanted in map(Requirement, named):
        assert wanted.name == "ppo-tricks" or locked[wanted.name.lower()] in wanted.specifier
