"""The ladder: needs, presets, and that every flag has its file, its test, and its place in the loop."""

import ast
import re
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
import torch

import tricks
from tricks import EVERY, PPO, REINFORCE, Config, InputError, Tricks, train
from tricks.flags import trick
from tricks.ladder import COLORS, DIAGNOSTICS, FILES, HYPERPARAMETERS, LADDER, NEEDS, closed, named, rungs, switched
from tricks.reading.ladder_table import table
from tricks.runs import learning_curve, log

LIBRARY = Path(tricks.__file__).parent
MISTYPED = {"lr-aneal": "lr_anneal", "return-norm": "return_norm", "reinforse": "reinforce", "PPO": "ppo"}


@pytest.mark.parametrize(
    ("on", "said"),
    [
        (["popart"], "popart needs return_norm, which needs baseline: add --baseline --return-norm"),
        (["reuse", "value_clip"], "value_clip needs baseline: add --baseline"),
        (["gae", "clip"], "clip needs reuse; gae needs baseline: add --baseline --reuse"),
        (
            ["ppg_buffers"],
            "ppg_buffers needs reuse and ppg, which needs baseline and segments: "
            "add --baseline --reuse --segments --ppg",
        ),
    ],
)
def test_all_that_is_missing_is_named_at_once_with_the_switches_to_type(on: list[str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        switched(on)
    assert str(caught.value) == said
    switched([*on, *(name.replace("-", "_") for name in re.findall(r"--([a-z-]+)", said))])  # what was advised is legal


@pytest.mark.parametrize("name", NEEDS)
def test_every_trick_has_a_file_that_names_it_and_a_test(name: str) -> None:
    assert (LIBRARY / f"{FILES[name]}.py").read_text().splitlines()[0].split(":")[0].find(name) > 0
    first = [path.read_text().splitlines()[0] for path in Path(__file__).parent.glob("test_*.py")]
    assert any(re.search(rf'\b{name}\b[^"]*:', line) for line in first)


@pytest.mark.parametrize("name", NEEDS)
def test_every_flag_is_tested_bare_in_the_loop(name: str) -> None:
    nodes, flag = list(ast.walk(ast.parse((LIBRARY / "loop.py").read_text()))), f"tricks.{name}"
    tests = [node for node in nodes if isinstance(node, ast.If) and ast.unparse(node.test) == flag]
    mentions = [node for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node) == flag]
    assert len(tests) == len(mentions) > 0


def test_a_flag_is_not_tested_again_where_it_has_just_been_tested() -> None:
    for node in ast.walk(ast.parse((LIBRARY / "loop.py").read_text())):
        for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
            for one, other in pairwise(block if isinstance(block, list) else []):
                if isinstance(one, ast.If) and isinstance(other, ast.If):
                    assert ast.unparse(one.test) != ast.unparse(other.test), f"line {other.lineno}: one if is enough"
        if isinstance(node, ast.If):
            within = [inner for statement in node.body for inner in ast.walk(statement) if isinstance(inner, ast.If)]
            assert ast.unparse(node.test) not in [ast.unparse(inner.test) for inner in within], f"line {node.lineno}"


def test_each_rung_adds_one_trick_and_the_last_is_every() -> None:
    ladder = rungs()
    assert ladder[0] == REINFORCE
    assert ladder[-1] == EVERY
    assert [set(b.on) - set(a.on) for a, b in pairwise(ladder)] == [{name} for name in LADDER]


@pytest.mark.parametrize(
    ("name", "on"),
    [
        ("ppo", PPO.on),
        ("clip", ("baseline", "reuse", "clip")),
        ("shared_trunk", (*PPO.on, "shared_trunk")),
        ("ppg", (*PPO.on, "ppg")),
        ("ppg_buffers", (*PPO.on, "ppg", "ppg_buffers")),
        ("ppg+kl_stop", (*PPO.on, "ppg", "kl_stop")),
        ("reinforce+popart+clip", ("baseline", "reuse", "clip", "return_norm", "popart")),
    ],
)
def test_names_stand_for_presets_and_rungs_to_which_flags_may_be_added(name: str, on: tuple[str, ...]) -> None:
    assert named(name).on == on


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Tricks(baseline=True, popart=True), "popart needs return_norm"),
        (lambda: switched([*PPO.on, "ppg", "shared_trunk"]), "ppg cannot be combined with shared_trunk"),
        (lambda: switched(["magic"]), "unknown trick magic"),
        (lambda: switched(["clipp"]), r"unknown trick clipp \(did you mean clip\?\); the tricks are"),
        (lambda: named("ppg+klstop"), "unknown trick klstop"),
        (lambda: named("ppoo"), "unknown rung 'ppoo'"),
        (lambda: named("xyz"), "unknown rung 'xyz'; choose"),
        *[
            (partial(named, name), rf"unknown rung '{name}' \(did you mean {meant}\?\); choose reinforce, ppo")
            for name, meant in MISTYPED.items()
        ],
    ],
)
def test_what_is_no_set_is_named_and_a_mistyped_name_gets_a_suggestion(made: Callable[[], Tricks], said: str) -> None:
    with pytest.raises(InputError, match=said):
        made()


