"""return_norm and popart: four tasks whose rewards are of very different sizes, with one value head, or one for each.

Every episode has one of four tasks, shown one-hot, which pay 1, 10, 100 and 1000. A cue, −1 or 1, is drawn at every
step. In the first and third task the action that matches the cue pays, in the others the one that doesn't, so that what
is learned in one task does not help in the next. Episodes have LENGTH steps. The score is the number of actions that
paid, whatever they paid, so that every task counts alike: LENGTH at best, and half of it at random.

Why: with one value head and one deviation for all returns, the advantages of the largest task are a thousand times
those of the smallest, which the policy therefore ignores; standardizing a minibatch keeps those proportions.
`TasksNamed` says that there are four tasks. Each then has a value head and statistics of its own, and its advantages
are in units of its own deviation (Hessel et al. 2018, arXiv:1809.04474). In `Tasks`, all share one head. Predicted:
`return_norm` makes a large difference in `TasksNamed` and little in `Tasks`.

Seen on seeds 100 to 119: in TasksNamed, return_norm better with, and again on seeds 120 to 139. (`Tasks` has no trial;
the chapter on PopArt trains in it.)
"""

from dataclasses import replace

import torch
from torch import Tensor

from tricks.worlds.magnitudes import LENGTH, MAGNITUDES, TASKS


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Pay the task's reward for its right action, then draw the next cue."""
    task, cue, time = state.unbind(-1)
    right = (task + cue) % 2
    reward = 10 ** task.double() * (action == right)
    state = torch.stack([task, chance[..., 0].round(), time + 1], -1)
    return state, reward, time + 1 >= LENGTH


def paid(state: Tensor, reward: Tensor) -> Tensor:
    """1 for the right action, whatever it pays."""
    return (reward > 0).double()


TASKS_UNNAMED = replace(MAGNITUDES, id="tricks/Tasks-v0", dynamics=dynamics, score=paid)
TASKS_NAMED = replace(TASKS_UNNAMED, id="tricks/TasksNamed-v0", tasks=TASKS)
