"""grad_clip: huge rewards that are taken back one step later.

CartPole, where one step in SELDOM pays SIZE more or SIZE less, with equal probability, and the next step takes it back.
A step that ends the episode by a fall pays no shock; one on the last step before the time limit stays. So returns from
before a shock and after it are those of CartPole, and so are nearly all scores.

Why: one batch in four holds a shock, and its gradient is larger than the usual one by orders of magnitude. Adam's
second moments remember it for about a thousand steps, and all that time divide by it. A limit on the norm keeps both
the step and this memory small (Pascanu et al. 2012, arXiv:1211.5063). Predicted: better with, the more so the larger
the shocks.

Seen on seeds 100 to 119: grad_clip better with, and by more the larger the shocks.
"""

from dataclasses import replace

import torch
from torch import Tensor

from tricks.worlds.cartpole import CARTPOLE
from tricks.worlds.world import World

SELDOM = 4096


def initial(chance: Tensor) -> Tensor:
    """CartPole's initial state, and no debt. [..., 4] -> [..., 5]."""
    return torch.cat([CARTPOLE.initial(chance), torch.zeros_like(chance[..., :1])], -1)


def observe(state: Tensor) -> Tensor:
    """CartPole's observation, without the debt."""
    return CARTPOLE.observe(state[..., :4])


def shocked(size: float) -> World:
    """The world with shocks of this size."""

    def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """CartPole's step, with a shock now and then, and the last one taken back."""
        debt = state[..., 4]
        state, reward, terminated = CARTPOLE.dynamics(state[..., :4], action, chance)
        up, down = chance[..., 0] < 0.5 / SELDOM, chance[..., 0] >= 1 - 0.5 / SELDOM
        shock = (up.float() - down.float()) * (debt == 0) * ~terminated
        return torch.cat([state, shock.unsqueeze(-1)], -1), reward + size * (shock - debt).double(), terminated

    return replace(
        CARTPOLE,
        id=f"tricks/CartPoleShockPairs{size:g}-v0",
        initial=initial,
        dynamics=dynamics,
        observe=observe,
        step_chances=1,
    )


SHOCK_PAIRS = tuple(shocked(size) for size in (1e3, 1e4, 1e5))
