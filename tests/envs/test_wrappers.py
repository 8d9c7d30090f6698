"""Wrappers forward the protocol; the sign of the reward changes what is learned from, not the score."""

import math
from typing import Any

import pytest
import torch
from support.scripted import EVERYONE, NO, Scripted, column, told

from tricks import Config, InputError
from tricks.config import ATARI_CONFIG
from tricks.core.env import Env
from tricks.envs.make import make_env
from tricks.envs.wrappers import EnvWrapper, HostEnv, LifeEnds, RewardSign


@pytest.mark.parametrize("wrapped", [EnvWrapper, RewardSign, LifeEnds, lambda env: HostEnv(env, torch.device("cpu"))])
def test_a_wrapper_forwards_the_whole_protocol(wrapped: Any) -> None:
    inner = Scripted(([7.0, -3.0], [3, 3], NO))
    env: Env = wrapped(inner)
    assert (env.id, env.seeds, env.lanes, env.spaces, env.resumable) == ("x", (0,), 2, inner.spaces, True)
    assert env.masks
    assert torch.equal(env.now.obs, inner.now.obs)
    assert env.reset() is env.now
    step = env.step(torch.tensor([[1, 2]]), EVERYONE)
    assert step is env.now
    assert step.score.tolist() == [[7, -3]]
    env.load_state_dict({"steps": 5} | env.state_dict() | {"more": 1})
    assert env.state_dict() == {"steps": 0}
    assert env.now.obs.unique().tolist() == [0]
    env.load_state_dict({"steps": 5})
    assert env.now.obs.unique().tolist() == [5]
    env.close()
    assert inner.asked == ["reset", [1, 2], "close"]


def test_the_sign_is_learned_from_and_the_score_is_kept() -> None:
    steps = told(RewardSign(Scripted(([7.0, -3.0], [3, 3], NO), ([0.0, 0.5], [3, 3], NO))), 2)
    assert column(steps, "reward") == [[1, -1], [0, 1]]
    assert column(steps, "score") == [[7, -3], [0, 0.5]]


def test_a_reward_that_is_not_finite_has_no_sign_and_is_found() -> None:
    (step,) = told(RewardSign(Scripted(([math.nan, -math.inf], [3, 3], NO))), 1)
    assert math.isnan(step.reward[0, 0])
    assert step.reward[0, 1] == -math.inf


def test_without_the_switches_the_reward_is_the_score_and_only_games_end() -> None:
    env, earned = make_env(Config(env="ThreeLives-v0", seeds=1, lanes=2)), []
    for t in range(12):
        step = env.step(torch.zeros(1, 2, dtype=torch.int64), EVERYONE)
        assert torch.equal(step.reward, step.score)
        assert step.terminated.all() == step.over.all() == (t == 11)
        assert not step.truncated.any()
        earned.append(step.reward[0, 0].item())
    assert earned == [5, 5, 5, -60, 5, 5, 5, 5, 5, 5, 5, 5]


@pytest.mark.parametrize("backend", ["gymnasium", "processes", "auto"])
def test_any_environment_can_give_the_sign_of_its_reward(backend: str) -> None:
    env = make_env(Config(env="Pendulum-v1", seeds=2, lanes=2, backend=backend, reward_sign=True))
    step = env.step(torch.zeros(2, 2, 1), torch.ones(2) > 0)
    assert step.reward.unique().tolist() == [-1]
    assert (step.score < 0).all()
    assert len(step.score.unique()) == 4
    env.close()


@pytest.mark.parametrize("backend", ["auto", "gymnasium", "processes"])
def test_an_environment_without_lives_is_one_line(backend: str) -> None:
    with pytest.raises(InputError, match=r"^life_ends: CartPole-v1 does not report lives$"):
        make_env(Config(seeds=1, lanes=1, backend=backend, life_ends=True))


def test_the_preset_for_atari_has_both_switches_and_nothing_else_has() -> None:
    assert (ATARI_CONFIG.reward_sign, ATARI_CONFIG.life_ends) == (True, True)
    assert (Config().reward_sign, Config().life_ends) == (False, False)
