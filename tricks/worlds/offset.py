"""baseline: rewards that are almost the same for all actions.

A cue, −1 or 1, is drawn at every step. The action that matches it pays 1, and every step pays OFFSET on top; episodes
have LENGTH steps. The offset does not change which action is best, but it dominates the return: each choice decides 1
out of a return of about 100.

Why: without a baseline, the gradient of a step is ∇log π(a|s)·Gₜ, and its variance grows with E[Gₜ²], including the
offset. V(s), which sees the time left, removes the offset and keeps the expectation the same (Williams 1992,
10.1007/BF00992696). Predicted: better with, and worse with value_clip, which slows V's way to 100.

Seen on seeds 100 to 119: baseline no detectable effect; value_clip no detectable effect after the correction for all
trials, though its interval, −1.9 to −0.1, lies below 0. A fifth to a quarter of the width of both intervals is the
noise of choosing the arms' rates.
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
    """Pay OFFSET, plus 1 if the action matches the cue, then draw the next cue."""
    cue, time = state.unbind(-1)
    reward = OFFSET + (action == cue).double()
    state = torch.stack([chance[..., 0].round(), time + 1], -1)
    return state, reward, time + 1 >= LENGTH


def observe(state: Tensor) -> Tensor:
    """The cue as −1 or 1, and the fraction of time left."""
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
