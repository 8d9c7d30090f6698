"""baseline: rewards that are all much the same, whatever is done.

A cue, −1 or 1, is drawn at every step. The action that matches it pays 1, and every step pays OFFSET on top, in
episodes of LENGTH steps. So the offset changes nothing about what is best, and everything about the return: of a
return of 100, one step's choice decides 1.

Why: without a baseline the gradient of a step is ∇log π(a|s)·Gₜ, and its variance grows with E[Gₜ²], offset included;
V(s), which sees the time left, takes the offset out and leaves the expectation (Williams 1992, 10.1007/BF00992696).
Predicted: better with, and worse with value_clip, which keeps V from getting to 100 soon.

Seen on seeds 0 to 9: baseline no detectable effect; value_clip no detectable effect.
"""

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.world import World

LENGTH, OFFSET = 10, 10.0


def initial(chance: Tensor) -> Tensor:
    """Cue 0 or 1, and time 0. [..., 1] -> [..., 2]."""
    return torch.cat([chance.round(), torch.zeros_like(chance)], -1)


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """OFFSET, and 1 more for the action that is the cue; then the next cue."""
    cue, time = state.unbind(-1)
    reward = OFFSET + (action == cue).double()
    state = torch.stack([chance[..., 0].round(), time + 1], -1)
    return state, reward, time + 1 >= LENGTH


def observe(state: Tensor) -> Tensor:
    """The cue as −1 or 1, and the share of the time that is left."""
    cue, time = state.unbind(-1)
    return torch.stack([2 * cue - 1, 1 - time / LENGTH], -1)


OFFSET_REWARD = World(
    id="tricks/OffsetReward-v0",
    observation=gym.spaces.Box(-1, 1, (2,)),
    action=gym.spaces.Discrete(2),
    initial=initial,
    dynamics=dynamics,
    observe=observe,
    reset_chances=1,
    step_chances=1,
)
