"""Solutions to the chapter on time limits. `python -m chapters.solutions.14_bootstrap` checks them.

Exercise 2. Where an episode ends, `play_same_step` records the first observation of the *next* episode as the next
state. So at the time limit the agent adds γ·V(a fresh start), not γ·V(the state that was cut off). In the hall, a start
is worth less than the end of the hall, so the end's value comes out too low, and every cell before it inherits the
error. The score shows nothing, because a hall leaves nothing to decide. (On CartPole a state at the limit and a fresh
start are worth about the same, so the mistake costs next to nothing.) The number to look at is V in a world so small
that you know it: at the end of the hall it must be 1/(1 - γ) = 10. In code: in this mode Gymnasium puts the true last
observation into `info["final_obs"]`, and that is the state to ask V about. (After a death it doesn't matter which state
is recorded, since its value isn't used.)

Exercise 3. (a) No. The exam ends when time is up, so the limit is part of the task, and the time left belongs in the
observation; otherwise the same state has different values. (b) Yes. The limit is a matter of convenience, and the robot
should keep walking. (c) No. The game is over for good, by the player's own choice. That is a termination, whatever its
author calls it.
"""

import torch

from chapters.exercises.bootstrap import check_targets


def my_targets(reward, terminated, truncated, next_value, gamma):
    targets, following = torch.zeros_like(reward), next_value[-1]
    for t in reversed(range(len(reward))):
        if terminated[t]:
            following = 0.0
        elif truncated[t]:
            following = next_value[t]
        following = reward[t] + gamma * following
        targets[t] = following
    return targets


check_targets(my_targets)
