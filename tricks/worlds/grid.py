"""action_mask: a small grid with many actions that do nothing.

The path leads through SIZE × SIZE cells from one corner to the opposite one, which pays 1 and ends the episode. Four
actions move; `useless` others are illegal: they do nothing and cost PENALTY.

Why: without the mask, a policy must learn from the penalty alone which actions are illegal, in every state. The more
of them there are, the less often it moves at first: 4 times in 4 + useless. With the mask, their number does not matter
(Huang & Ontañón 2020, arXiv:2006.14171). Predicted: no effect at 0, and better with the more there are.

Seen on seeds 100 to 119: action_mask better with, and by more the more illegal actions there are.
"""

from functools import partial

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.world import World

SIZE, PENALTY = 5, 0.01
RIGHT, DOWN, LEFT, UP = range(4)
MOVES = 4


def initial(chance: Tensor) -> Tensor:
    """Row 0, column 0. [..., 0] -> [..., 2]."""
    return chance.new_zeros(*chance.shape[:-1], 2)


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Move one cell right, down, left or up, within the grid; an illegal action costs PENALTY instead."""
    down = (action == DOWN).float() - (action == UP).float()
    right = (action == RIGHT).float() - (action == LEFT).float()
    state = (state + torch.stack([down, right], -1)).clamp(0, SIZE - 1)
    terminated = (state == SIZE - 1).all(-1)
    return state, terminated.double() - PENALTY * (action >= MOVES).double(), terminated


def observe(state: Tensor) -> Tensor:
    """Row and column, scaled to [−1, 1]."""
    return 2 * state / (SIZE - 1) - 1


def legal(state: Tensor, actions: int) -> Tensor:
    """The four moves, in every state."""
    return (torch.arange(actions, device=state.device) < MOVES).expand(*state.shape[:-1], actions)


def grid(useless: int) -> World:
    """The grid with `useless` illegal actions."""
    actions = MOVES + useless
    return World(
        id=f"tricks/Grid{useless}-v0",
        observation=gym.spaces.Box(-1, 1, (2,)),
        action=gym.spaces.Discrete(actions),
        initial=initial,
        dynamics=dynamics,
        observe=observe,
        reset_chances=0,
        time_limit=100,
        legal=partial(legal, actions=actions),
    )


GRIDS = tuple(grid(useless) for useless in (0, 10, 20, 40, 60))
