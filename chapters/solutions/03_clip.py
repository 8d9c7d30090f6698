"""Solutions to the chapter on the clip. `python -m chapters.solutions.03_clip` checks them.

Exercise 2. Never. On the first minibatch every ratio is 1, so nothing is clipped, and the gradient is that of REINFORCE
with a baseline. With one epoch of one minibatch there is no second one, whatever ε is.

Exercise 3. The minimum is missing. Outside the range the gradient is zero on both sides, even for a good action that
the steps of other rows have made rarer, and for a bad one that they have made more likely. Those are the cases where
something went wrong, and now nothing pulls them back: rows that have drifted out stay out and drift on. So many more
ratios lie outside in the first update (about 0.9 of them instead of 0.2), and max_ratio shows how far: with the bug it
climbs from 2 into the hundreds, while with the minimum it stays around 2. In the table, the two corners marked "repair"
are gone. The returns alone would not tell you what is wrong."""

import torch

from chapters.exercises.clip import check_surrogate


def my_surrogate(ratio, advantage, epsilon):
    clipped = ratio.clamp(1 - epsilon, 1 + epsilon)
    return torch.minimum(ratio * advantage, clipped * advantage)


check_surrogate(my_surrogate)
