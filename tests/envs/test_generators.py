"""Random numbers that no environment gets from the run: each lane has its own, and what cannot be seeded is said."""

# ruff: noqa: NPY002 - legacy generators are what these tests are about

import random
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
import support.generators as held
import torch
from gymnasium.spaces import Box, Discrete

from tricks import PPO, REINFORCE, Config, train
from tricks.envs.make import make_env
from tricks.runs import remarks

DRAWS: dict[str, Callable[[], float]] = {
    "numpy": lambda: float(np.random.uniform()),
    "random": random.random,
    "torch": lambda: float(torch.rand(())),
    "numpy seeded by hand": lambda: float(np.random.RandomState(np.random.randint(2**31)).uniform()),
}
SMALL = Config("own", seeds=(3, 8), steps=120, lanes=3, horizon=10, epochs=1, minibatches=2, hidden=(8,))
BACKENDS = ("gymnasium", "processes")


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remarks, "SAID", set())


class Drawing(gym.Env):
    """Draws from a global generator when it is made, reset (or not), and stepped; episodes of four steps."""

    observation_space = Box(-np.inf, np.inf, (2,), np.float32)
    action_space = Discrete(2)

    def __init__(self, draw: Callable[[], float], in_reset: bool = True) -> None:
        self.draw, self.in_reset, self.made = draw, in_reset, draw()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.t = 0
        return np.array([self.made, self.draw() if self.in_reset else 0], np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.t += 1
        return np.array([self.made, x := self.draw()], np.float32), x, self.t == 4, False, {}


def seen(config: Config, make: Callable[[], gym.Env], steps: int = 6) -> torch.Tensor:
    """Everything that is observed, [S, steps + 1, N, D]."""
    env = make_env(config, make=make)
    shown, everyone = [env.now.obs], torch.ones(len(env.seeds)) > 0
    for _ in range(steps):
        shown.append(env.step(torch.zeros(len(env.seeds), env.lanes, dtype=torch.int64), everyone).obs)
    env.close()
    return torch.stack(shown, 1)


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("in_reset", [True, False])
def test_no_two_lanes_share_draws_and_workers_draw_what_one_process_does(name: str, in_reset: bool) -> None:
    make = lambda: Drawing(DRAWS[name], in_reset)  # noqa: E731
    config = Config("own", seeds=(3, 8), lanes=3)
    one, many = (seen(Config(**vars(config) | {"backend": backend}), make) for backend in BACKENDS)
    assert torch.equal(one, many)
    assert torch.equal(one, seen(config, make))
    first = one[:, 1].reshape(6, 2)  # after a step
    assert len(first[:, 0].unique()) == len(first[:, 1].unique()) == 6
    alone = seen(Config("own", seeds=(8,), lanes=3), make)
    assert torch.equal(alone[0], one[1])


@pytest.mark.parametrize("name", DRAWS)
def test_the_user_s_own_generators_are_left_alone(name: str) -> None:
    def seed() -> None:
        np.random.seed(1)
        random.seed(1)
        torch.manual_seed(1)

    seed()
    before = DRAWS[name]()
    seed()
    train(SMALL, PPO, env=lambda: Drawing(DRAWS[name]))
    assert DRAWS[name]() == before


@pytest.mark.parametrize("tricks", [REINFORCE, PPO], ids=["episodes", "segments"])
def test_a_curve_is_the_same_again_and_in_any_backend(tricks: Any) -> None:
    curves = list[pd.DataFrame]()
    for backend in (*BACKENDS, "gymnasium"):
        random.seed(len(curves))
        config = Config(**vars(SMALL) | {"backend": backend})
        curves.append(train(config, tricks, env=lambda: Drawing(random.random)).curve)
    pd.testing.assert_frame_equal(curves[0], curves[1])
    pd.testing.assert_frame_equal(curves[0], curves[2])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (held.InModule, r"InModule draws from support.generators.RNG, which no seed reaches: use self.np_random"),
        (held.InClass, r"InClass draws from support.generators.InClass.rng, which no seed reaches"),
        (held.Unseeded, r"Unseeded begins another episode when it is reset with the same seed"),
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_no_seed_reaches_is_said_once(
    make: Any, said: str, backend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        train(Config(**vars(SMALL) | {"env": Config.env, "backend": backend}), PPO, env=make)
    lines = [line for line in capsys.readouterr().err.splitlines() if "seed" in line]
    assert len([line for line in lines if line.startswith(said.replace("\\", ""))]) == 1


@pytest.mark.parametrize("env", ["Acrobot-v1", "Pendulum-v1", "FrozenLake-v1", "Blackjack-v1"])
def test_gymnasium_s_own_have_nothing_to_say(env: str, capsys: pytest.CaptureFixture[str]) -> None:
    train(Config(env, seeds=1, steps=40, lanes=2, horizon=10, minibatches=1, backend="gymnasium"), PPO)
    assert "seed" not in capsys.readouterr().err
