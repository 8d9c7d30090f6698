"""Solutions to the chapter on state normalization. `python -m chapters.solutions.07_state_norm` checks them.

Exercise 2. Both standard deviations are 0, so you divide by 0 (or by ε). The four numbers have mean 5 and standard
deviation 5: all of their spread lies between the batches. Learning brings such batches: as the policy improves, the
cart is elsewhere in this batch than in the last one, and what moves from batch to batch is exactly what averaged
standard deviations cannot see.

Exercise 3. `merge_the_batch` takes in states that were already normalized with the old statistics; it should take raw
ones. Take mean 5000 and standard deviation 100. The first batch is taken in as it is, and the statistics are right. The
second is first normalized to mean 0 and deviation 1, and is taken in as that. Then the mean of all is 2500 and the
deviation about 2500, because there seem to be two sets far apart. The third is seen as (5000 - 2500)/2500 = 1 with a
deviation of 100/2500 = 0.04, and so on. The number to look at is the standard deviation of what the net sees, feature
by feature: about 1 if all is well. With the bug it is a fraction of that for the angle, whose true deviation is a
hundredth of a turn: normalized angles around 1 were taken in as if they were raw, so it is divided by far too much.
The mean of the position, above 2 instead of about 0, gives it away, too. But a mean can look right by luck: the angle's
does.
"""

import torch

from chapters.exercises.state_norm import check_merged, merge_the_batch
from tricks.core.moments import Moments


def merged(a, b):
    (n_a, mean_a, squares_a), (n_b, mean_b, squares_b) = a, b
    n, delta = n_a + n_b, mean_b - mean_a
    return n, mean_a + delta * n_b / n, squares_a + squares_b + delta**2 * n_a * n_b / n


check_merged(merged)

moments = Moments.empty(1, 1)
batch, valid = 5000 + 100 * torch.tensor([-1.0, 1.0]).view(1, 2, 1), torch.ones(1, 2, dtype=torch.bool)
for _ in range(2):
    moments = merge_the_batch(moments, batch, valid)
assert abs(moments.mean.item() - 2500) < 1
assert abs(moments.variance.sqrt().item() - 2500) < 2
print("Right: two batches around 5000 give the faulty statistics a mean of 2500 and a deviation of 2500.")
