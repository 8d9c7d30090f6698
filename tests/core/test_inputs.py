"""What an agent cannot act on is refused in one line."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from tricks import Config, InputError
from tricks.core.agent import Agent
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


@pytest.mark.parametrize("obs", [0, 6, 2.5])
def test_a_discrete_observation_out_of_range(obs: float) -> None:
    with pytest.raises(InputError, match="observations of Grid are whole numbers from 1 to 5"):
        agent(GRID).act(obs)


@pytest.mark.parametrize(
    ("legal", "said"),
    [
        ([False, False], r"legal leaves no action: \[False, False\]"),
        ([True], r"legal must be \[2\], one entry for each action, not \[1\]"),
        ("ab", "legal must be an array of numbers, not 'ab'"),
    ],
)
def test_masks_that_do_not_fit(legal: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        agent().act(np.zeros(4), legal=legal)
    with pytest.raises(InputError, match="Grid has Box actions, which are all legal"):
        agent(GRID).act(np.array(1), legal=np.array([True]))


def test_what_is_left_is_legal_and_lists_and_tensors_are_arrays() -> None:
    for action in (0, 1):
        mask = [action == 0, action == 1]
        assert agent().act([0.0] * 4, legal=mask) == action
        assert agent().act(torch.zeros(4), legal=torch.tensor(mask)) == action
    assert agent(seeds=2).act(np.zeros((2, 3, 4))).shape == (2, 3)


def test_a_generator_and_an_index_of_another_kind() -> None:
    with pytest.raises(InputError, match=r"rng must be a np.random.Generator or None, not 3"):
        agent().act(np.zeros(4), rng=3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="k must be a whole number, not 'first'"):
        agent()["first"]  # type: ignore[index]
