"""Solutions to the chapter on segments. `python -m chapters.solutions.13_segments` checks them.

Exercise 2. `play_rows` calls every row experience, even the one in which a lane is being reset. In that row the "state"
is the fallen pole, the action was ignored, the reward is 0, and the next state is a fresh start. The agent learns three
things from it that aren't so: that the action taken there mattered, that a fallen pole is worth γ·V(start), and, since
nets generalize, that a pole about to fall is worth something, too. The number to look at is the length of an episode.
On CartPole every step pays 1, so length and return must be equal; here the length is one more. `step` shows it as well:
1,024 more in each update, although resets take some of the rows. The curve of returns shows nothing. In code: every row
whose predecessor was done must have valid False.

Exercise 3. Eight rows of 128 lanes are as much experience as 128 rows of eight. But V replaces an episode's later
rewards after eight steps at most, whatever λ is: V(s_T) has weight γ(γλ)⁷ = 0.64 in the first row's target, against
0.0004 with T = 128, and more in every later row. So the targets are less noisy and lean more on V, as with a smaller λ.
The gain: 128 lanes are in 128 different places, so the rows of a batch have less to do with one another.
"""

import torch

from chapters.exercises.segments import check_targets


def my_targets(reward, done, last_value, gamma):
    targets, following = torch.zeros_like(reward), last_value
    for t in reversed(range(len(reward))):
        if done[t]:
            following = 0.0
        following = reward[t] + gamma * following
        targets[t] = following
    return targets


check_targets(my_targets)

first = 0.99 * (0.99 * 0.95) ** (torch.tensor([8, 128]) - 1)
assert torch.allclose(first, torch.tensor([0.644, 0.0004]), atol=1e-3)
