"""segments: episodes so long that only a few fit into the budget.

A cue, −1 or 1, is drawn at every step; the action that matches it pays 1. Episodes have LENGTH steps; in the shorter
worlds, 100 or 500.

Why: an agent that waits for the end of the episode learns once per episode. One that cuts it every hundred steps and
lets V stand in for the rest learns many times (Mnih et al. 2016, arXiv:1602.01783, sec. 4). Predicted: better with, and
by more the longer the episodes.

Seen on seeds 100 to 119: segments better with, and by more the longer the episodes.
"""

import torch
from torch import Tensor

from tricks.worlds.cues import world_of_cues
from tricks.worlds.world import World

LENGTH = 2000


def initial(chance: Tensor) -> Tensor:
    """Cue 0 or 1. [..., 1] -> [..., 1]."""
    return chance.round()


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Pay 1 if the action matches the cue, then draw the next cue."""
    reward = (action == state[..., 0]).double()
    return chance.round(), reward, torch.zeros_like(action, dtype=torch.bool)


def marathon(length: int) -> World:
    """The world with episodes of `length` steps."""
    id = f"tricks/Marathon{'' if length == LENGTH else length}-v0"
    return world_of_cues(id, initial, dynamics, time_limit=length, step_chances=1)


MARATHON, SHORTER = marathon(LENGTH), tuple(marathon(length) for length in (100, 500))
