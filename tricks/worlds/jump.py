"""popart: CartPole whose rewards grow a thousandfold in the middle of training.

Every lane has an unobserved clock that counts its steps across resets, including the steps it takes while it waits for
the end of a batch. After JUMP steps, each step pays SCALE instead of 1.

Why: when the return statistics move, the targets of a standardized value net (return_norm) shift and its predictions,
in units of reward, change with no gradient step. Rescaling the head together with the statistics keeps the predictions
in place (van Hasselt et al. 2016, arXiv:1602.07714, proposition 1). Predicted: better with.

Seen on seeds 100 to 119: popart no detectable effect. A possible reason: when all returns grow by the same factor, an
unchanged head scales with the statistics and is right at once; the preserved head keeps its outdated predictions.
"""

from dataclasses import replace

import torch
from torch import Tensor

from tricks.worlds.cartpole import CARTPOLE

JUMP, SCALE = 1500, 1000.0


def initial(chance: Tensor) -> Tensor:
    """CartPole's initial state, and a clock at 0. [..., 4] -> [..., 5]."""
    return torch.cat([CARTPOLE.initial(chance), torch.zeros_like(chance[..., :1])], -1)


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """CartPole's step, with the reward that the clock calls for."""
    clock = state[..., 4]
    state, reward, terminated = CARTPOLE.dynamics(state[..., :4], action, chance)
    reward = torch.where(clock < JUMP, reward, SCALE * reward)
    return torch.cat([state, clock.unsqueeze(-1) + 1], -1), reward, terminated


def observe(state: Tensor) -> Tensor:
    """CartPole's observation, without the clock."""
    return CARTPOLE.observe(state[..., :4])


REWARD_JUMP = replace(
    CARTPOLE, id="tricks/CartPoleJump-v0", initial=initial, dynamics=dynamics, observe=observe, carried=1
)
