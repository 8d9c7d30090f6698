"""state_norm: CartPole in badly chosen units.

The cart's place is measured in millimeters from a wall 5 m away, its speed in millimeters per second; the pole's
angle in full turns, its speed in turns per second. Nothing else differs.

Why: a tanh unit that is fed numbers of thousands is saturated from the start and passes no gradient, and what decides
is a thousandth of a turn. Standardizing undoes both (Andrychowicz et al. 2020, arXiv:2006.05990, C64).
Predicted: better with.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor

from tricks.worlds.cartpole import CARTPOLE

OFFSET = torch.tensor([5000.0, 0.0, 0.0, 0.0])
SCALE = torch.tensor([1000.0, 1000.0, 1 / math.tau, 1 / math.tau])


def observe(state: Tensor) -> Tensor:
    """x [mm from the wall], ẋ [mm/s], θ [turns], θ̇ [turns/s]."""
    return OFFSET + SCALE * CARTPOLE.observe(state)


ODD_UNITS = replace(CARTPOLE, id="tricks/CartPoleOddUnits-v0", observe=observe)
