"""bootstrap: a time limit that is shorter than the way, and that nobody sees.

A line of CELLS cells, one-hot, that is never left: where a lane stands is carried over its resets. Standing at the
left end pays LITTLE a step, at the right end 1. An episode is cut after LIMIT steps, in the middle of things, so its
return is LIMIT times the rate at which the lane earns.

Why: if the cut counts as a death, nothing that is more than LIMIT steps away is worth anything, and the walk from the
left end to the right one is never worth its first step; V of the state that was cut off says what the rest is worth
(Pardo et al. 2018, arXiv:1712.00378, sec. 3). Predicted: better with.

Seen on seeds 0 to 9: bootstrap no detectable effect; both arms earn 1.8 to 1.9 of 10, and staying at the left end
earns 1. To find the right end is the harder part.
"""

import torch
from torch import Tensor

from tricks.worlds.cells import move, row_of_cells

CELLS, LITTLE, LIMIT = 21, 0.1, 10


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One cell to the left (0) or to the right (1), as far as the line goes; the cell that is reached pays."""
    state = move(state, right=action, cells=CELLS)
    left, right = state[..., 0] == 0, state[..., 0] == CELLS - 1
    return state, LITTLE * left.double() + right.double(), torch.zeros_like(left)


COMMUTE = row_of_cells("tricks/Commute-v0", CELLS, dynamics, time_limit=LIMIT, carried=1)
