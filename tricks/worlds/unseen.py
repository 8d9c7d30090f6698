"""recurrent: CartPole without velocities.

Of the four numbers of CartPole's state, the agent sees all but the cart's speed, or only the two positions.

Why: without the pole's angular speed, a pole that falls to the right and one that comes back from there look the same.
A state can hold the last position, and so the speed; so do two observations side by side (`--stack 2`), but for the
last push. Without the cart's speed alone, the pole can still be balanced. Predicted: better with, and by more the more
is not seen.

Seen on seeds 100 to 119: recurrent better with, where both speeds are hidden. Where at most one is, it costs score.
"""

from dataclasses import replace

import gymnasium as gym
import numpy as np
from torch import Tensor

from tricks.worlds.cartpole import CARTPOLE
from tricks.worlds.world import World

SEEN = {1: (0, 2, 3), 2: (0, 2)}  # of x, ẋ, θ, θ̇, by how many speeds are hidden


def hidden(speeds: int) -> World:
    """CartPole with so many speeds hidden."""
    seen = list(SEEN[speeds])

    def observe(state: Tensor) -> Tensor:
        """What is left of x [m], ẋ [m/s], θ [rad], θ̇ [rad/s]."""
        return CARTPOLE.observe(state)[..., seen]

    box = gym.spaces.Box(-np.inf, np.inf, (len(seen),))
    return replace(CARTPOLE, id=f"tricks/CartPoleHidden{speeds}-v0", observation=box, observe=observe)


HIDDEN_SPEEDS = tuple(map(hidden, SEEN))
