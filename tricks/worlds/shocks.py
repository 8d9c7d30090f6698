"""grad_clip: rare, huge rewards of either sign that mean nothing.

CartPole, where one step in SELDOM pays SIZE more or SIZE less, with equal probability. The shocks have mean 0, so the
task is the same.

Why: a batch with a shock has a gradient many times the usual size. Adam's second moments remember it for about a
thousand steps, and all that time divide by it. A limit on the norm keeps both the step and this memory small (Pascanu
et al. 2012, arXiv:1211.5063). Predicted: better with.

Seen on seeds 100 to 119: grad_clip no detectable effect. Tuning gave both arms a rate of 0.03, at which shocks of this
size may cost little; `pairs` has larger ones.
"""

from dataclasses import replace

from torch import Tensor

from tricks.worlds.cartpole import CARTPOLE

SIZE, SELDOM = 1000.0, 4096


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """CartPole's step, with an occasional shock."""
    state, reward, terminated = CARTPOLE.dynamics(state, action, chance)
    up, down = chance[..., 0] < 0.5 / SELDOM, chance[..., 0] >= 1 - 0.5 / SELDOM
    return state, reward + SIZE * (up.double() - down.double()), terminated


SHOCKS = replace(CARTPOLE, id="tricks/CartPoleShocks-v0", dynamics=dynamics, step_chances=1)
