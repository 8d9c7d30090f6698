"""The compiled functions, run as Python, agree with the formulas, too: what mutation testing changes takes effect here.

Python also checks each index of an array. It takes about a thousand times as long, so there is little of everything.
"""

from dataclasses import replace
from typing import cast

import numpy as np
import pytest
import torch

pytest.importorskip("numba")
from support.draws import FORMS, Draw
from support.draws import assert_alike as assert_form
from support.interpreted import interpreted
from support.learners import FLAGS, Learner
from support.learners import assert_alike as assert_learned

from tricks import PPO, Config
from tricks.core.rollout import Player
from tricks.envs.make import make_env
from tricks.envs.tensor import TensorEnv
from tricks.fast.formulas import formula
from tricks.fused import compiled_losses as code
from tricks.fused.playing import play_episodes, play_segment
from tricks.ladder import closed, switched
from tricks.loop import build_agent
from tricks.state_norm import ObsStats


@pytest.mark.parametrize("form", FORMS)
def test_single_forms(form: str) -> None:
    with interpreted():
        for seed in range(12):
            assert_form(getattr(Draw(f"{form} {seed}", usual=True), form)(), seed)


@pytest.mark.parametrize("seed", range(40))
def test_learning(seed: int) -> None:
    with interpreted():
        assert_learned(Learner(seed, usual=True))


@pytest.mark.parametrize(("ratio_is", "slope"), [(1.9, -1.9), (2.0, -1.0), (2.1, 0.0)])
def test_half_of_a_tie_with_the_bound_of_dual_clip_has_a_gradient(ratio_is: float, slope: float) -> None:
    single, on = np.float32, np.array([flag in ("reuse", "dual_clip") for flag in code.FLAGS])
    given = single(0), -np.log(single(ratio_is)), single(-1), on, np.full(len(code.NUMBERS), 2.0)
    value, found = code.objective.py_func(*given, np.zeros(len(code.FOUND)))
    assert (value, found) == pytest.approx((max(-ratio_is, -2), slope), rel=1e-5)


@pytest.mark.parametrize("reuse", [False, True])
@pytest.mark.parametrize("flag", FLAGS)
def test_learning_with_each_flag(flag: str, reuse: bool) -> None:
    flags = switched(closed({flag, *(["reuse"] if reuse else [])}))
    with interpreted():
        for seed in range(4):
            assert_learned(Learner(seed, flags, box=False, usual=True))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("world", ["CartPole-v0", "Acrobot-v1", "Pendulum-v1"])
def test_playing(world: str, whole: bool) -> None:
    config, found = Config(world, seeds=2, lanes=3, horizon=12, hidden=(4, 3)), []
    name = "tricks.core.rollout.play_episodes" if whole else "tricks.segments.play_segment"
    for form in (play_episodes if whole else play_segment, formula(name)):
        env = make_env(config)
        assert isinstance(env, TensorEnv)
        env._limit = 9
        agent = build_agent(env.spaces, config, replace(PPO, state_norm=True))
        stats = cast(ObsStats, agent.obs_stats)
        count, average, squares = stats.moments
        stats.moments = stats.moments._replace(rows=count + 1, mean=average + 0.01, squares=squares + 1e-5)
        with torch.no_grad():
            agent.policy_net.head.weight.mul_(30)
            agent.policy_net.head.bias[1, :, -1] = torch.nan  # of the second seed, which is always its choice
        player = Player(env, config.horizon)
        with interpreted():
            found.append([form(player, agent.policy, 12, torch.tensor([True, k == 0])) for k in range(2)])
    for mine, theirs in zip(*found, strict=True):
        assert torch.equal(mine.valid, theirs.valid)
        for column in ("obs", "action", "reward", "terminated", "truncated", "over"):
            x, y = getattr(mine, column), getattr(theirs, column)
            rows = slice(None) if column == "obs" else mine.valid
            torch.testing.assert_close(x[rows], y[rows], equal_nan=True)
