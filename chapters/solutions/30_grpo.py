"""Solutions to the chapter on GRPO. `python -m chapters.solutions.30_grpo` checks them.

Exercise 1. With k of G right, a right reply has the advantage (1 - k/G)/σ and a wrong one -(k/G)/σ. Scores are 1 - p
and -p; since advantages sum to 0, p drops out, and the mean of advantage times score is k/G·(1 - k/G)/σ.

Exercise 2. All weights are divided by one number, so they stay as p(1 - p), and the sign is right in large batches.

Exercise 3. The mean is that of the whole batch, of all prompts, and only the deviation is the group's. A group of four
right replies beside one of four wrong ones has centered values of ½ and -½, deviations of 0, and so advantages of 5,000
and -5,000: what was easy is praised for being easy. The right function returns 0 for both.
"""

from math import comb

import torch

from chapters.exercises.grpo import check_weights, deviations
from tricks.group_baseline import leave_one_out
from tricks.group_norm import in_deviations


def my_weight(p, group):
    total = 0.0
    for k in range(1, group):
        share = k / group
        deviation = (share * (1 - share) * group / (group - 1)) ** 0.5
        total += comb(group, k) * p**k * (1 - p) ** (group - k) * share * (1 - share) / deviation
    return total


check_weights(my_weight)

easy_and_hard = torch.tensor([1.0, 1, 1, 1, 0, 0, 0, 0]).view(1, 1, 8)
assert deviations(easy_and_hard, 4).abs().min() > 1000
assert not in_deviations(leave_one_out(easy_and_hard, 4), 4).any()
assert my_weight(0.05, 8) < (0.05 * 0.95) ** 0.5
assert abs(my_weight(1e-4, 8) / my_weight(1e-5, 8) - 10) < 0.1
print("Right: the faulty version praises a prompt for being easy.")
