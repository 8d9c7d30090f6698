"""orthogonal_init: a reward that only a policy without a preference finds.

A line of cells from −REACH to REACH, entered in the middle. Whoever has touched the left end and then comes to the
right end is paid 1, which ends the episode.

Why: from a uniform policy, this is a random walk, and takes 3·REACH² + 4·REACH² steps on average, as many as the time
limit allows. An untrained policy whose logits differ by d, be it to the left or to the right, has one of the two ways
against it, which then takes it of the order of exp(2·REACH·|d|) steps. The default initialization, U(±1/√in), starts
with such a d; a policy head of gain 0.01 and bias 0 does not (Andrychowicz et al. 2020, arXiv:2006.05990, C57).
Predicted: better with.

Seen on seeds 0 to 9: orthogonal_init no detectable effect; seeds differ too much for ten of them to tell.
"""

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.world import World

REACH = 12


def initial(chance: Tensor) -> Tensor:
    """The middle, and the left end not touched. [..., 0] -> [..., 2]."""
    return chance.new_zeros(*chance.shape[:-1], 2)


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One cell to the left (0) or to the right (1), as far as the line goes."""
    cell, touched = state.unbind(-1)
    cell = (cell + 2 * action - 1).clamp(-REACH, REACH)
    touched = touched.maximum((cell == -REACH).float())
    terminated = (cell == REACH) & (touched == 1)
    return torch.stack([cell, touched], -1), terminated.double(), terminated


def observe(state: Tensor) -> Tensor:
    """The cell's number, and REACH if the left end was touched."""
    cell, touched = state.unbind(-1)
    return torch.stack([cell, REACH * touched], -1)


THERE_AND_BACK = World(
    id="tricks/ThereAndBack-v0",
    observation=gym.spaces.Box(-REACH, REACH, (2,)),
    action=gym.spaces.Discrete(2),
    initial=initial,
    dynamics=dynamics,
    observe=observe,
    reset_chances=0,
    time_limit=1000,
)
