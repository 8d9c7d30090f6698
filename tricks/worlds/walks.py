"""Shared parts of worlds in which the agent walks left or right along a row of cells and observes its cell."""

from functools import partial

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.world import Dynamics, World


def at(cell: int, chance: Tensor) -> Tensor:
    """Start every lane at this cell. [..., 0] -> [..., 1]."""
    return chance.new_full((*chance.shape[:-1], 1), cell)


def move(state: Tensor, right: Tensor, cells: int) -> Tensor:
    """Move one cell to the right if `right` [S, N] is 1 or True, otherwise to the left, up to the end of the row."""
    return (state + (2 * right - 1).unsqueeze(-1)).clamp(0, cells - 1)


def one_hot(state: Tensor, cells: int) -> Tensor:
    """The cell, one-hot. [..., 1] -> [..., cells]."""
    return torch.nn.functional.one_hot(state[..., 0].long(), cells).float()


def row_of_cells(
    id: str, cells: int, dynamics: Dynamics, time_limit: int, start: int = 0, step_chances: int = 0, carried: int = 0
) -> World:
    """A world whose state is a cell, shown one-hot, with two actions."""
    return World(
        id=id,
        observation=gym.spaces.Box(0, 1, (cells,)),
        action=gym.spaces.Discrete(2),
        initial=partial(at, start),
        dynamics=dynamics,
        observe=partial(one_hot, cells=cells),
        reset_chances=0,
        step_chances=step_chances,
        time_limit=time_limit,
        carried=carried,
    )
