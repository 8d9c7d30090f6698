"""Environments of other packages keep the laws of the loop: those of EnvPool and of ale-py."""

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from support.fixtures import Patch, refusal
from support.playing import uniform
from torch import Tensor

from tricks import PPO, Config, train
from tricks.core.env import Env, Step
from tricks.core.rollout import Player
from tricks.envs.gymnasium import thread_count
from tricks.envs.make import make_env
from tricks.segments import play_segment
from tricks.worlds.cartpole import dynamics

BREAKOUT = Config("ALE/Breakout-v5", seeds=(3,), steps=32, lanes=2, horizon=16, reward_sign=True, life_ends=True)


@pytest.fixture(autouse=True)
def _installed(request: pytest.FixtureRequest) -> None:
    """Skip the tests whose names say that they need a package that is not there."""
    for word, packages in {"_envpool": ["envpool"], "_ale_": ["ale_py"], "_robot": ["mujoco", "envpool"]}.items():
        if word in request.node.name and None in map(find_spec, packages):  # importing ale_py would register its ids
            pytest.skip(f"{' and '.join(packages)} are not installed")


def pool(id: str, seeds: tuple[int, ...] = (3,), lanes: int = 4) -> Config:
    return Config(env=id, backend="envpool", seeds=seeds, lanes=lanes, steps=500, horizon=32)


def balance(obs: Tensor, legal: Tensor) -> Tensor:  # a controller that never falls
    push = 3 * obs[..., 2:3] + obs[..., 3:4] + 0.1 * obs[..., 0:1] + 0.3 * obs[..., 1:2]
    return 1e4 * push * torch.tensor([-1.0, 1.0])


def watch(env: Env, actions: int, rows: int, playing: Callable[[int], list[bool]]) -> list[tuple[Tensor, ...]]:
    """What seed 3 sees in `rows` of its own steps, when its actions are the same every time."""
    rng, k, t = np.random.default_rng(0), env.seeds.index(3), 0
    seen: list[tuple[Tensor, ...]] = [(env.now.obs[k],)]
    while len(seen) <= rows:
        who = torch.tensor(playing(t))
        action = torch.zeros(len(env.seeds), env.lanes, dtype=torch.int64)
        if who[k]:
            action[k] = torch.from_numpy(rng.integers(actions, size=env.lanes))
        step = env.step(action, who)
        if who[k]:
            seen.append((step.obs[k], step.resetting[k], step.reward[k], step.terminated[k], step.truncated[k]))
        t += 1
    env.close()
    return seen


