"""What cannot be trained or acted on is refused in one line that names it, or the extra that installs it."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, cast

import gymnasium as gym
import numpy as np
import pytest
import torch

from tricks import PPO, Config, InputError, train
from tricks.config import PerSeed
from tricks.core.agent import Agent
from tricks.core.extras import advice
from tricks.core.per_seed import per_seed
from tricks.core.spaces import Spaces

CART = Spaces("Cart", gym.spaces.Box(-1, 1, (4,)), gym.spaces.Discrete(2))
GRID = Spaces("Grid", gym.spaces.Discrete(5, start=1), gym.spaces.Box(-1, 1, (1,)))


def agent(spaces: Spaces = CART, seeds: int = 1) -> Agent:
    return Agent(spaces, Config(seeds=seeds, hidden=(4,)))


@pytest.mark.parametrize(
    ("obs", "said"),
    [
        ([np.nan] * 4, r"observations must be finite, not \[nan, nan, nan, nan\]"),
        ([np.inf] * 4, "observations must be finite"),
        ([0.0] * 3, r"observations of Cart are \[4\], \[N, ...\] or \[S, N, ...\] of these; not \[3\]"),
        (np.zeros((1, 1, 1, 4)), r"not \[1, 1, 1, 4\]"),
        (np.zeros((2, 3, 4)), r"observations of 1 agents must be \[S, N, ...\], with S = 1, not \[2, 3, 4\]"),
        ("left", "observations must be an array of numbers, not 'left'"),
        ([[0.0] * 4, [0.0] * 3], "observations must be an array of numbers"),
        (None, "observations must be an array of numbers, not None"),
    ],
)
def test_observations_that_are_none(obs: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        agent().act(obs)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        *[(lambda obs=obs: agent(GRID).act(obs), "Grid are whole numbers from 1 to 5") for obs in (0, 6, 2.5)],
        (lambda: agent().act(np.zeros(4), legal=[False] * 2), r"legal leaves no action: \[False, False\]"),
        (lambda: agent().act(np.zeros(4), legal=[True]), r"legal must be \[2\], one entry for each action, not \[1\]"),
        (lambda: agent().act(np.zeros(4), legal="ab"), "legal must be an array of numbers, not 'ab'"),
        (lambda: agent(GRID).act(np.array(1), legal=np.array([True])), "Grid has Box actions, which are all legal"),
        (lambda: agent().act(np.zeros(4), rng=cast(Any, 3)), "rng must be a np.random.Generator or None, not 3"),
        (lambda: agent()[cast(Any, "first")], "k must be a whole number, not 'first'"),
    ],
)
def test_masks_generators_and_indices_that_do_not_fit(act: Callable[[], Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        act()


def test_what_is_left_is_legal_and_lists_and_tensors_are_arrays() -> None:
    for action in (0, 1):
        mask = [action == 0, action == 1]
        assert agent().act([0.0] * 4, legal=mask) == action
        assert agent().act(torch.zeros(4), legal=torch.tensor(mask)) == action
    assert agent(seeds=2).act(np.zeros((2, 3, 4))).shape == (2, 3)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("CartPole-v7", "CartPole-v1"),
        ("Nonsense-v0", "cannot make the environment 'Nonsense-v0'"),
        ("Talking-v0", "Talking-v0 has a Text observation space, .* gymnasium.wrappers.TransformObservation"),
        ("BrokenObs-v0", r"BrokenObs-v0: the observation is not finite \(seed 0, step 3 of rollout 0\)"),
        ("BrokenReward-v0", r"BrokenReward-v0: the reward is not finite \(seed 0, step 2 of rollout 0\)"),
    ],
)
def test_an_environment_that_cannot_be_trained_in_is_named(env: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        train(Config(env, seeds=1, steps=100, lanes=1, horizon=16), PPO)


@pytest.mark.parametrize(
    ("message", "extra"),
    [
        ("Box2D is not installed, you can install it by run `pip install swig` followed by ...", "box2d"),
        ('MuJoCo is not installed, run `x "y"`', "mujoco"),
        ("pygame is not installed, run x", "play"),
        ("opencv is not installed,\n run x", ""),  # no extra is about drawing with it
        ("MuJoCo has diverged", ""),
    ],
)
def test_every_missing_package_has_its_advice(message: str, extra: str) -> None:
    said = f'{message.split(",")[0]}; install it with: pip install "ppo-tricks[{extra}]"'
    assert advice(ImportError(message)) == (said if extra else message.replace("\n", ""))


@pytest.mark.parametrize("name", [f.name for f in fields(Config) if f.type == PerSeed])
def test_there_are_as_many_numbers_as_seeds_or_one(name: str) -> None:
    usual, two = getattr(Config, name), Config(seeds=2)
    with pytest.raises(InputError, match=f"{name} must be one number or one for each of 2 seeds"):
        replace(two, **{name: (usual,) * 3})  # type: ignore[arg-type]
    both = replace(two, **{name: (usual, usual)})  # type: ignore[arg-type]
    assert both.each(name) == (usual, usual)
    assert getattr(both.only(1), name) == usual


def test_one_number_stays_as_it_is_and_several_become_a_column() -> None:
    like = torch.zeros(2, 3, 4, dtype=torch.float64)
    assert per_seed(0.5, like) == 0.5
    column = per_seed((0.1, 0.2), like)
    assert isinstance(column, torch.Tensor)
    assert (column.shape, column.dtype, column.flatten().tolist()) == ((2, 1, 1), torch.float64, [0.1, 0.2])
    assert per_seed((0.1, 0.2), torch.zeros(2)).shape == (2,)  # type: ignore[union-attr]
