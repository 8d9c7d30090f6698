"""MountainCar on tensors. Moore 1990, PhD thesis, Cambridge (UCAM-CL-TR-209); Gymnasium's constants."""

import math

import gymnasium as gym
import torch
import torch.nn.functional as F
from torch import Tensor

from tricks.worlds.world import World

FORCE, GRAVITY = 0.001, 0.0025  # per step, on a road whose height is sin(3x)
WALL, END, GOAL, SPEED_LIMIT = -1.2, 0.6, 0.5, 0.07


def initial(chance: Tensor) -> Tensor:
    """x uniform in [-0.6, -0.4), at rest. [..., 1] -> [..., 2]."""
    return F.pad(chance * 0.2 - 0.6, (0, 1))


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Push left (0), not at all (1) or right (2) for one step; every step costs 1, and the wall stops the car."""
    x, x_dot = state.unbind(-1)
    x_dot = x_dot.add(action - 1, alpha=FORCE).sub((3 * x).cos(), alpha=GRAVITY).clamp(-SPEED_LIMIT, SPEED_LIMIT)
    x = (x + x_dot).clamp(WALL, END)
    x_dot = x_dot.masked_fill((x <= WALL) & (x_dot < 0), 0)
    terminated = (x >= GOAL) & (x_dot >= 0)
    return torch.stack([x, x_dot], -1), torch.full_like(x, -1, dtype=torch.float64), terminated


def observe(state: Tensor) -> Tensor:
    """The full state: x and ẋ (per step)."""
    return state


MOUNTAIN_CAR = World(
    id="MountainCar-v0",
    observation=gym.spaces.Box(-math.inf, math.inf, (2,)),
    action=gym.spaces.Discrete(3),
    initial=initial,
    dynamics=dynamics,
    observe=observe,
    reset_chances=1,
    time_limit=200,
)
