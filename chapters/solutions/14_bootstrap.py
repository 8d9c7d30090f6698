"""Solutions to the chapter on time limits. `python -m solutions.14_bootstrap`, in the folder `chapters`, checks them.

Exercise 2. Where an episode ends, `play_same_step` gives the first observation of the *next* episode as what followed.
So at the time limit the agent adds γ·V(a fresh start), not γ·V(the state that was cut off). In the hall, a start is
worth less than the end of the hall, so the end's value comes out too low, and every cell before it inherits the error.
The score shows nothing, since a hall leaves nothing to decide. (On CartPole a state at the limit and a fresh start are
worth much the same, so the mistake costs next to nothing.) The number to look at: V in a world so small that you know
it. At the end of the hall it must be 1/(1 - γ) = 10. In code: in this mode Gymnasium puts the true last observation
into `info["final_obs"]`; V must be asked there. (After a death it does not matter what is returned: its value is not
used.)

Exercise 3. (a) The exam ends when time is up, so the limit is part of the task: no bootstrap, and the time left
belongs into the observation, or else the same state has different values. (b) The limit is a matter of convenience,
and the robot should go on walking: bootstrap. (c) The game is over for good, by the player's own choice. That is a
termination, whatever its author calls it: no bootstrap.
"""

import torch

from exercises.bootstrap import check_targets


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
