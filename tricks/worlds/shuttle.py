"""bootstrap: a time limit that the agent can't see, counted as a death.

A row of CELLS one-hot cells. Walking on to the next cell pays nothing, resting pays REST, and the last cell pays PAY
at every step, whatever one does there. With probability MOVED, a step ends in a random cell. Lanes keep their place
when an episode ends, after LIMIT steps, so that the way to the last cell leads through many episodes.

Why: if the cut counts as a death, a V that can't see the clock misses what lies beyond it. With λ = 0 that is only a
discount of γ(1 − 1/LIMIT), because any step may be the last one; with λ = 1 it is a wall, at most LIMIT steps away, and
0.95 is close to that. V of the state at the cut says what comes after (Pardo et al. 2018, arXiv:1712.00378, sec. 3).
Predicted: better with, the more so the shorter the limit.

Seen on seeds 100 to 119: bootstrap better with, at a limit of 4, by 8% of the best score; at 16 and 64, by little. At
4, the arm without it has a tenth of the other's rate.
"""

from functools import partial

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.walks import one_hot
from tricks.worlds.world import World

CELLS, REST, PAY, MOVED = 21, 0.01, 0.1, 0.02


def anywhere(chance: Tensor) -> Tensor:
    """A random cell. [..., 1] -> [..., 1]."""
    return (chance * CELLS).floor()


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Walk on to the next cell (1) or rest (0), and be paid for where one is; sometimes, be moved after that."""
    cell = (state[..., 0] + action).clamp(max=CELLS - 1)
    reward = torch.where(cell == CELLS - 1, PAY, REST * (action == 0).to(cell)).double()
    cell = torch.where(chance[..., 0] < MOVED, anywhere(chance[..., 1]), cell)
    return cell.unsqueeze(-1), reward, torch.zeros_like(cell, dtype=torch.bool)


def limited(limit: int) -> World:
    """The world whose episodes have so many steps."""
    return World(
        id=f"tricks/Shuttle{limit}-v0",
        observation=gym.spaces.Box(0, 1, (CELLS,)),
        action=gym.spaces.Discrete(2),
        initial=anywhere,
        dynamics=dynamics,
        observe=partial(one_hot, cells=CELLS),
        reset_chances=1,
        step_chances=2,
        time_limit=limit,
        carried=1,
    )


SHUTTLES = tuple(limited(limit) for limit in (4, 16, 64))
