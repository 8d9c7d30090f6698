"""A compiled form is known by the syntax it was written for, and what numba keeps of it by the files' edition."""

import ast
import importlib
import inspect
import runpy
from collections.abc import Callable
from functools import cache
from inspect import cleandoc
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, patch

import pytest

pytest.importorskip("numba")

from support import digests
from support.fixtures import Capture, Patch

import tricks.loop
from tricks import PPO
from tricks.clip import clipped_surrogate
from tricks.core.adam import Adam
from tricks.core.nets import Net
from tricks.fast import formulas, kernels
from tricks.fast.dispatch import faster
from tricks.fast.formulas import FORMULAS, Formula, Reading
from tricks.fast.kernels import COMPILED, EDITION, FILES

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


def digest(function: Callable[..., Any] = formula, text: str = "") -> str:
    """Of a function, or of this text in its place."""
    found, source = Reading(()), inspect.getsource
    with patch.object(inspect, "getsource", lambda each: text if text and each is function else source(each)):
        found.take(function)
    return found.digest


def test_today_s_digests_are_what_the_command_would_write() -> None:
    """If you changed a formula: change its compiled form, too, see that tests hold them equal, and run it."""
    assert Path(digests.digests.__file__).read_text(encoding="utf-8") == digests.text()


@pytest.mark.parametrize("name", ["HALF", "THIRD", "FOURTH"])
def test_another_constant_is_another_formula(name: str, monkeypatch: Patch) -> None:
    before = digest()
    monkeypatch.setitem(globals(), name, 2)
    assert digest() != before


@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        *[("* THIRD", "/ THIRD", True), ("* HALF", "+ HALF", True), ("smaller(x)", "x", True)],
        *[("if {x: FOURTH}", "", True), ("list[float]", "Any", False)],
        (" smaller.", " other words. # no comment", False),
    ],
)
def test_an_edit_is_seen_if_it_changes_numbers(old: str, new: str, seen: bool) -> None:
    text = inspect.getsource(formula)
    edited = text.replace(old, new)
    assert ast.dump(ast.parse(edited)) != ast.dump(ast.parse(text))
    assert (digest(text=edited) != digest()) == seen


def test_a_name_counts_as_changed_if_its_value_or_its_code_is(monkeypatch: Patch) -> None:
    names = {"HALF": HALF, "again": again, "cached": cache(again)}
    kept = {name: Reading(()) for name in (*names, "absent")}
    for name, each in kept.items():
        each.look(names.get, name)
    assert all(each.unchanged for each in kept.values())
    for name in kept:
        with patch.dict(names, {name: borrowed}):
            assert [each for each in kept if not kept[each].unchanged] == [name]
    monkeypatch.setattr(again, "__code__", (lambda x, n=1: x).__code__)
    assert [each.unchanged for each in kept.values()] == [True, False, False, True]


@pytest.fixture
def policy_loss(monkeypatch: Patch) -> Formula:
    """As it was before anybody asked for it."""
    found = FORMULAS["tricks.loop.policy_loss"]
    monkeypatch.setattr(found, "_kept", None)
    formulas.say.cache_clear()
    return found


def reads_as(monkeypatch: Patch, function: Any, old: str, new: str) -> None:
    source, text = inspect.getsource, inspect.getsource(function)
    assert old in text
    monkeypatch.setattr(inspect, "getsource", lambda each: text.replace(old, new) if each is function else source(each))


def test_an_edited_formula_is_plain_and_says_so_once(policy_loss: Formula, monkeypatch: Patch, capsys: Capture) -> None:
    reads_as(monkeypatch, clipped_surrogate, "1 - clip_range", "1 - 2 * clip_range")
    assert not any(policy_loss.as_written(on) for on in (PPO.on, PPO.on, ()))
    said = "tricks.loop.policy_loss, or what it reads, was edited or replaced, so it runs as written, uncompiled\n"
    assert capsys.readouterr().err == said


