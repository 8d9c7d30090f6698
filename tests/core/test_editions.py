"""What numba keeps of a compiled function on the disk is used only while no file of such functions has changed.

What is compiled is announced, and what can't be says why.
"""

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numba")
from tricks.fast import dispatch, kernels
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
    kept = [x for x in vars(importlib.import_module(module)).values() if hasattr(x, "stats") and x.stats.cache_path]
    assert kept
    assert all(x.py_func.__qualname__.endswith(f"_{EDITION}") for x in kept)


def test_there_are_compiled_functions_in_both_rooms() -> None:
    assert {file.parent.name for file in COMPILED} == {"fast", "fused"}
    assert {file.name for file in FILES} > {"kernels.py", "formulas.py"}


def test_what_is_about_to_be_compiled_is_announced_once_and_what_was_kept_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))

    def twice(x: float) -> float:
        return 2 * x

    def thrice(x: float) -> float:
        return 3 * x

    kernels.announce.cache_clear()
    assert kernels.kernel("f8(f8)")(twice)(1) == 2
    assert kernels.kernel("f8(f8)")(thrice)(1) == 3
    assert capsys.readouterr().err == "compiling for this CPU, which only the first run has to do: 10 to 40 s\n"
    kernels.announce.cache_clear()
    kernels.kernel("f8(f8)")(twice)
    assert capsys.readouterr().err == ""


def test_numba_s_own_switch_leaves_everything_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    source = Path(kernels.__file__).read_text(encoding="utf-8")
    with pytest.raises(ImportError, match="NUMBA_DISABLE_JIT is set"):
        exec(compile(source, kernels.__file__, "exec"), {"__file__": kernels.__file__, "__name__": "again"})


def test_without_a_folder_to_keep_it_in_one_line_says_how_to_name_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(name: str) -> Any:
        raise RuntimeError(f"cannot cache function {name!r}: no locator available for file '/x.py'")

    monkeypatch.setattr(importlib, "import_module", failing)
    dispatch.homeless.cache_clear()
    assert [dispatch.loaded.__wrapped__(name) for name in ("compiled_rows", "compiled_layers")] == [None, None]
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "NUMBA_CACHE_DIR can name one" in said


def test_what_was_replaced_at_the_first_training_and_put_back_is_compiled_again() -> None:
    code = """
from unittest.mock import patch
from tricks import PPO, Config, train
from tricks.core.adam import Adam

step = Adam.step
with patch.object(Adam, "step", lambda *given, **named: step(*given, **named)):
    train(Config(seeds=1, steps=256, lanes=2, horizon=16), PPO)
    from tricks.fused.losses import FORMULAS
    assert not all(each.unchanged for each in FORMULAS)
assert all(each.unchanged for each in FORMULAS)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "edited" not in done.stderr
