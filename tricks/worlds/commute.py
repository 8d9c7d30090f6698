"""bootstrap: an unobserved time limit that is shorter than the way to the reward.

A line of CELLS one-hot cells. Lanes keep their position when an episode ends, so the walk never restarts. Each step at
the left end pays LITTLE, at the right end 1. Episodes are cut after LIMIT steps, wherever the lane is, so an episode's
return is LIMIT times the rate at which the lane earns.

The idea: if the cut counts as a death, the right end is out of sight from the left, more than LIMIT steps away, and the
walk never pays for its first step. V of the state at the cut says what the rest is worth (Pardo et al. 2018,
arXiv:1712.00378, sec. 3). Predicted: better with.

Seen on seeds 100 to 119: bootstrap no detectable effect. Tuning chose a rate so large that an agent's way is settled
after its first few updates, with or without the trick, and about half of them go to the right end. In the world
`shuttle`, the way to the reward is easier to find.
"""

import torch
from torch import Tensor

from tricks.worlds.walks import move, row_of_cells

CELLS, LITTLE, LIMIT = 21, 0.1, 10


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Move one cell left (0) or right (1), up to the end of the line; the new cell pays."""
    state = move(state, right=action, cells=CELLS)
    left, right = state[..., 0] == 0, state[..., 0] == CELLS - 1
    return state, LITTLE * left.double() + right.double(), torch.zeros_like(left)


COMMUTE = row_of_cells("tricks/Commute-v0", CELLS, dynamics, time_limit=LIMIT, carried=1)
