"""What other packages get from the two packages: every name is there, and nothing is loaded before it is asked for."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import ablations
import tricks
from ablations import findings

CHAPTERS = Path(ablations.__file__).parents[1] / "chapters"


def test_every_name_is_what_its_home_calls_so_and_no_other_is_there() -> None:
    block = next(node for node in ast.parse(Path(ablations.__file__).read_text()).body if isinstance(node, ast.If))
    homes = {each.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for each in node.names}
    assert ablations.__all__ == sorted(homes)
    for name, home in homes.items():
        found = getattr(ablations, name)
        assert found is getattr(import_module(str(home)), name, sys.modules.get(f"{home}.{name}")), name
    assert set(tricks.HOMES) < set(tricks.__all__)
    assert all(getattr(tricks, name).__name__ == name for name in tricks.HOMES)
    for package in (tricks, ablations):
        assert {*package.__all__, "__version__"} <= set(dir(package))
        with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
            package.nonsense  # noqa: B018


LOADED = """
import sys
from tricks.cli.main import main
assert main(["list"]) == 0
assert not {"torch", "libcst", "pandas", "numpy", "gymnasium"} & set(sys.modules)
import ablations
assert not {"torch", "pandas", "matplotlib"} & set(sys.modules)
import ablations.cli, ablations.report.page
assert "torch" not in sys.modules, "a report waits for it"
"""


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    subprocess.run([sys.executable, "-c", LOADED], check=True, stdout=subprocess.DEVNULL)


def test_chapters_import_from_the_package_alone() -> None:
    for path in CHAPTERS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ablations":
                assert node.module in ("ablations", "ablations.findings"), path
                public = ablations if node.module == "ablations" else findings
                assert {alias.name for alias in node.names} <= set(public.__all__), path
