"""Random numbers that no environment gets from the run: each lane has its own, and what cannot be seeded is said."""

# ruff: noqa: NPY002 - legacy generators are what these tests are about

import random
from collections.abc import Callable
from dataclasses import replace
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
from tricks.runs import opening

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
    monkeypatch.setattr(opening, "SAID", set())


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
    make, config = (lambda: Drawing(DRAWS[name], in_reset)), Config("own", seeds=(3, 8), lanes=3)
    one, many, again = (seen(replace(config, backend=backend), make) for backend in (*BACKENDS, "auto"))
    assert torch.equal(one, many)
    assert torch.equal(one, again)
    first = one[:, 1].reshape(6, 2)  # after a step
    assert len(first[:, 0].unique()) == len(first[:, 1].unique()) == 6
    assert torch.equal(seen(replace(config, seeds=(8,)), make)[0], one[1])


@pytest.mark.parametrize("name", DRAWS)
def test_the_user_s_own_generators_are_left_alone(name: str) -> None:
    def drawn(meanwhile: Callable[[], object]) -> float:
        np.random.seed(1)
        random.seed(1)
        torch.manual_seed(1)
        meanwhile()
        return DRAWS[name]()

    train_it = lambda: train(SMALL, PPO, env=lambda: Drawing(DRAWS[name]))  # noqa: E731
    assert drawn(train_it) == drawn(lambda: None)


@pytest.mark.parametrize("tricks", [REINFORCE, PPO], ids=["episodes", "segments"])
def test_a_curve_is_the_same_again_and_in_any_backend(tricks: Any) -> None:
    curves = list[pd.DataFrame]()
    for backend in (*BACKENDS, "gymnasium"):
        random.seed(len(curves))
        curves.append(train(replace(SMALL, backend=backend), tricks, env=lambda: Drawing(random.random)).curve)
    for other in curves[1:]:
        pd.testing.assert_frame_equal(curves[0], other)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (held.InModule, "InModule draws from support.generators.RNG, which no seed reaches: use self.np_random"),
        (held.InClass, "InClass draws from support.generators.InClass.rng, which no seed reaches"),
        (held.Unseeded, "Unseeded begins another episode when it is reset with the same seed"),
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_no_seed_reaches_is_said_once(
    make: Any, said: str, backend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        train(replace(SMALL, env=Config.env, backend=backend), PPO, env=make)
    assert sum(line.startswith(said) for line in capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("env", ["Acrobot-v1", "Pendulum-v1", "FrozenLake-v1", "Blackjack-v1"])
def test_gymnasium_s_own_have_nothing_to_say(env: str, capsys: pytest.CaptureFixture[str]) -> None:
    train(Config(env, seeds=1, steps=40, lanes=2, horizon=10, minibatches=1, backend="gymnasium"), PPO)
    assert "seed" not in capsys.readouterr().err
