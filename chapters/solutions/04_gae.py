"""Solutions to the chapter on GAE. `python -m chapters.solutions.04_gae` checks them.

Exercise 2. (a) λ = 0: if V is right everywhere, no λ has any bias. Only variance is left, and it is smallest if you see
a single reward. (b) γ changes the question, and λ only how you estimate the answer. With a smaller γ even the true V is
another one: the far future counts for less, and a different policy may be the best. With a smaller λ you estimate the
same quantity with more help from V; where V is right, the mean does not change at all.

Exercise 3. `surprising_advantages` has only one of the two masks. The recursion stops at `done`, but δ adds γV(s') even
where the episode terminated. On CartPole, falling no longer costs anything: the fallen pole is worth whatever the value
net says it is worth, and the net's targets are made from what it says. So V can say nearly the same everywhere, which
is easy to learn and of little use. (A V that says 1/(1 - γ) = 100 for every state, fallen or not, has no loss at all.)
A small value loss says nothing on its own, because the targets may have become easy. What gives the bug away is a
number that is not made from V: the explained variance of the real returns. A rollout made by hand finds it at once: in
a row that terminated, A must be r - V(s), whatever V says about the next state.
"""

import torch

from chapters.exercises.gae import check_advantages, surprising_advantages
from tricks.gae import gae


def my_advantages(reward, value, next_value, terminated, done, gamma, lam):
    advantages, following = torch.zeros_like(reward), 0.0
    for t in reversed(range(len(reward))):
        delta = reward[t] + gamma * next_value[t] * (not terminated[t]) - value[t]
        following = delta + gamma * lam * following * (not done[t])
        advantages[t] = following
    return advantages


check_advantages(my_advantages)

row = torch.ones(1, 1, 1)
death = (row, 50 * row, 70 * row, row.bool(), row.bool())
right, faulty = (f(*death, gamma=0.99, lam=0.95).item() for f in (gae, surprising_advantages))
assert right == 1 - 50
assert faulty > 0  # praise for falling
print("Right: at a death A is r - V(s), and in the faulty version it isn't.")
