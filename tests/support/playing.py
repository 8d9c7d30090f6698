"""Worlds played by chance, or with actions decided beforehand."""

import numpy as np
import torch
from torch import Tensor

from tricks.worlds.world import World

NEVER = 0.999  # a chance at which nothing happens


def uniform(obs: Tensor, legal: Tensor) -> Tensor:
    return torch.zeros(legal.shape)


def numbers(count: int, width: int) -> Tensor:
    """Chance for `count` lanes of one seed: [1, count, width]."""
    return torch.from_numpy(np.random.default_rng(0).random((1, count, width), dtype=np.float32))


def played(world: World, action: Tensor, chance: Tensor) -> Tensor:
    """Rewards [lanes, T] of the same actions [T] in many lanes, from a reset; chance [1, lanes, T + 1]."""
    state, rewards = world.initial(chance[..., : world.reset_chances]), []
    for t, a in enumerate(action):
        now = chance[..., t + 1 : t + 2]
        state, reward, _ = world.dynamics(state, a.expand(state.shape[:2]), now)
        rewards.append(reward[0])
    return torch.stack(rewards, 1)


def one_step(world: World, state: Tensor, action: int, *chance: float) -> tuple[Tensor, float, bool]:
    """The next state, the reward, and whether the game is over, of a single lane."""
    numbers = torch.tensor([*chance, *[NEVER] * (world.step_chances - len(chance))])
    after, reward, over = world.dynamics(state.expand(1, 1, -1), torch.tensor([[action]]), numbers.expand(1, 1, -1))
    return after[0, 0], float(reward), bool(over)


def cells(world: World, state: Tensor, channel: int) -> list[tuple[int, int]]:
    return [(int(row), int(column)) for row, column in world.observe(state)[channel].nonzero()]
