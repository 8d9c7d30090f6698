"""Solutions to the chapter on REINFORCE. `python -m chapters.solutions.00_reinforce` checks them.

Exercise 2. E[g] stays the same: the score ∇ log π has mean zero, so a constant times it adds nothing on average. The
spread of a single g grows with the payouts: for the best machine, from about 1.5 to about 49. A gradient of
0.56 drowns in that.

Exercise 3. `returns_backward` never looks at `done`, so what the next episode of the lane earns counts for the actions
of this one. On CartPole, where every step pays 1, G then falls from about 75 at the start of a batch to 1 at its end,
and does not notice the falls of the pole in between: falling costs nothing. The number to look at: G at a step that is
done. It must be the reward of that step, 1; here it is about as large as everywhere else.
"""

import torch

from chapters.exercises.reinforce import check_returns


def my_returns(reward, done, gamma):
    returns, following = torch.zeros_like(reward), 0.0
    for t in reversed(range(len(reward))):
        if done[t]:
            following = 0.0
        following = reward[t] + gamma * following
        returns[t] = following
    return returns


check_returns(my_returns)
