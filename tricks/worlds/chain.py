"""gae: a reward far away, behind rewards that are only noise.

A chain of CELLS cells, one-hot. Action 1 moves along it and action 0 back, in odd cells the other way round, so that
every cell must be learned by itself. The last cell pays GOAL and ends the episode; every step pays noise of mean 0 and
standard deviation NOISE.

Why: the Monte Carlo return sums the noise of all steps to come, the TD error holds that of one step, but leans on a V
that is wrong until the goal has spread through it, one cell at a time. λ trades the variance against the bias
(Schulman et al. 2015, arXiv:1506.02438, sec. 3). Predicted: better with, and best at a λ that is neither 0 nor 1.

Seen on seeds 0 to 9: gae at λ = 0.9 no detectable effect; gae at λ = 0 worse with.
"""

from torch import Tensor

from tricks.worlds.cells import move, row_of_cells
from tricks.worlds.chance import noise

CELLS, GOAL, NOISE = 16, 10.0, 3.0


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One cell along (1) or back (0), in odd cells the other way round, as far as the chain goes."""
    state = move(state, right=action != state[..., 0] % 2, cells=CELLS)
    terminated = state[..., 0] == CELLS - 1
    return state, GOAL * terminated + noise(chance[..., 0].double(), NOISE), terminated


NOISY_CHAIN = row_of_cells("tricks/NoisyChain-v0", CELLS, dynamics, time_limit=100, step_chances=1)
