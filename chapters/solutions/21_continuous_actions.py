"""Solutions to the chapter on continuous actions. `python -m chapters.solutions.21_continuous_actions` checks them.

Exercise 2. A density is a probability per newton meter. In millinewton meters, the same action is a thousand times the
number, μ and σ are a thousand times as large, and z = (a − μ)/σ is what it was. Only log σ changes, so log π drops by
log 1000 = 6.9 in each dimension, and the entropy rises by as much. A ratio is a difference of two log-probabilities
in the same units, so it doesn't change, and neither do the KL divergence and the clipped objective. The gradient of the
entropy doesn't change, either: its derivative with respect to log σ is 1 in any unit. But the start does. A net whose
mean is around 0.1 and whose σ is 1 sends torques of a thousandth of a newton meter to a motor that needs two thousand
times as much: a policy that is far too narrow. This is why continuous tasks are usually rescaled to [-1, 1].

Exercise 3. The old log-probability is that of the clipped torque, the new one that of the action. Where the action was
out of bounds, the ratio is not 1 although the policy has not moved: it is the ratio of the densities at two different
places. Usually the bound is nearer to the mean, so the ratio is too small: an action in the tail that turned out badly
is clipped and has no gradient, and one that turned out well has a small one. But once a mean has left the bounds, the
action can be far more likely than the bound, and the ratio is e to the power of something large. One such row makes one
enormous gradient, and Adam divides by the size of recent gradients for a thousand steps: the policy freezes. (An agent
whose ratio overflows is stopped.)

The number that tells: before the first gradient step, every ratio must be 1. Look at a single minibatch of a single
epoch, where max_ratio must be 1 and approx_kl must be 0. In the log of the frozen agents, max_ratio is 1.00 although
approx_kl and clip_fraction are not 0: this policy has not moved, and is nevertheless not the one that played.
"""

import math

import torch

from chapters.exercises.continuous_actions import check_log_slope, check_scores
from tricks.core.policies import DiagonalGaussian


def my_scores(mean, log_std, action):
    z = (action - mean) / log_std.exp()
    return z / log_std.exp(), z**2 - 1


def my_log_slope(u):
    return 2 * (math.log(2) - u - torch.nn.functional.softplus(-2 * u))


check_scores(my_scores)
check_log_slope(my_log_slope)

torch.manual_seed(0)
logits, action = torch.randn(100, 4), torch.randn(100, 2)
units = torch.tensor([math.log(1000)] * 2)
mean, log_std = logits.chunk(2, -1)
scaled = torch.cat([1000 * mean, log_std + units], -1)
change = DiagonalGaussian.log_prob(scaled, 1000 * action) - DiagonalGaussian.log_prob(logits, action)
torch.testing.assert_close(change, torch.full((100,), -2 * math.log(1000)), rtol=1e-4, atol=1e-3)
wider = DiagonalGaussian.entropy(scaled) - DiagonalGaussian.entropy(logits)
torch.testing.assert_close(wider, torch.full((100,), 2 * math.log(1000)), rtol=1e-4, atol=1e-3)
print("Right: in thousandths of the unit, log π drops by 6.9 in each dimension, and the entropy rises by as much.")
