"""entropy: a small reward near by, and a large one far away.

A corridor of CELLS cells, one-hot, entered at cell START. Its left end pays NEAR, its right end FAR, and either ends
the episode; every step costs COST.

Why: whoever strolls about pays more on the way to the far end than it brings, so an undecided policy does better by
going left, makes that likelier still, and forgets how to look. The bonus keeps it looking until the far end has been
found often enough to count (Williams & Peng 1991, 10.1080/09540099108946587; Mnih et al. 2016, arXiv:1602.01783).
Predicted: better with.

Seen on seeds 0 to 9: entropy better with.
"""

from torch import Tensor

from tricks.worlds.cells import move, row_of_cells

CELLS, START, NEAR, FAR, COST = 16, 2, 0.1, 1.0, 0.03


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One cell to the left (0) or to the right (1), for COST."""
    state = move(state, right=action, cells=CELLS)
    left, right = state[..., 0] == 0, state[..., 0] == CELLS - 1
    return state, NEAR * left.double() + FAR * right.double() - COST, left | right


CORRIDOR = row_of_cells("tricks/Corridor-v0", CELLS, dynamics, time_limit=200, start=START)
