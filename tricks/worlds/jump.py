"""popart: CartPole whose rewards grow a thousandfold in the middle of training.

Every lane carries a clock of its steps over its resets (those that it takes while it waits for the end of a batch
count too); once it has counted JUMP steps, a step pays SCALE instead of 1. The clock cannot be seen.

Why: when the returns' scale moves, a standardized value net (return_norm) is asked for other numbers than a moment
before and says, in units of reward, something else than it did; rescaling its head together with the statistics leaves
what it says in place (van Hasselt et al. 2016, arXiv:1602.07714, proposition 1). Predicted: better with.

Seen on seeds 0 to 9: popart no detectable effect. A reason that fits: when all returns grow by one factor, the head
that is left as it is grows with the statistics and is right at once; the preserved one says what was true before.
"""

from dataclasses import replace

import torch
from torch import Tensor

from tricks.worlds.cartpole import CARTPOLE

JUMP, SCALE = 1500, 1000.0


def initial(chance: Tensor) -> Tensor:
    """CartPole's, and a clock at 0. [..., 4] -> [..., 5]."""
    return torch.cat([CARTPOLE.initial(chance), torch.zeros_like(chance[..., :1])], -1)


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """CartPole's step, at the pay of the time."""
    clock = state[..., 4]
    state, reward, terminated = CARTPOLE.dynamics(state[..., :4], action, chance)
    reward = torch.where(clock < JUMP, reward, SCALE * reward)
    return torch.cat([state, clock.unsqueeze(-1) + 1], -1), reward, terminated


def observe(state: Tensor) -> Tensor:
    """CartPole's, without the clock."""
    return CARTPOLE.observe(state[..., :4])


REWARD_JUMP = replace(
    CARTPOLE, id="tricks/CartPoleJump-v0", initial=initial, dynamics=dynamics, observe=observe, carried=1
)
