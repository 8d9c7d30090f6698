"""MuJoCo's robots are the same in Gymnasium and in EnvPool: starts, transitions, rewards, ends and time limits."""

import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from scipy.stats import ks_2samp

from tricks import Config, InputError
from tricks.core.env import Env
from tricks.envs.make import make_env

ROBOTS = ("Hopper-v5", "Walker2d-v5", "HalfCheetah-v5")
CHANCE = 1e-6  # p-values below this are not chance


@pytest.fixture
def _both() -> None:
    pytest.importorskip("mujoco")
    pytest.importorskip("envpool")


def lanes(id: str, backend: str, count: int) -> Env:
    return make_env(Config(env=id, backend=backend, seeds=(3,), lanes=count))


def actions(env: Env, rng: np.random.Generator) -> torch.Tensor:
    """Gaussian, as an untrained policy's: a third of them are beyond the bounds. [1, N, A]."""
    return torch.from_numpy(rng.standard_normal((1, env.lanes, env.spaces.actions), dtype=np.float32))


def random_returns(id: str, backend: str, episodes: int) -> list[float]:
    """Returns of the first episodes with Gaussian actions."""
    env, rng, returns = lanes(id, backend, 10), np.random.default_rng(0), list[float]()
    total = torch.zeros(1, env.lanes, dtype=torch.float64)
    while len(returns) < episodes:
        step = env.step(actions(env, rng), torch.ones(1) > 0)
        total += step.reward
        returns += total[step.over].tolist()
        total[step.over] = 0
    env.close()
    return returns


@pytest.mark.usefixtures("_both")
@pytest.mark.parametrize("id", ROBOTS)
def test_a_transition_of_envpool_is_gymnasiums_from_the_same_state_with_the_clipped_action(id: str) -> None:
    pool, rng, ends = lanes(id, "envpool", 8), np.random.default_rng(0), 0
    robots: list[Any] = [gym.make(id, disable_env_checker=True).unwrapped for _ in range(pool.lanes)]
    positions, box = robots[0].model.nq, robots[0].action_space
    assert pool.spaces.observation.shape == robots[0].observation_space.shape
    assert np.array_equal([pool.spaces.action.low, pool.spaces.action.high], [box.low, box.high])  # type: ignore[attr-defined]
    for _ in range(100):
        before, action = pool.now, actions(pool, rng)
        after = pool.step(action, torch.ones(1) > 0)
        for k in (~before.resetting[0]).nonzero()[:, 0].tolist():
            obs = before.obs[0, k].double().numpy()
            if id == "HalfCheetah-v5" or (np.abs(obs) < 10).all():  # the others show no velocity beyond ±10
                robots[k].set_state(np.append(0.0, obs[: positions - 1]), obs[positions - 1 :])
            seen, reward, terminated, *_ = robots[k].step(np.clip(action[0, k].double().numpy(), -1, 1))
            np.testing.assert_allclose(after.obs[0, k], seen, rtol=1e-3, atol=1e-3)
            assert after.reward[0, k].item() == pytest.approx(reward, abs=1e-4)
            assert after.terminated[0, k].item() == terminated
            ends += int(terminated)
    assert (ends > 20) == (id != "HalfCheetah-v5")  # whose episodes only end at the time limit
    for env in (pool, *robots):
        env.close()


@pytest.mark.usefixtures("_both")
@pytest.mark.parametrize("id", ROBOTS)
def test_episodes_start_alike(id: str) -> None:
    starts = []
    for backend in ("gymnasium", "envpool"):
        env = lanes(id, backend, 100)
        starts.append(torch.cat([env.reset().obs[0] for _ in range(5)]).numpy())
        env.close()
    for one, other in zip(*(start.T for start in starts), strict=True):
        assert ks_2samp(one, other).pvalue > CHANCE


@pytest.mark.usefixtures("_both")
@pytest.mark.parametrize("id", ["Hopper-v5", "Walker2d-v5"])
def test_returns_of_random_actions_are_alike(id: str) -> None:
    one, other = (random_returns(id, backend, 300) for backend in ("gymnasium", "envpool"))
    assert ks_2samp(one, other).pvalue > CHANCE
    assert ks_2samp(one, np.add(other, np.std(other))).pvalue < CHANCE  # so it would notice another reward


@pytest.mark.parametrize("id", ROBOTS)
def test_both_have_the_same_time_limit(id: str) -> None:
    envpool = pytest.importorskip("envpool")
    assert envpool.make_spec(id).config.max_episode_steps == gym.spec(id).max_episode_steps == 1000


@pytest.mark.usefixtures("_both")
@pytest.mark.parametrize("backend", ["gymnasium", "envpool"])
def test_the_time_limit_of_1000_steps_truncates_and_does_not_terminate(backend: str) -> None:
    env, rng = lanes("HalfCheetah-v5", backend, 1), np.random.default_rng(0)
    steps = [env.step(actions(env, rng), torch.ones(1) > 0) for _ in range(1000)]
    assert [t for t, step in enumerate(steps, start=1) if step.truncated.any()] == [1000]
    assert not any(step.terminated.any() for step in steps)
    env.close()


@pytest.mark.parametrize("backend", ["gymnasium", "processes"])
def test_without_mujoco_the_extra_is_named(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("gymnasium.envs.mujoco")]:
        monkeypatch.delitem(sys.modules, name)  # imports MuJoCo
    monkeypatch.setitem(sys.modules, "mujoco", None)
    advice = r"^cannot make the environment 'Hopper-v5': MuJoCo is not installed; "
    with pytest.raises(InputError, match=advice + r'install it with: pip install "ppo-tricks\[mujoco\]"$'):
        lanes("Hopper-v5", backend, 1)
