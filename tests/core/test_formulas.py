"""A compiled form is known by the syntax it was written for, and what numba keeps of it by the files' edition."""

import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from inspect import cleandoc
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, patch

import pytest
from torch import nn

pytest.importorskip("numba")

from tricks.core.layers import affine
from tricks.core.nets import Head
from tricks.fast import dispatch, formulas, kernels
from tricks.fast.dispatch import faster
from tricks.fast.kernels import COMPILED, EDITION, FILES, edition

HALF, THIRD, FOURTH = 0.5, 1 / 3, (0.25, 1)


def formula(rows: list[float]) -> list[float]:
    """Each row, smaller."""
    smaller = lambda x: x * THIRD  # noqa: E731
    return [smaller(x) * HALF for x in rows if {x: FOURTH}]


def borrowed(x: float) -> Any:
    return cleandoc(str(again(x)))


def again(x: float, n: int = 1) -> float:
    return again(x * HALF, n - 1) if n else x


again.__module__ = "tricks.example"


class Owner:
    def method(self, x: float) -> float:
        """Its lines
        may begin anywhere.
        """
        return x * HALF


def digest_of(text: str, monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any] = formula) -> str:
    with monkeypatch.context() as patched:
        patched.setattr(inspect, "getsource", lambda _: text)
        return formulas.digest(function)


def test_a_formula_is_what_it_reads_and_what_that_calls_but_not_other_packages() -> None:
    assert formulas.read(formula) == {"HALF": HALF, "THIRD": THIRD, "FOURTH": FOURTH}
    found = {each.name: each.kept for each in formulas.reads(borrowed)}
    assert found == {"cleandoc": cleandoc, "again": again, "HALF": HALF}
    with patch.object(inspect, "getsource", wraps=inspect.getsource) as asked:
        formulas.digest(borrowed)
    assert [call.args for call in asked.call_args_list] == [(borrowed,), (again,)]
    forward, call, *read = formulas.attributes((Head, "forward"), (nn.Module, "add_module"))
    assert (forward.names, forward.name, forward.kept, forward.ours) == (vars(Head), "forward", Head.forward, True)
    assert (call.name, call.kept, call.ours) == ("add_module", nn.Module.add_module, False)
    assert not any(each.ours for each in read)
    assert [each.kept for each in read] == [affine, *(each.kept for each in formulas.reads(affine))]


