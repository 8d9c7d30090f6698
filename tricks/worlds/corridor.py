"""entropy: a small reward nearby and a large one far away.

A corridor of CELLS one-hot cells, entered at cell START, or in Corridor1 at cell 1. The left end pays NEAR, the right
end pays FAR, and either one ends the episode; every step costs COST.

Why: a random walk to the far end costs more than the reward there. So an undecided policy does better by going left;
that makes going left more likely, and the policy stops exploring. The bonus keeps it exploring until it has found the
far end often enough to matter (Williams & Peng 1991, 10.1080/09540099108946587; Mnih et al. 2016, arXiv:1602.01783).
Predicted: better with.

Seen on seeds 100 to 119: in Corridor1 at a learning rate of 0.01, entropy better with, and again on seeds 120 to 139;
in the other, at tuned rates, entropy no detectable effect. There, 7 of 20 agents find the far end without the bonus.
"""

from torch import Tensor

from tricks.worlds.walks import move, row_of_cells

CELLS, START, NEAR, FAR, COST = 16, 2, 0.1, 1.0, 0.03


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Move one cell left (0) or right (1), at a cost of COST."""
    state = move(state, right=action, cells=CELLS)
    left, right = state[..., 0] == 0, state[..., 0] == CELLS - 1
    return state, NEAR * left.double() + FAR * right.double() - COST, left | right


CORRIDOR = row_of_cells("tricks/Corridor-v0", CELLS, dynamics, time_limit=200, start=START)
DOORSTEP = row_of_cells("tricks/Corridor1-v0", CELLS, dynamics, time_limit=200, start=1)  # beside the small reward
