"""recurrent: a corridor with a cue at its start and a choice at its end.

Only the first observation of an episode shows the cue, −1 or 1. LENGTH steps later comes the choice: the action that
matches the cue pays 1, and the episode ends. What the agent does in between makes no difference. Without a corridor, at
a length of 0, cue and choice are in the same observation.

Why: at the choice, every observation is the same. An agent that acts on it alone is right half of the time; one with a
state can carry the cue along (Bakker 2001, "Reinforcement Learning with Long Short-Term Memory", NeurIPS 14, whose maze
is a T). Predicted: no difference without a corridor, and better with where there is one, although a longer one takes
longer to learn.

Seen on seeds 100 to 119: recurrent better with, at a length of 2 by nearly all that can be gained, and at 8 by less.
Without a corridor, nothing is detected.
"""

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.world import World


def initial(chance: Tensor) -> Tensor:
    """The cue, −1 or 1, and the first cell. [..., 1] -> [..., 2]."""
    return torch.cat([2 * chance.round() - 1, torch.zeros_like(chance)], -1)


def corridor(length: int) -> World:
    """The world with a corridor so long."""

    def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Go on by one cell, or at the end, pay 1 if the action matches the cue."""
        cue, cell = state.unbind(-1)
        over = cell == length
        return torch.stack([cue, cell + 1], -1), (over & (action == (cue > 0))).double(), over

    def observe(state: Tensor) -> Tensor:
        """The cue, if this is the first cell, or else 0; and whether this is the last one."""
        cue, cell = state.unbind(-1)
        return torch.stack([cue * (cell == 0), (cell == length).float()], -1)

    return World(
        id=f"tricks/Recall{length}-v0",
        observation=gym.spaces.Box(-1, 1, (2,)),
        action=gym.spaces.Discrete(2),
        initial=initial,
        dynamics=dynamics,
        observe=observe,
        reset_chances=1,
    )


RECALLS = tuple(corridor(length) for length in (0, 2, 8))
