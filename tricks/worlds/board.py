"""A board of SIDE × SIDE cells, on which a game shows each kind of thing in a plane of its own."""

from collections.abc import Sequence

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

SIDE = 10


def cell(row: Tensor, column: Tensor) -> Tensor:
    """A plane with one cell marked, or none if the row is off the board. [...] each -> [..., SIDE²] bool."""
    marked: Tensor = (SIDE * row + column).unsqueeze(-1) == torch.arange(SIDE * SIDE, device=row.device)
    return marked


def picked(chance: Tensor, count: int) -> Tensor:
    """A whole number from 0 to count − 1, from a chance in [0, 1). float32, the same shape."""
    return (chance * count).floor()


def images(planes: Sequence[Tensor]) -> Tensor:
    """One channel per plane, 1 where something is and 0 elsewhere. [..., SIDE²] each -> uint8 [..., C, SIDE, SIDE]."""
    stacked = torch.stack([plane.to(torch.uint8) for plane in planes], -2)
    return stacked.view(*stacked.shape[:-1], SIDE, SIDE)


def image_space(channels: int) -> gym.spaces.Box:
    """The space of `images` of so many planes."""
    return gym.spaces.Box(0, 1, (channels, SIDE, SIDE), np.uint8)
