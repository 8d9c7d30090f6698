"""state_norm: CartPole in badly chosen units.

The cart's position is in millimeters from a wall 5 m away, and its speed in millimeters per second; the pole's angle is
in full turns, and its speed in turns per second. The task is otherwise the same.

Why: a tanh unit with inputs in the thousands is saturated from the start and passes no gradient, while the decisive
input is measured in thousandths of a turn. Standardizing fixes both (Andrychowicz et al. 2020, arXiv:2006.05990, C64).
Predicted: better with.

Seen on seeds 10 to 29: state_norm better with.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor

from tricks.worlds.cartpole import CARTPOLE

WALL, MILLI, TURN = 5.0, 1000.0, math.tau  # m, mm per m, rad per turn


def observe(state: Tensor) -> Tensor:
    """x [mm from the wall], ẋ [mm/s], θ [turns], θ̇ [turns/s]."""
    x, x_dot, theta, theta_dot = CARTPOLE.observe(state).unbind(-1)
    return torch.stack([MILLI * (x + WALL), MILLI * x_dot, theta / TURN, theta_dot / TURN], -1)


ODD_UNITS = replace(CARTPOLE, id="tricks/CartPoleOddUnits-v0", observe=observe)
