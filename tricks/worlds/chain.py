"""gae, recompute: a distant reward, behind rewards that are pure noise.

A chain of CELLS one-hot cells. Action 1 moves forward and action 0 back; in odd cells it's the other way around, so
every cell must be learned separately. The last cell pays GOAL and ends the episode; every step pays noise with mean 0
and standard deviation NOISE.

Why: a Monte Carlo return sums the noise of all future steps. A TD error has the noise of one step, but it relies on a V
that is wrong until the goal's value has spread through the chain, one cell at a time. λ trades variance for bias
(Schulman et al. 2015, arXiv:1506.02438, sec. 3). Predicted: better with gae, and best at a λ that is neither 0 nor 1.
And with λ = 0 the goal's value moves one cell whenever targets are computed: better with recompute, the more so the
more epochs there are.

Seen on seeds 100 to 119: gae at λ = 0.9 no detectable effect after the correction for all trials, though its interval,
+0.02 to +0.50, lies above 0; gae at λ = 0 worse with; recompute better with. At λ = 0.9 both arms come close to GOAL,
which leaves little to gain; `tricks/Mail1-v0` has more room.
"""

from torch import Tensor

from tricks.worlds.chance import noise
from tricks.worlds.walks import move, row_of_cells

CELLS, GOAL, NOISE = 16, 10.0, 3.0


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Move one cell forward (1) or back (0), or the other way around in odd cells; the ends of the chain are walls."""
    state = move(state, right=action != state[..., 0] % 2, cells=CELLS)
    terminated = state[..., 0] == CELLS - 1
    return state, GOAL * terminated + noise(chance[..., 0].double(), NOISE), terminated


NOISY_CHAIN = row_of_cells("tricks/NoisyChain-v0", CELLS, dynamics, time_limit=100, step_chances=1)
