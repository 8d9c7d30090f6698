"""Solutions to the chapter on PopArt. `python -m chapters.solutions.12_popart` checks them.

Exercise 2. b' = (0 + 0 - 10**4) / 10**-4 = -10**8. Float32 numbers of that size are 8 apart, so W' h + b' would be a
multiple of 8: outputs that should differ by tenths would all be rounded to the same number, and the gradient steps of
0.001 would be rounded away as well. Therefore the bias, and with it the output, is float64 in this library.

Exercise 3. The bias stays b, where it should become b * sigma / sigma'. After the move, V is sigma' b + ... instead of
sigma b + ..., so every V(s) has shifted by b * (sigma' - sigma), the same amount everywhere. As long as sigma stands
still, that is nothing; when it grows a thousandfold, it is a lot. Each gradient phase pulls the values back, and the
next move shifts them again. The check: compute V for any states before and after the move, and compare.
"""

import numpy as np
import torch

from chapters.exercises.popart import check_rescaled, rescale_head_
from tricks.core.moments import ReturnStats, denormalize
from tricks.core.nets import mlp
from tricks.core.seeds import stream


def rescaled(weight, bias, old, new):
    (mean, std), (new_mean, new_std) = old, new
    return weight * std / new_std, (std * bias + mean - new_mean) / new_std


check_rescaled(rescaled)

assert np.spacing(np.float32(1e8)) == 8
print("Right: float32 numbers near 10⁸ are 8 apart.")

net, states = mlp([stream(0, "init")], (2, 8, 1), exact=True), torch.randn(1, 5, 2)
one = torch.ones(1, dtype=torch.float64)
old, new = ReturnStats(0 * one, one), ReturnStats(3 * one, 100 * one)  # σ from 1 to 10
bias = net.layers[-1][1].item()
before = denormalize(net(states), old)
rescale_head_(net, old, new)
shift = denormalize(net(states), new) - before
torch.testing.assert_close(shift, torch.full_like(shift, 9 * bias), rtol=1e-4, atol=1e-5)
print("Right: every value has shifted by b(σ′ − σ).")
