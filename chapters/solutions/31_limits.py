"""Solutions to the chapter on lengths, limits, and leashes. `python -m chapters.solutions.31_limits` checks them.

Exercise 1. The score of word a along logit k is [a = k] - π(k), so component k is π(k)·(k3(k) - mean of k3). It is
neither KL's gradient: the derivative of π·k3 also has a term from k3 itself, which a reward lacks.

Exercise 2. By the ratio π/π_old, detached.

Exercise 3. The number of replies is averaged over the seeds, so an agent's loss depends on how many replies with valid
rows the others have in this minibatch. (Each has as many in a whole batch, and fewer under `mixed_groups`.) It is the
bug of `standardize_short`: what should stay within a seed crosses the seed axis.
"""

import torch

from chapters.exercises.limits import check_penalty, mean_of_batch
from tricks.reply_mean import mean_of_replies


def my_penalty(probs, reference):
    ratio = reference / probs
    price = ratio - 1 - ratio.log()
    return probs * (price - (probs * price).sum())


check_penalty(my_penalty)

x, reply = torch.tensor([[1.0, 2, 3, 4], [1, 2, 3, 4]]), torch.tensor([[0, 0, 1, 1], [0, 0, 0, 0]])
valid = torch.ones(2, 4, dtype=torch.bool)
right = mean_of_replies(x, reply, valid, 0.0, lanes=2)
torch.testing.assert_close(right, torch.tensor([2.5, 2.5]))
torch.testing.assert_close(mean_of_batch(x[:1], reply[:1], valid[:1], 2), right[:1])
assert not torch.allclose(mean_of_batch(x, reply, valid, 2), right)
print("Right: in the faulty version, the second agent changes the first.")