def assert_same(lone: list[tuple[Tensor, ...]], stacked: list[tuple[Tensor, ...]]) -> None:
    for one, other in zip(lone, stacked, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("policy", [uniform, balance])
def test_envpool_steps_cartpole_as_the_tensor_world_does(policy: Callable[[Tensor, Tensor], Tensor]) -> None:
    rollout = play_segment(Player(make_env(pool("CartPole-v1", (0, 1))), 64), policy, 1003, torch.ones(2) > 0)
    state, reward, terminated = dynamics(rollout.obs[:, :-1], rollout.action, torch.empty(0))
    valid, ends = rollout.valid, rollout.terminated | rollout.truncated
    torch.testing.assert_close(rollout.obs[:, 1:][valid], state[valid], rtol=1e-5, atol=1e-6)
    assert torch.equal(rollout.terminated, terminated & valid) and torch.equal(rollout.reward, reward * valid)
    assert torch.equal(~valid[:, 1:], ends[:, :-1])  # every end is followed by a reset row
    assert (rollout.obs[:, 1:][~valid].abs() <= 0.05).all()
    if policy is balance:  # a time limit truncates and does not terminate
        assert not rollout.terminated.any()
        assert torch.equal(rollout.truncated.all(2)[0].nonzero().flatten(), torch.tensor([499, 1000]))
        assert torch.equal(rollout.truncated.any(2), rollout.truncated.all(2))


@pytest.mark.parametrize("id", ["FrozenLake-v1", "LunarLander-v3"])
def test_waiting_changes_nothing_of_what_a_seed_of_envpool_sees(id: str) -> None:
    lone = watch(make_env(pool(id)), 4, 150, lambda t: [True])
    stacked = watch(make_env(pool(id, (8, 3))), 4, 150, lambda t: [t % 3 != 1, t % 3 > 0])
    assert_same(lone, stacked)
    assert any(row[1].any() for row in lone[1:])


@pytest.mark.parametrize(
    "id", ["LunarLander-v3", "MiniGrid-Empty-Random-5x5-v0", "Pendulum-v1", "Hopper-v5", "Play2048-v1"]
)
def test_ppo_trains_on_envpool(id: str) -> None:
    curve = train(pool(id, (0, 1)), PPO).curve
    assert (curve.groupby("seed").step.max() >= 500).all()
    assert np.isfinite(curve[["policy_loss", "value_loss", "entropy", "grad_norm"]]).all(axis=None)
    assert curve["return"].notna().any() == (id != "Pendulum-v1")  # whose episodes take 200 steps


def test_minigrid_of_envpool_shows_its_direction_and_its_image() -> None:
    env = make_env(pool("MiniGrid-Empty-5x5-v0", (0, 1)))
    assert env.spaces.features == 4 + 7 * 7 * 3
    for heading in (0, 3, 2, 1, 0):  # action 0 turns left
        assert env.now.obs[..., :4].argmax(-1).eq(heading).all()
        image = env.now.obs[0, 0, 4:].view(3, 7, 7).movedim(0, -1)  # it is shown channels-first
        assert ((image[..., 0] == 2) == (image[..., 1] == 5)).all()  # a wall is gray
        assert (image[..., 0] == 8).sum() == (heading in (0, 1))  # the goal, east and south of the start
        env.step(torch.zeros(2, 4, dtype=torch.int64), torch.ones(2) > 0)


@pytest.mark.parametrize(
    ("id", "message"),
    [
        ("ALE/Breakout-v5", "backend envpool has no 'ALE/Breakout-v5' (did you mean Breakout-v5?)"),
        ("Nonsense", "backend envpool has no 'Nonsense'"),
        ("MiniGrid-Fetch-5x5-N2-v0", "the mission differs between episodes"),
        ("Backgammon-v1", "Backgammon-v1 has 2 players; only one is supported"),
    ],
)
def test_what_envpool_cannot_do_is_one_line(id: str, message: str) -> None:
    refusal(re.escape(message), make_env, pool(id))


def test_a_package_that_is_not_installed_is_named_with_its_extra(monkeypatch: Patch) -> None:
    for name in [name for name in sys.modules if name.startswith("gymnasium.envs.mujoco")]:
        monkeypatch.delitem(sys.modules, name)  # imports MuJoCo
    for name in ("envpool", "ale_py", "mujoco"):
        monkeypatch.setitem(sys.modules, name, None)
    for backend in ("auto", "gymnasium", "tensor"):
        make_env(Config(seeds=1, backend=backend)).close()
    robot = "^cannot make the environment 'Hopper-v5': MuJoCo is not installed; install it with:"
    for config, said, extra in (
        (pool("CartPole-v1"), "cannot import envpool .*", "envpool"),
        (BREAKOUT, "cannot import ale_py .*", "atari"),
        *((Config("Hopper-v5", backend, seeds=1, lanes=1), robot, "mujoco") for backend in ("gymnasium", "processes")),
    ):
        refusal(rf'{said} ?pip install "ppo-tricks\[{extra}\]"', make_env, config)


def test_a_seed_of_ale_among_others_equals_the_seed_alone_and_its_reset_rows_ignore_the_action() -> None:
    lone = watch(make_env(BREAKOUT), 4, 160, lambda t: [True])
    others = make_env(replace(BREAKOUT, seeds=(8, 3)))
    step, spoiled = others.step, 0

    def spoil(action: Tensor, playing: Tensor) -> Step:
        nonlocal spoiled
        spoiled += int(others.now.resetting[1].sum()) * bool(playing[1])
        return step(torch.where(others.now.resetting, 3 - action, action), playing)

    others.step = spoil  # type: ignore[method-assign]
    stacked = watch(others, 4, 160, lambda t: [t % 3 != 1, t % 3 > 0])
    assert_same(lone, stacked)
    assert spoiled > 0


def test_a_pool_has_a_thread_per_core_even_if_pytorch_has_one(monkeypatch: Patch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(5)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert thread_count() == 5
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert thread_count() == 3


ROBOTS = ("Hopper-v5", "Walker2d-v5", "HalfCheetah-v5")


def lanes(id: str, backend: str, count: int) -> Env:
    return make_env(Config(env=id, backend=backend, seeds=(3,), lanes=count))


def actions(env: Env, rng: np.random.Generator) -> torch.Tensor:
    """Gaussian, as an untrained policy's: a third of them are beyond the bounds. [1, N, A]."""
    return torch.from_numpy(rng.standard_normal((1, env.lanes, env.spaces.actions), dtype=np.float32))


@pytest.mark.parametrize("id", ROBOTS)
def test_a_robot_of_envpool_steps_as_gymnasiums_from_the_same_state_with_the_clipped_action(id: str) -> None:
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


@pytest.mark.parametrize("backend", ["gymnasium", "envpool"])
def test_the_robots_time_limit_of_1000_steps_truncates_and_does_not_terminate(backend: str) -> None:
    env, rng = lanes("HalfCheetah-v5", backend, 1), np.random.default_rng(0)
    steps = [env.step(actions(env, rng), torch.ones(1) > 0) for _ in range(1000)]
    assert [t for t, step in enumerate(steps, start=1) if step.truncated.any()] == [1000]
    assert not any(step.terminated.any() for step in steps)
    env.close()
