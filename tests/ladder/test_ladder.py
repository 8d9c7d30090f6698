"""The ladder: needs, presets, and that every flag has its file, its test, and its place in the loop."""

import ast
import re
from dataclasses import fields
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
# these act in several places: before the epochs and within them, or have something to set up
TIMES = {"baseline": 2, "reuse": 2, "return_norm": 2, "ppg": 5, "ppg_buffers": 4, "kl_stop": 2, "state_norm": 2}
TIMES |= {"reward_scaling": 2, "separate_optimizers": 4, "grad_clip": 2}  # and each of two optimizers has its gradient
TIMES |= {"recurrent": 4, "squash": 2}


def test_an_unmet_need_names_both_flags() -> None:
    with pytest.raises(InputError, match="popart needs return_norm"):
        Tricks(baseline=True, popart=True)
    with pytest.raises(InputError, match="unknown trick magic"):
        switched(["magic"])


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


def test_flags_that_exclude_each_other_are_both_named() -> None:
    with pytest.raises(InputError, match="ppg cannot be combined with shared_trunk"):
        switched([*PPO.on, "ppg", "shared_trunk"])


@pytest.mark.parametrize("name", NEEDS)
def test_every_trick_has_a_file_that_names_it_and_a_test(name: str) -> None:
    assert (LIBRARY / f"{FILES[name]}.py").read_text().splitlines()[0].split(":")[0].find(name) > 0
    assert (Path(__file__).parent / f"test_{FILES[name]}.py").exists()


@pytest.mark.parametrize("name", NEEDS)
def test_every_flag_is_tested_bare_in_the_loop(name: str) -> None:
    loop = (LIBRARY / "loop.py").read_text()
    tests = re.findall(rf"^ *(?!from).*\btricks\.{name}\b.*$", loop, re.MULTILINE)
    assert [test.split("#")[0].strip() for test in tests] == [f"if tricks.{name}:"] * TIMES.get(name, 1)


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


def test_names_stand_for_presets_and_rungs() -> None:
    assert named("ppo") == PPO
    assert named("clip").on == ("baseline", "reuse", "clip")
    assert named("shared_trunk").on == (*PPO.on, "shared_trunk")
    assert named("ppg_buffers").on == (*PPO.on, "ppg", "ppg_buffers")
    with pytest.raises(InputError, match="unknown rung 'ppoo'"):
        named("ppoo")


def test_flags_may_be_added_to_a_name_with_what_they_need() -> None:
    assert named("ppg+kl_stop").on == (*named("ppg").on, "kl_stop")
    assert named("reinforce+popart+clip").on == ("baseline", "reuse", "clip", "return_norm", "popart")
    with pytest.raises(InputError, match="unknown trick klstop"):
        named("ppg+klstop")


def test_a_mistyped_name_gets_a_suggestion_and_nonsense_gets_none() -> None:
    for name, meant in (
        ("lr-aneal", "lr_anneal"),
        ("return-norm", "return_norm"),
        ("reinforse", "reinforce"),
        ("PPO", "ppo"),
    ):
        with pytest.raises(
            InputError, match=rf"unknown rung '{name}' \(did you mean {meant}\?\); choose reinforce, ppo"
        ):
            named(name)
    with pytest.raises(InputError, match=r"unknown trick clipp \(did you mean clip\?\); the tricks are"):
        switched(["clipp"])
    with pytest.raises(InputError, match="unknown rung 'xyz'; choose"):
        named("xyz")


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


def test_a_diagnostic_that_nobody_named_is_an_error() -> None:
    with pytest.raises(KeyError, match="no diagnostic 'luck': name it in its trick's field"):
        log.Log(Config(seeds=1)).note(luck=torch.zeros(1))


def test_the_table_shows_every_flag_and_its_paper() -> None:
    shown = " ".join(table().split())
    assert all(f.name in shown and f.metadata["paper"] in shown for f in fields(Tricks))
