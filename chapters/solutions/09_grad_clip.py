"""Solutions to the chapter on gradient clipping. `python -m chapters.solutions.09_grad_clip` checks them.

Exercise 2. The speed is 1 / sqrt(v), so it is a half when v = 4, that is, when 0.001 * 1000**2 * 0.999**t = 3. Then
t = ln(3 / 1000) / ln(0.999) = 5806 gradient steps. An update has 4 * 4 = 16 of them, so that's 363 updates, more than
many runs in this book have. A shock ten times as large adds ln(100) / 0.001, about 4600 steps. The slowdown grows
only with the logarithm of the shock, and is always a few multiples of 1 / (1 - beta_2).

Exercise 3. `clip_grad_norm_` takes one norm over everything it is given, here over the stack of all agents. Once that
is above the limit, every agent is scaled by the same factor, which the longest gradients decide. With one agent, the
stack's norm is the agent's norm, so a test with one agent passes. The agents with short gradients suffer most: in one
run, norms of 0.06 to 83 became 0.0003 to 0.48. The number to look at is any diagnostic of an agent, alone and in a
stack. The two must agree, as they do on the left.
"""

import math

import torch

from chapters.exercises.grad_clip import check_shorten


def my_shorten(policy, value, max_norm, max_value_norm):
    shortened = []
    for gradient, longest in ((policy, max_norm), (value, max_value_norm)):
        norm = gradient.square().sum(1, keepdim=True).sqrt()
        shortened.append(torch.where(norm > longest, gradient * longest / norm, gradient))
    return tuple(shortened)


check_shorten(my_shorten)

steps = math.log(3 / 1000) / math.log(0.999)
assert round(steps) == 5806
assert round(steps / 16) == 363
