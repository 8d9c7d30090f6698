"""gae: a reward far away, behind rewards that are only noise.

A chain of CELLS cells, one-hot. Action 1 moves along it and action 0 back, in odd cells the other way round, so that
every cell must be learned by itself. The last cell pays GOAL and ends the episode; every step pays noise of mean 0 and
standard deviation NOISE.

Why: the Monte Carlo return sums the noise of all steps to come, the TD error holds that of one step, but leans on a V
that is wrong until the goal has spread through it, one cell at a time. λ trades the variance against the bias
(Schulman et al. 2015, arXiv:1506.02438, sec. 3). Predicted: better with, and best at a λ that is neither 0 nor 1.

Seen on seeds 0 to 9: gae at λ = 0.9 no detectable effect; gae at λ = 0 worse with.
"""

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.world import World

CELLS, GOAL, NOISE = 16, 10.0, 3.0


def initial(chance: Tensor) -> Tensor:
    """The first cell. [..., 0] -> [..., 1]."""
    return chance.new_zeros(*chance.shape[:-1], 1)


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One cell along (1) or back (0), in odd cells the other way round, as far as the chain goes."""
    along = action.unsqueeze(-1) != state % 2
    state = (state + 2 * along - 1).clamp(0, CELLS - 1)
    terminated = state[..., 0] == CELLS - 1
    noise = NOISE * 12**0.5 * (chance[..., 0].double() - 0.5)  # uniform, of variance NOISE²
    return state, GOAL * terminated + noise, terminated


def observe(state: Tensor) -> Tensor:
    """The cell, one-hot."""
    return torch.nn.functional.one_hot(state[..., 0].long(), CELLS).float()


NOISY_CHAIN = World(
    id="tricks/NoisyChain-v0",
    observation=gym.spaces.Box(0, 1, (CELLS,)),
    action=gym.spaces.Discrete(2),
    initial=initial,
    dynamics=dynamics,
    observe=observe,
    reset_chances=0,
    step_chances=1,
    time_limit=100,
)
