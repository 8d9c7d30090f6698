"""Solutions to the chapter on the baseline. `python -m chapters.solutions.01_baseline` checks them.

Exercise 2. It is biased, a little. The mean of the batch contains the pull's own payout, as one part in n, so a part
1/n of r(a) is subtracted from itself. The other pulls are independent of this action and do no harm. What is left is
E[g] = (1 - 1/n) * gradient of J: the direction is right and the length too short by one part in n, which a slightly
larger learning rate makes up for. The mean of the other n - 1 pulls has no bias at all. The enumeration below checks
both for n = 2.

Exercise 3. The net gives one column, [B, 1], and the returns are a row, [B]. Their difference is broadcast to a table
[B, B]: every prediction is compared with the return of every row, not with its own. What minimizes that is the mean of
all returns, in every state, so the net learns a constant. The loss falls, as it does with a net that learns, and it
stops falling at the variance of the returns. The number that tells: explained variance, which stays at 0. The cure:
`value.squeeze(-1)`, and an assertion that both shapes are equal.
"""

from itertools import product

import torch

from chapters.exercises.baseline import check_best_baseline


def my_best_baseline(probs, pays):
    score = torch.eye(len(probs)) - probs  # one row per action
    weight = probs * score.square().sum(1)
    return (weight * pays).sum() / weight.sum()


check_best_baseline(my_best_baseline)

probs, pays = torch.tensor([0.7, 0.2, 0.1]), torch.tensor([1.0, 2.0, 4.0])
score = torch.eye(3) - probs
exact = probs * (pays - probs @ pays)
whole, others = torch.zeros(3), torch.zeros(3)
for first, second in product(range(3), repeat=2):  # all pairs of pulls, each with its probability
    chance, mean = probs[first] * probs[second], (pays[first] + pays[second]) / 2
    whole += chance * (pays[first] - mean) * score[first]
    others += chance * (pays[first] - pays[second]) * score[first]
torch.testing.assert_close(whole, exact / 2)
torch.testing.assert_close(others, exact)
print("Right: half the gradient with the mean of both pulls, all of it with the other one's payout.")
