"""What a user may bring: an environment, a net; the run that was trained with them comes back with them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn

from tricks import PPO, REINFORCE, Config, InputError, load, train
from tricks.core.nets import Dense, Layer
from tricks.core.spaces import Spaces

TINY = Config(seeds=(3, 1), steps=400, lanes=2, horizon=32, hidden=(8,), backend="gymnasium")


def same_body(generators: Sequence[np.random.Generator], spaces: Spaces) -> Dense:
    """What the library itself would make."""
    return Dense(generators, (spaces.features, *TINY.hidden))


class Scaled(nn.Module):
    """The observation times one number per seed: [S, B, D] -> [S, B, D]."""

    def __init__(self, generators: Sequence[np.random.Generator], spaces: Spaces) -> None:
        super().__init__()
        self.width, self.scale = spaces.features, nn.Parameter(torch.ones(len(generators)))
        self.layers: list[Layer] = []

    def forward(self, obs: Tensor) -> Tensor:
        return obs * self.scale.view(-1, 1, 1)


def test_an_environment_from_a_function_is_played_like_the_same_one_from_an_id() -> None:
    id = "ShortCartPole-v0"  # CartPole-v1 has vector rules of its own in Gymnasium
    mine = train(Config(**vars(TINY) | {"env": "my cart"}), PPO, env=lambda: gym.make(id))
    pd.testing.assert_frame_equal(mine.curve, train(Config(**vars(TINY) | {"env": id}), PPO).curve)


def test_a_body_that_is_the_librarys_own_learns_the_same() -> None:
    pd.testing.assert_frame_equal(train(TINY, PPO, body=same_body).curve, train(TINY, PPO).curve)


def test_a_body_may_have_one_number_per_seed_and_learns_it() -> None:
    scale = dict(train(TINY, REINFORCE, body=Scaled).agent.policy_net.named_parameters())["body.scale"]
    assert scale.shape == (2,)
    assert (scale != 1).all()
    assert scale[0] != scale[1]


def test_a_run_comes_back_with_what_was_brought_and_says_what_is_missing(tmp_path: Path) -> None:
    def make() -> gym.Env:
        return gym.make("CartPole-v1")

    run, obs = train(TINY, PPO, env=make, body=Scaled), np.ones((2, 1, 4), np.float32)
    run.save(tmp_path)
    with pytest.raises(InputError, match="body="):
        load(tmp_path, env=make)
    back = load(tmp_path, env=make, body=Scaled)
    assert (back.agent.act(obs) == run.agent.act(obs)).all()
    np.testing.assert_array_equal(back.evaluate(2), run.evaluate(2))


class Wide(Scaled):
    """Promises more features than it gives."""

    def __init__(self, generators: Sequence[np.random.Generator], spaces: Spaces) -> None:
        super().__init__(generators, spaces)
        self.width = 99


class Unmeasured(Scaled):
    """Does not say how many features it gives."""

    def __init__(self, generators: Sequence[np.random.Generator], spaces: Spaces) -> None:
        super().__init__(generators, spaces)
        del self.width


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (3, "must be a function"),
        (lambda generators, spaces: nn.Linear(4, 2), "with a width and layers, not Linear"),
        (Unmeasured, "with a width and layers, not Unmeasured"),
        (Wide, r"maps observations \[2, 3, 4\] to \[2, 3, 4\]; \[S, B, width\] is \[2, 3, 99\]"),
        (lambda generators, spaces: Scaled(generators[:1], spaces), "must lead with the seed axis"),
    ],
)
def test_a_body_that_does_not_fit_is_one_line(body: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        train(TINY, PPO, body=body)


@pytest.mark.parametrize(
    ("env", "backend", "said"),
    [
        ("CartPole-v1", "gymnasium", "must be a function that makes a gymnasium.Env"),
        (lambda: 3, "gymnasium", "must make a gymnasium.Env, not int"),
        (lambda: gym.make("CartPole-v1"), "tensor", "needs gymnasium or processes"),
    ],
)
def test_an_environment_that_does_not_fit_is_one_line(env: Any, backend: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        train(Config(**vars(TINY) | {"backend": backend}), PPO, env=env)
