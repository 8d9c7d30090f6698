"""What a chapter needs is the package's dependencies, or an extra that its set-up cell installs; that cell; badges."""

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import jupytext
import pytest

from chapters.book.build import CHAPTERS, names
from chapters.book.setup_cells import EXTRAS, TAG, badges, code, stored, with_setup, without_setup, write
from tricks import __version__
from tricks.version import DISTRIBUTION

THIS, ATARI = f"{DISTRIBUTION}=={__version__}", f"{DISTRIBUTION}[atari]=={__version__}"
NUMBA = 'numba>=0.61; python_version < "3.15"'
NEEDS = ["torch<2.14,>=2.5", "pandas>=2.2", NUMBA, 'ale-py>=0.11.1; extra == "atari"', 'ruff; extra == "dev"']
ROOT = CHAPTERS.parent
OWN = {"tricks", "ablations", "chapters"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
THERE = {re.split(r"[^\w-]", each)[0] for each in PROJECT["dependencies"]}
THERE |= {*OWN, *sys.stdlib_module_names, "PIL", "IPython"}  # pillow's module, and what runs the cells
CPU = ["--extra-index-url", "https://download.pytorch.org/whl/cpu"]


@pytest.mark.parametrize("name", names())
def test_a_stored_notebook_has_the_badges_and_the_set_up_of_this_version(name: str) -> None:
    notebook = jupytext.read(CHAPTERS / f"{name}.ipynb")
    assert notebook == with_setup(notebook, name)  # else run `python -m chapters setup`
    assert [TAG in cell.metadata.get("tags", []) for cell in notebook.cells].count(True) == 2
    assert notebook.cells[0].source == badges(name)
    assert next(cell for cell in notebook.cells if cell.cell_type == "code").source == code(name)


def test_the_other_cells_stay_as_they_are(tmp_path: Path) -> None:
    path = CHAPTERS / "04_gae.ipynb"
    plain, copy = without_setup(jupytext.read(path)), tmp_path / path.name
    script = jupytext.read(CHAPTERS / "04_gae.py")
    assert [cell.source for cell in plain.cells] == [cell.source for cell in script.cells]
    write(copy, plain)
    assert copy.read_text(encoding="utf-8") == path.read_text(encoding="utf-8")
    assert stored(copy) == plain


def test_the_badges_open_this_version_of_the_chapter_and_the_set_up_is_folded_in_jupyter_and_in_colab() -> None:
    colab, binder = re.findall(r"\)\]\((https:[^)]+)\)", badges("04_gae"))
    assert colab.endswith(f"/github/OWNER/ppo-tricks/blob/v{__version__}/chapters/04_gae.ipynb")
    assert binder.endswith(f"/gh/OWNER/ppo-tricks/v{__version__}?labpath=chapters%2F04_gae.ipynb")
    cells = json.loads((CHAPTERS / "04_gae.ipynb").read_text(encoding="utf-8"))["cells"]
    (setup,) = (cell for cell in cells if cell["id"] == "04_gae-setup")
    assert setup["metadata"]["jupyter"] == {"source_hidden": True}
    assert setup["metadata"]["cellView"] == "form"  # which shows the title alone
    assert setup["source"][0].startswith("# @title Set-up: ")


@pytest.mark.parametrize("name", ["04_gae", *EXTRAS])
def test_the_set_up_does_nothing_where_the_package_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for _, module in EXTRAS.values():
        pytest.importorskip(module)
    known: dict[str, object] = {}
    monkeypatch.setitem(sys.modules, "subprocess", None)  # importing it fails
    exec(code(name), known)
    assert "install" not in known


@pytest.mark.parametrize(
    ("name", "torch", "asked"),
    [
        ("04_gae", True, [["--no-deps", THIS], ["pandas>=2.2", NUMBA]]),
        ("23_atari", True, [["--no-deps", THIS], ["pandas>=2.2", NUMBA, "ale-py>=0.11.1"]]),
        ("04_gae", False, [[THIS, *CPU]]),
        ("23_atari", False, [[ATARI, *CPU]]),
    ],
)
def test_the_set_up_installs_everything_but_the_torch_that_is_there_and_else_the_one_for_cpus(
    name: str, torch: bool, asked: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[list[str]] = []
    monkeypatch.setitem(sys.modules, "chapters.book", None)
    monkeypatch.setattr("subprocess.run", lambda words, check: found.append(words[4:]))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object() if torch else None)
    monkeypatch.setattr("importlib.metadata.requires", lambda name: NEEDS)
    exec(code(name), {})
    assert found == [["--quiet", *words] for words in asked]


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
