"""What a user may bring: an environment, a net; the run that was trained with them comes back with them."""

from collections.abc import Sequence
from dataclasses import replace
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


class Scaled(nn.Module):
    """The observation times one number per seed: [S, B, D] -> [S, B, D]."""

    def __init__(self, generators: Sequence[np.random.Generator], spaces: Spaces, width: int | None = None) -> None:
        super().__init__()
        self.width, self.scale = width or spaces.features, nn.Parameter(torch.ones(len(generators)))
        self.layers: list[Layer] = []

    def forward(self, obs: Tensor) -> Tensor:
        return obs * self.scale.view(-1, 1, 1)


class Unmeasured(Scaled):
    """Does not say how many features it gives."""

    def __init__(self, generators: Sequence[np.random.Generator], spaces: Spaces) -> None:
        super().__init__(generators, spaces)
        del self.width


def make() -> gym.Env:
    return gym.make("CartPole-v1")


def test_what_is_brought_is_played_and_learned_like_the_librarys_own() -> None:
    id = "ShortCartPole-v0"  # CartPole-v1 has vector rules of its own in Gymnasium
    mine = train(replace(TINY, env="my cart"), PPO, env=lambda: gym.make(id))
    pd.testing.assert_frame_equal(mine.curve, train(replace(TINY, env=id), PPO).curve)
    mine = train(TINY, PPO, body=lambda generators, spaces: Dense(generators, (spaces.features, *TINY.hidden)))
    pd.testing.assert_frame_equal(mine.curve, train(TINY, PPO).curve)


def test_a_body_may_have_one_number_per_seed_and_learns_it() -> None:
    scale = dict(train(TINY, REINFORCE, body=Scaled).agent.policy_net.named_parameters())["body.scale"]
    assert scale.shape == (2,)
    assert (scale != 1).all()
    assert scale[0] != scale[1]


def test_a_run_comes_back_with_what_was_brought_and_says_what_is_missing() -> None:
    run, obs = train(TINY, PPO, env=make, body=Scaled), np.ones((2, 1, 4), np.float32)
    run.save("x")
    with pytest.raises(InputError, match="body="):
        load("x", env=make)
    back = load("x", env=make, body=Scaled)
    assert (back.agent.act(obs) == run.agent.act(obs)).all()
    np.testing.assert_array_equal(back.evaluate(2), run.evaluate(2))


@pytest.mark.parametrize(
    ("brought", "said"),
    [
        ({"body": 3}, "must be a function"),
        ({"body": lambda generators, spaces: nn.Linear(4, 2)}, "with a width and layers, not Linear"),
        ({"body": Unmeasured}, "with a width and layers, not Unmeasured"),
        (
            {"body": lambda generators, spaces: Scaled(generators, spaces, 99)},
            r"maps observations \[2, 3, 4\] to \[2, 3, 4\]; \[S, B, width\] is \[2, 3, 99\]",
        ),
        ({"body": lambda generators, spaces: Scaled(generators[:1], spaces)}, "must lead with the seed axis"),
        ({"env": "CartPole-v1"}, "must be a function that makes a gymnasium.Env"),
        ({"env": lambda: 3}, "must make a gymnasium.Env, not int"),
        ({"env": type("Old", (), {"__module__": "gym.envs"})}, "gymnasium.Env, not Old; shimmy turns environments"),
    ],
)
def test_what_does_not_fit_is_one_line(brought: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        train(TINY, PPO, **brought)


def test_an_environment_of_ones_own_needs_a_backend_for_it() -> None:
    with pytest.raises(InputError, match="needs gymnasium or processes"):
        train(replace(TINY, backend="tensor"), PPO, env=make)
