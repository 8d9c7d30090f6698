"""Solutions to the chapter on GAE. `python -m solutions.04_gae`, in the folder `chapters`, checks them.

Exercise 2. (a) λ = 0: with a V that is right everywhere no λ has any bias, so all that is left is variance, and that is
least where only one reward is seen. (b) γ changes the question, λ only the answer. With a smaller γ even the true V is
another one: the far future counts for less, and another policy may be the best. With a smaller λ the same quantity is
estimated with more help of V; where V is right, its mean does not change at all.

Exercise 3. `surprising_advantages` has one mask of the two: the recursion stops at `done`, but δ adds γV(s') even where
the episode terminated. On CartPole that makes falling a matter of indifference: the fallen pole is worth what the value
net says of it, and the net's targets are made of its own words. V can then say nearly the same everywhere (one that
says 1/(1 - γ) = 100 for every state, fallen or not, has no loss at all), which is easy to learn and of little use. So
a small value loss says nothing on its own: the targets may have become easy. What betrays the fault is a number that
is not made of V: the explained variance of the real returns. And a hand-made rollout finds it at once: in a row that
terminated, A must be r - V(s), whatever V says of the state behind it.
"""

import torch

from exercises.gae import check_advantages, surprising_advantages
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
death = {"terminated": row.bool(), "done": row.bool(), "gamma": 0.99, "lam": 0.95}
right, faulty = (f(row, 50 * row, 70 * row, **death).item() for f in (gae, surprising_advantages))
assert right == 1 - 50
assert faulty > 0  # praise for falling
print("Right: at a death A is r - V(s), and in the faulty version it is not.")
