"""state_norm: CartPole in badly chosen units.

The cart's position is in millimeters from a wall 5 m away, and its speed in millimeters per second; the pole's angle is
in full turns, and its speed in turns per second. The task is otherwise the same. The milder worlds use centimeters,
decimeters, or meters.

Why: a tanh unit with inputs in the thousands is saturated from the start and passes no gradient, while the decisive
input is measured in thousandths of a turn. Standardizing fixes both (Andrychowicz et al. 2020, arXiv:2006.05990, C64).
Predicted: better with, and by more the smaller the unit of length.

Seen on seeds 100 to 119: state_norm better with, by far more in decimeters than in meters, and beyond that by little
more.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor

from tricks.worlds.cartpole import CARTPOLE
from tricks.worlds.world import World

WALL, TURN = 5.0, math.tau  # m, rad per turn
MILLI = 1000  # units of length per meter


def measured(units: int) -> World:
    """CartPole with `units` units of length to the meter, and angles in turns."""

    def observe(state: Tensor) -> Tensor:
        """x [units from the wall], ẋ [units/s], θ [turns], θ̇ [turns/s]."""
        x, x_dot, theta, theta_dot = CARTPOLE.observe(state).unbind(-1)
        return torch.stack([units * (x + WALL), units * x_dot, theta / TURN, theta_dot / TURN], -1)

    return replace(CARTPOLE, id=f"tricks/CartPoleOddUnits{'' if units == MILLI else units}-v0", observe=observe)


ODD_UNITS, MILDER_UNITS = measured(MILLI), tuple(measured(units) for units in (1, 10, 100))