def test_what_is_replaced_is_noticed_and_what_is_put_back_too(policy_loss: Formula, capsys: Capture) -> None:
    def mine(*given: Any) -> Any: ...

    for owner, name, value in ((tricks.loop, "clipped_surrogate", mine), (Net, "__call__", mine), (Adam, "step", mine)):
        with patch.object(owner, name, value):
            assert not policy_loss.as_written(PPO.on)
        assert policy_loss.as_written(PPO.on)
    assert capsys.readouterr().err.count("edited or replaced") == 1


def test_a_trick_that_was_added_runs_as_written_and_where_it_is_off_all_is_compiled(
    policy_loss: Formula, monkeypatch: Patch, capsys: Capture
) -> None:
    added = "    if tricks.mine:\n        objective = my_own(ratio, advantage)\n"
    reads_as(monkeypatch, policy_loss.plain, "    if tricks.dual_clip:\n", f"{added}    if tricks.dual_clip:\n")
    assert policy_loss.as_written(PPO.on)
    assert not policy_loss.as_written((*PPO.on, "mine"))
    said = "tricks.loop.policy_loss runs as written, uncompiled: its compiled form does not know mine\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("text", ["def policy_loss(t:\n", None])
def test_the_unreadable_runs_plain(text: str | None, policy_loss: Formula, monkeypatch: Patch, capsys: Capture) -> None:
    monkeypatch.setattr(inspect, "getsource", Mock(return_value=text, side_effect=None if text else OSError))
    assert not policy_loss.as_written(PPO.on)
    assert "policy_loss, or what it reads, was edited or replaced" in capsys.readouterr().err


def test_a_form_is_imported_when_it_is_wanted(monkeypatch: Patch) -> None:
    asked = Mock(return_value=SimpleNamespace(again=lambda x, n: None))
    monkeypatch.setattr(importlib, "import_module", asked)
    monkeypatch.setattr(formulas, "FORMULAS", {})
    computed = faster("tricks.x")(again)
    assert not asked.called and [*formulas.FORMULAS] == ["tricks.example.again"]
    monkeypatch.setitem(digests.digests.DIGESTS, "tricks.example.again", digest(again))
    assert computed(1.0, n=2) == 0.25
    asked.assert_called_once_with("tricks.x")


MODULES = [".".join(("tricks", file.parent.name, file.stem)) for file in COMPILED]


def test_there_are_compiled_functions_in_both_rooms_and_any_change_makes_another_edition() -> None:
    assert {file.parent.name for file in COMPILED} == {"fast", "fused"}
    assert {*FILES} > {*COMPILED, Path(kernels.__file__)} and {file.name for file in FILES} > {"digests.py"}
    read = Path.read_bytes
    for changed in FILES:
        with patch.object(Path, "read_bytes", lambda file, its=changed: read(file) + b"#" * (file == its)):
            assert runpy.run_path(kernels.__file__)["EDITION"] != EDITION


@pytest.mark.parametrize("module", MODULES)
def test_numba_keeps_compiled_functions_by_their_edition(module: str) -> None:
    kept = [x for x in vars(importlib.import_module(module)).values() if hasattr(x, "stats") and x.stats.cache_path]
    assert kept and all(x.py_func.__qualname__.endswith(f"_{EDITION}") for x in kept)


def test_what_is_about_to_be_compiled_is_announced_once_and_what_was_kept_is_not(
    tmp_path: Path, monkeypatch: Patch, capsys: Capture
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


def test_numba_s_switch_leaves_everything_plain(monkeypatch: Patch) -> None:
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    source = Path(kernels.__file__).read_text(encoding="utf-8")
    with pytest.raises(ImportError, match="NUMBA_DISABLE_JIT is set"):
        exec(compile(source, kernels.__file__, "exec"), {"__file__": kernels.__file__, "__name__": "again"})
