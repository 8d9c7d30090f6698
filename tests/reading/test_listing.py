"""What is printed is what runs."""

import ast
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.commands import ruff
from support.settings import SETTINGS

from tricks import EVERY, PPO, REINFORCE, Config, InputError, Tricks, diff, listing, train
from tricks.fast.dispatch import plain
from tricks.ladder import rungs

CONFIG = Config(env="ShortCartPole-v0", seeds=2, steps=300, lanes=4, horizon=16, group=2)


def test_executing_a_listing_gives_the_same_curve(setting: Tricks, home: str) -> None:
    module: dict[str, Any] = {}
    exec(listing(setting), module)
    config = replace(CONFIG, env=home)
    with plain():
        run, expected = module["train"](config), train(config, setting)
    pd.testing.assert_frame_equal(run.curve, expected.curve)
    assert run.tricks == setting


def test_comments_and_blank_lines_are_kept() -> None:
    text = listing(PPO)
    for comment in ("# collect experience with the current policy", "# how good was each action?"):
        assert f"  {comment}" in text
    assert "# only now, so that the first" in listing(EVERY)
    assert "# only now" not in text
    assert "# a time limit is a cut" not in text


def test_a_listing_of_some_functions_has_these_as_they_stand_in_the_whole() -> None:
    some = listing(PPO, "judge", "train")
    assert [node.name for node in ast.parse(some).body if isinstance(node, ast.FunctionDef)] == ["judge", "train"]
    assert all(part.strip() in listing(PPO) for part in some.split("\n\n\n"))
    with pytest.raises(InputError, match="no function 'lern': it has build_agent, build, train, play, judge, learn"):
        listing(REINFORCE, "train", "lern")


def test_each_rung_changes_a_few_lines() -> None:
    for before, after in pairwise(rungs()):
        changed = [line[0] for line in diff(before, after).splitlines()[2:] if line[0] in "+-"]
        most = {"baseline": 20, "reuse": 7, "return_norm": 5}.get(after.on[-1], 4)  # one for tasks, one for the start
        assert 1 <= changed.count("+") <= most, after.on[-1]
        assert changed.count("-") <= min(2, changed.count("+")), after.on[-1]


def stored(statement: ast.stmt) -> set[str]:
    """The names that a plain assignment sets."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}


def loaded(statement: ast.AST) -> set[str]:
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    return {name.id for name in names if isinstance(name.ctx, ast.Load)}


def test_a_listing_has_no_flag_left_imports_only_what_it_uses_and_forgets_no_value(setting: Tricks) -> None:
    text = listing(setting)
    tree = ast.parse(text)
    assert "tricks." not in text.split("def train")[1]
    assert "def train(config: Config) -> Run:" in text
    assert "heckpoints" not in text
    ranges = {"clip_range": setting.clip, "clip_high": setting.clip_higher, "value_clip_range": setting.value_clip}
    assert {name: f"t.{name} = " in text or f"t.{name}, " in text for name in ranges} == ranges
    names = [alias.asname or alias.name for node in tree.body for alias in getattr(node, "names", [])]
    assert all(text.count(name) > 1 for name in names)
    blocks = [body for node in ast.walk(tree) if isinstance(body := getattr(node, "body", None), list)]
    for block in blocks:
        for i, first in enumerate(block):
            for name in stored(first):
                for later in block[i + 1 :]:
                    if name in loaded(later):
                        break
                    assert name not in stored(later), ast.unparse(first)
    assert {name for block in blocks for line in block for name in stored(line)} <= loaded(tree) | {"TRICKS"}


def test_listings_are_formatted(tmp_path: Path) -> None:
    for name, setting in SETTINGS.items():
        (tmp_path / f"{name}.py").write_text(listing(setting))
    assert ruff("format", "--diff", str(tmp_path)) == ""


def test_the_diff_of_equal_flags_is_empty_and_others_are_named() -> None:
    assert diff(PPO, PPO) == ""
    assert diff(REINFORCE, PPO).startswith("--- reinforce\n+++ baseline, reuse, clip")
