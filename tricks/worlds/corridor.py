"""entropy: a small reward near by, and a large one far away.

A corridor of CELLS cells, one-hot, entered at cell START. Its left end pays NEAR, its right end FAR, and either ends
the episode; every step costs COST.

Why: whoever strolls about pays more on the way to the far end than it brings, so an undecided policy does better by
going left, makes that likelier still, and forgets how to look. The bonus keeps it looking until the far end has been
found often enough to count (Williams & Peng 1991, 10.1080/09540099108946587; Mnih et al. 2016, arXiv:1602.01783).
Predicted: better with.

Seen on seeds 0 to 9: entropy better with.
"""

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.world import World

CELLS, START, NEAR, FAR, COST = 16, 2, 0.1, 1.0, 0.03


def initial(chance: Tensor) -> Tensor:
    """Cell START. [..., 0] -> [..., 1]."""
    return chance.new_full((*chance.shape[:-1], 1), START)


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One cell to the left (0) or to the right (1), for COST."""
    state = (state + (2 * action - 1).unsqueeze(-1)).clamp(0, CELLS - 1)
    left, right = state[..., 0] == 0, state[..., 0] == CELLS - 1
    return state, NEAR * left.double() + FAR * right.double() - COST, left | right


def observe(state: Tensor) -> Tensor:
    """The cell, one-hot."""
    return torch.nn.functional.one_hot(state[..., 0].long(), CELLS).float()


CORRIDOR = World(
    id="tricks/Corridor-v0",
    observation=gym.spaces.Box(0, 1, (CELLS,)),
    action=gym.spaces.Discrete(2),
    initial=initial,
    dynamics=dynamics,
    observe=observe,
    reset_chances=0,
    time_limit=200,
)
