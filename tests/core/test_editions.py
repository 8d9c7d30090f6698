"""What numba keeps of a compiled function on the disk is used only while no file of such functions has changed."""

from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("numba")
from tricks.fast.kernels import COMPILED, EDITION, FILES, edition

MODULES = [".".join(("tricks", file.parent.name, file.stem)) for file in COMPILED]


def test_a_change_of_any_file_makes_another_edition(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("compiled_a.py", "compiled_b.py")]
    for file in files:
        file.write_text("x = 1\n", encoding="utf-8")
    before = edition(files)
    assert before == edition(files)
    files[1].write_text("x = 2\n", encoding="utf-8")
    assert edition(files) != before


@pytest.mark.parametrize("module", MODULES)
def test_numba_keeps_compiled_functions_by_their_edition(module: str) -> None:
    kept = [x for x in vars(import_module(module)).values() if hasattr(x, "stats") and x.stats.cache_path]
    assert kept
    assert all(x.py_func.__qualname__.endswith(f"_{EDITION}") for x in kept)


def test_there_are_compiled_functions_in_both_rooms() -> None:
    assert {file.parent.name for file in COMPILED} == {"fast", "fused"}
    assert {file.name for file in FILES} > {"kernels.py", "formulas.py"}
