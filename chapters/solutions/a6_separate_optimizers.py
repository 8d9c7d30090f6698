"""Solution to the chapter on separate optimizers. `python -m chapters.solutions.a6_separate_optimizers` checks it.

Exercise 1. Tripling the coefficient triples the value net's gradients, and Adam divides them by three times as much:
nothing happens, as long as they are well above its epsilon. Tripling the factor triples the steps.
"""

import math

import torch

from tricks.core.adam import Adam


def way(coefficient, rate):
    """How far ten steps of Adam take a parameter whose gradient is this coefficient."""
    place = torch.zeros(1, 1)  # [S, P]
    optimizer = Adam([place], eps=1e-5)
    for _ in range(10):
        optimizer.step(torch.full((1, 1), coefficient), torch.tensor([rate]), moving=torch.tensor([True]))
    return place.item()


assert math.isclose(way(3.0, 0.01), way(1.0, 0.01), rel_tol=1e-4)
assert math.isclose(way(1.0, 0.03), 3 * way(1.0, 0.01), rel_tol=1e-4)
print("Right: a factor of the gradient changes nothing, and one of the learning rate changes the steps.")
