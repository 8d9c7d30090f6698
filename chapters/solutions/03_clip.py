"""Solutions to the chapter on the clip. `python -m chapters.solutions.03_clip` checks them.

Exercise 2. For a good action the objective is at most (1 + ε) A. For a bad one it is ρA once ρ is above 1 − ε, which
has no lower limit. The gradient of ρA is ρ A ∇ log π, so at a ratio of 30 the action counts thirty times as much as
at 1: it is pulled back hard, and one such row can drown out the rest of its minibatch. The dual clip limits that.

Exercise 3. The minimum is missing. Outside the range the gradient is zero on both sides, even for a good action that
the steps of other rows have made rarer, and for a bad one that they have made more likely. All rows share the weights
of one net, so those that are still inside the range move the others as well, and Adam's momentum carries on; once
out, nothing pulls a row back, and it drifts on. clip_fraction shows this in the first update (about 0.9 of the ratios
are outside instead of 0.2), and max_ratio shows how far they drift: from 2 into the hundreds, while with the minimum
it stays around 2. In the table, the two corners marked "repair" are gone. The returns alone would not tell you what
is wrong."""

import torch

from chapters.exercises.clip import check_slope


def my_slope(ratio, advantage, epsilon):
    enough = torch.where(advantage > 0, ratio > 1 + epsilon, ratio < 1 - epsilon)
    return torch.where(enough, 0.0, advantage)


check_slope(my_slope)
