"""Learning in a few compiled calls equals the loop's `learn`, and gives way to what was edited or replaced."""

from dataclasses import replace
from functools import partial
from operator import mul
from typing import Any

import gymnasium as gym
import pandas as pd
import pytest
import torch
from gymnasium.wrappers import TransformReward
from support.learners import compiled_losses
from support.settings import SMALL, drawn_from

from tricks import PPO, Config, Tricks, train
from tricks.fast.dispatch import plain
from tricks.ladder import NEEDS, PRESETS, closed, named, rungs

pytest.importorskip("numba")
ENVS = ("Restless-v0", BOX := "RestlessBox-v0")
SETS = {f"ladder up to {rung.on[-1]}" if rung.on else "no flag": rung for rung in rungs()} | PRESETS
PLAIN = {"recurrent", "squash"}  # have no compiled form
PLAIN_OBJECTIVE = {"clip_higher", "kl_penalty", "reply_mean", "reply_ratio"}  # nor has a policy_loss with these
SETS |= {f"ppo and {name}": named(name) for name in NEEDS if not set(closed([name])) <= {*PPO.on, "imitate"}}


def assert_both_forms_agree(config: Config, flags: Tricks) -> list[bool]:
    """Train in both forms, and compare curves and weights; returns whether each loss was compiled."""
    with plain():
        theirs = train(config, flags)
    with compiled_losses() as found:
        mine = train(config, flags)
    pd.testing.assert_frame_equal(mine.curve, theirs.curve, check_exact=False, rtol=1e-4, atol=1e-5)
    for p, q in zip(mine.agent.parameters(), theirs.agent.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-4, atol=1e-5)
    return found


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("name", SETS)
def test_rungs_presets_and_flags_on_ppo_equal_the_loop(name: str, env: str) -> None:
    flags = replace(SETS[name], **{"action_mask" if env == BOX else "squash": False})
    found = assert_both_forms_agree(replace(SMALL, env=env, adam_eps=1e-3), flags)
    compiled = not PLAIN & {*flags.on} and (flags.baseline or not PLAIN_OBJECTIVE & {*flags.on})
    assert set(found) == ({True} if compiled else set())


@pytest.mark.parametrize("number", range(40))
def test_random_flags_and_numbers_equal_the_loop(number: int) -> None:
    off = {BOX: {"action_mask", "imitate", *PLAIN, *PLAIN_OBJECTIVE}, ENVS[0]: {"imitate", *PLAIN, *PLAIN_OBJECTIVE}}
    drawn = drawn_from(number, ENVS, lambda env: [name for name in NEEDS if name not in off[env]])
    assert set(assert_both_forms_agree(*drawn)) == {True}


def test_a_value_range_that_falls_with_the_ratio_s_falls_in_both_forms() -> None:
    config = replace(SMALL, env=ENVS[0], adam_eps=1e-3, value_clip_range=0.02, value_clip_anneals=True)
    assert set(assert_both_forms_agree(config, replace(PPO, value_clip=True, clip_anneal=True))) == {True}


@pytest.mark.parametrize("flags", [{"clip": False}, {}, {"dual_clip": True, "value_clip": True, "huber": True}])
def test_the_first_ratios_are_exactly_1_whatever_the_range(flags: dict[str, bool]) -> None:
    curve = train(replace(SMALL, env=ENVS[0], epochs=1, minibatches=1), replace(PPO, **flags)).curve
    assert (curve.max_ratio == 1).all()
    assert (curve.approx_kl == 0).all()


def test_a_seed_whose_numbers_are_not_finite_ends_and_the_other_learns_as_before() -> None:
    def curve(reward: float) -> Any:
        given = iter([1.0, 1.0, reward, reward])  # two lanes of each seed
        make = lambda: TransformReward(gym.make(ENVS[0]), partial(mul, next(given)))  # noqa: E731
        return train(replace(SMALL, env="own"), PPO, env=make)

    well, ill = curve(1.0), curve(1e308)
    assert [*ill.diverged] == [8]
    assert well.curve[well.curve.seed == 3].equals(ill.curve[ill.curve.seed == 3])
    assert all(p.isfinite().all() for p in ill.agent.parameters())
