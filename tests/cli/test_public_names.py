"""What other packages get from `ablations`: every name is there, and none is loaded before it is asked for."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ablations
from ablations import findings

CHAPTERS = Path(ablations.__file__).parents[1] / "chapters"


@pytest.mark.parametrize("name", ablations.__all__)
def test_every_name_is_what_its_home_calls_so(name: str) -> None:
    (home,) = (home for home, names in ablations.HOMES.items() if name in names)
    found = getattr(ablations, name)
    assert found is getattr(sys.modules[f"ablations.{home}"], name)


def test_no_other_name_is_there() -> None:
    assert sorted(ablations.__all__) == sorted(name for names in ablations.HOMES.values() for name in names)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = ablations.nonsense


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    code = "import sys, ablations; assert not {'torch', 'pandas', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_report_does_not_wait_for_torch() -> None:
    code = "import sys, ablations.cli, ablations.report.page; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_chapters_import_from_the_package_alone() -> None:
    for path in CHAPTERS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ablations":
                assert node.module in ("ablations", "ablations.findings"), path
                public = ablations if node.module == "ablations" else findings
                assert {alias.name for alias in node.names} <= set(public.__all__), path
