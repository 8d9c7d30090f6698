"""popart: tasks with rewards of very different sizes, and one value head for all.

Every episode has one of four tasks, shown one-hot. A cue, −1 or 1, is drawn at every step, and the action that matches
it pays 1, 10, 100 or 1000, depending on the task. Episodes have LENGTH steps.

Why: in units of reward, the largest task dominates the squared error. A batch with more or fewer of its episodes moves
the statistics and, without popart, also the head's predictions for the small tasks. Predicted: better with.

Seen on seeds 100 to 119: popart no detectable effect. The largest task makes up nine tenths of the return, and both
arms are close to its ceiling, so the score hardly shows the others. `tricks/TasksNamed-v0` counts all tasks alike and
has a head and statistics for each, as in Hessel et al. 2018, arXiv:1809.04474.
"""

import gymnasium as gym
import torch
from torch import Tensor

from tricks.worlds.world import World

LENGTH, TASKS = 10, 4


def initial(chance: Tensor) -> Tensor:
    """Task 0 to 3, cue 0 or 1, and time 0. [..., 2] -> [..., 3]."""
    task, cue = chance.unbind(-1)
    return torch.stack([(task * TASKS).floor(), cue.round(), torch.zeros_like(cue)], -1)


def dynamics(state: Tensor, action: Tensor, chance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Pay the task's reward if the action matches the cue, then draw the next cue."""
    task, cue, time = state.unbind(-1)
    reward = 10 ** task.double() * (action == cue)
    state = torch.stack([task, chance[..., 0].round(), time + 1], -1)
    return state, reward, time + 1 >= LENGTH


def observe(state: Tensor) -> Tensor:
    """The task (one-hot), the cue as −1 or 1, and the fraction of time left."""
    task, cue, time = state.unbind(-1)
    shown = torch.nn.functional.one_hot(task.long(), TASKS)
    return torch.cat([shown, torch.stack([2 * cue - 1, 1 - time / LENGTH], -1)], -1)


MAGNITUDES = World(
    id="tricks/Magnitudes-v0",
    observation=gym.spaces.Box(-1, 1, (6,)),
    action=gym.spaces.Discrete(2),
    initial=initial,
    dynamics=dynamics,
    observe=observe,
    reset_chances=2,
    step_chances=1,
)