def test_a_trick_without_a_color_is_an_error_where_it_is_defined() -> None:
    with pytest.raises(TypeError, match="color"):
        trick("magic", "Nobody 2030")  # type: ignore[call-arg]
    assert all(re.fullmatch("#[0-9A-F]{6}", color) for color in COLORS.values())
    assert len(set(COLORS.values())) == len(COLORS)


def test_numbers_are_fields_of_config_whose_docstrings_name_their_tricks() -> None:
    (config,) = (node for node in ast.parse((LIBRARY / "config.py").read_text()).body if isinstance(node, ast.ClassDef))
    named_in: dict[str, list[str]] = {}
    for line, said in pairwise(config.body):
        if isinstance(line, ast.AnnAssign) and isinstance(said, ast.Expr):
            words = re.findall(r"\(([a-z_, ]+)\)", ast.literal_eval(said.value))
            named_in[ast.unparse(line.target)] = [
                name for group in words for name in group.split(", ") if name in NEEDS
            ]
    for f in fields(Config):
        assert named_in[f.name] == [name for name in NEEDS if f.name in HYPERPARAMETERS[name]], f.name
    assert {number for numbers in HYPERPARAMETERS.values() for number in numbers} <= named_in.keys()


def test_diagnostics_are_those_of_the_core_and_of_the_tricks_in_the_order_of_stored_curves() -> None:
    stored = (
        *("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "max_ratio", "explained_variance"),
        *("grad_norm", "auxiliary_loss", "clone_kl", "policy_age", "value_age"),
        *("learning_rate", "eval_return", "reward", "clip_range", "return_mean", "return_std"),
    )
    further = [name for brought in DIAGNOSTICS.values() for name in brought if name not in stored]
    assert (*stored, *further, "action_std", "action_clip_fraction") == learning_curve.DIAGNOSTICS


@pytest.mark.parametrize("name", [name for name, brought in DIAGNOSTICS.items() if brought])
def test_a_trick_brings_its_diagnostics(name: str) -> None:
    config = Config("ShortCartPole-v0", seeds=1, steps=130, lanes=2, horizon=16, hidden=(4,), aux_every=1)
    having = train(config, switched(closed([name]))).curve
    without = train(config, switched([other for other in closed([name]) if other != name])).curve
    for column in DIAGNOSTICS[name]:
        assert having[column].notna().any(), column
        assert without[column].isna().all(), column


def test_a_diagnostic_that_nobody_named_is_an_error_and_the_table_shows_every_flag_and_its_paper() -> None:
    with pytest.raises(KeyError, match="no diagnostic 'luck': name it in its trick's field"):
        log.Log(Config(seeds=1)).note(luck=torch.zeros(1))
    shown = " ".join(table().split())
    assert all(f.name in shown and f.metadata["paper"] in shown for f in fields(Tricks))