@pytest.mark.parametrize("name", ["HALF", "THIRD", "FOURTH"])
def test_another_constant_is_another_formula(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = formulas.digest(formula)
    monkeypatch.setitem(globals(), name, 2)
    assert formulas.digest(formula) != before


@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        *[("* THIRD", "/ THIRD", True), ("* HALF", "+ HALF", True), ("smaller(x)", "x", True)],
        *[
            ("if {x: FOURTH}", "", True),
            ("list[float]", "Any", False),
            (" smaller.", " other words. # no comment", False),
        ],
    ],
)
def test_an_edit_is_seen_if_it_changes_numbers(old: str, new: str, seen: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    text = inspect.getsource(formula)
    edited = text.replace(old, new)
    assert ast.dump(ast.parse(edited)) != ast.dump(ast.parse(text))
    assert (digest_of(edited, monkeypatch) != digest_of(text, monkeypatch)) == seen
    assert formulas.digest(Owner.method)  # whose docstring begins anywhere


def test_what_cannot_be_read_is_as_written(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(inspect, "getsource", lambda _: "def mean(x:\n")
    formulas.as_written.cache_clear()
    try:
        assert not formulas.as_written("tricks.core.returns.discounted_sum")
    finally:
        formulas.as_written.cache_clear()
    assert "tricks.core.returns.discounted_sum, or what it reads, was edited" in capsys.readouterr().err

    def missing(function: object) -> str:
        raise OSError("could not get source code")

    monkeypatch.setattr(inspect, "getsource", missing)
    assert formulas.as_written.__wrapped__("tricks.core.returns.discounted_sum")


@pytest.mark.parametrize("indent", ["    ", " ", "\t"])
def test_a_method_may_be_indented_by_anything(indent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def method(self, x):\nI return x * HALF\n"
    indented = indent + text.replace("I", 2 * indent)
    assert digest_of(indented, monkeypatch, Owner.method) == formulas.digest(Owner.method)


def test_a_name_counts_as_changed_if_its_value_or_its_code_is(monkeypatch: pytest.MonkeyPatch) -> None:
    cached = cache(again)
    names = {"HALF": HALF, "again": again, "cached": cached}
    kept = [formulas.attribute(names, name) for name in (*names, "absent")]
    assert [each.function for each in kept] == [None, again, again, None] and formulas.all_unchanged(kept)
    for name in (*names, "absent"):
        with patch.dict(names, {name: borrowed}):
            assert [each.unchanged for each in kept] == [each.name != name for each in kept]
    monkeypatch.setattr(again, "__code__", (lambda x, n=1: x).__code__)
    assert [each.unchanged for each in kept] == [True, False, False, True]


@pytest.mark.parametrize(
    ("module", "more", "at_once"), [("tricks.x", {}, True), ("tricks.x", {"late": True}, False), ("x", {}, False)]
)
def test_a_form_of_another_folder_is_imported_at_once_unless_it_is_late(
    module: str, more: dict[str, Any], at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = lambda x: None  # noqa: E731
    asked = Mock(return_value=SimpleNamespace(again=form))
    monkeypatch.setattr(importlib, "import_module", asked)
    monkeypatch.setattr(formulas, "FORMULAS", {})
    computed = faster(module, **more)(again)
    assert asked.called == at_once
    (formula, found), *others = formulas.FORMULAS.values()
    assert (formula, found(), others, [*formulas.FORMULAS]) == (again, form, [], ["tricks.example.again"])
    monkeypatch.setitem(formulas.DIGESTS, "tricks.example.again", "")
    assert computed(1.0, n=2) == 0.25


MODULES = [".".join(("tricks", file.parent.name, file.stem)) for file in COMPILED]


def test_there_are_compiled_functions_in_both_rooms_and_any_change_makes_another_edition(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("compiled_a.py", "compiled_b.py")]
    for file in files:
        file.write_text("x = 1\n", encoding="utf-8")
    before = edition(files)
    assert before == edition(files)
    files[1].write_text("x = 2\n", encoding="utf-8")
    assert edition(files) != before
    assert {file.parent.name for file in COMPILED} == {"fast", "fused"}
    assert {file.name for file in FILES} > {"kernels.py", "formulas.py"}


@pytest.mark.parametrize("module", MODULES)
def test_numba_keeps_compiled_functions_by_their_edition(module: str) -> None:
    kept = [x for x in vars(importlib.import_module(module)).values() if hasattr(x, "stats") and x.stats.cache_path]
    assert kept and all(x.py_func.__qualname__.endswith(f"_{EDITION}") for x in kept)


def test_what_is_about_to_be_compiled_is_announced_once_and_what_was_kept_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))

    def twice(x: float) -> float:
        return 2 * x

    def thrice(x: float) -> float:
        return 3 * x

    kernels.announce.cache_clear()
    assert kernels.kernel("f8(f8)")(twice)(1) == 2 and kernels.kernel("f8(f8)")(thrice)(1) == 3
    assert capsys.readouterr().err == "compiling for this CPU, which only the first run has to do: 10 to 40 s\n"
    kernels.announce.cache_clear()
    kernels.kernel("f8(f8)")(twice)
    assert capsys.readouterr().err == ""


def test_numba_s_switch_leaves_everything_plain_and_without_a_folder_one_line_asks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    source = Path(kernels.__file__).read_text(encoding="utf-8")
    with pytest.raises(ImportError, match="NUMBA_DISABLE_JIT is set"):
        exec(compile(source, kernels.__file__, "exec"), {"__file__": kernels.__file__, "__name__": "again"})
    monkeypatch.undo()

    def failing(name: str) -> Any:
        raise RuntimeError(f"cannot cache function {name!r}: no locator available for file '/x.py'")

    monkeypatch.setattr(importlib, "import_module", failing)
    dispatch.homeless.cache_clear()
    assert [dispatch.loaded.__wrapped__(name) for name in ("compiled_rows", "compiled_layers")] == [None, None]
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "NUMBA_CACHE_DIR can name one" in said


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
