"""Solutions to the chapter on memory. `python -m chapters.solutions.22_recurrent` checks them.

Exercise 2. The layer never resets its states, so an episode begins with what the one before it left behind. Play,
training, and values all go through the same function, so they agree: every first ratio is 1, and no diagnostic
objects. What gives it away is that the agents score better in evaluation than in training. The only difference
is that evaluation plays each game in a lane of its own, from a fresh state. (With another agent it may be worse there,
because it has learned to rely on what is left.) The check is the law itself: an episode's features must be the same,
whatever its lane has seen before. Below, the library's layer passes it to the last bit, and the faulty one doesn't.

Exercise 3. (a) Each state is rebuilt from the one before the segment, which is data. At the choice, a thousand steps
after the cue, the gradient reaches back 128 steps at most. It can make use of what is left of the cue in that state,
but nothing ever told the layer to write the cue down, or to keep it. With forget gates at one half, nothing is left.
(b) Longer segments, as long as the episodes if memory allows. That is fewer lanes for the same number of rows. (c) Help
that doesn't depend on the reward at the end: show the cue again, reward steps on the way, or make the state easier to
keep, as with forget gates that begin nearly open.
"""

import torch

from chapters.exercises.recurrent import add_endless_recurrence_, check_rebuilt
from tricks import PPO, Config
from tricks.core.sequences import Sequences
from tricks.envs.make import make_env
from tricks.loop import build_agent
from tricks.recurrent import add_recurrence_


def my_rebuilt(step, x, done, h):
    rows = []
    for seen, ends in zip(x, done, strict=True):
        h = step(seen, h)
        rows.append(h)
        if ends:
            h = torch.zeros_like(h)
    return torch.stack(rows)


check_rebuilt(my_rebuilt)


def leaks(add):
    """How far an episode's features depend on the one before it."""
    config = Config("tricks/Recall2-v0", hidden=(8,), recurrent_size=4)
    agent = build_agent(make_env(config).spaces, config, PPO)
    add(agent, config)
    obs, goes_on, state = torch.rand(10, 2, 1, 2), torch.ones(10, 2, dtype=torch.bool), torch.zeros(10, 1, 2, 8)
    goes_on[:, 0] = False  # the first row is an episode of its own
    other = torch.cat([-obs[:, :1], obs[:, 1:]], 1)
    first, second = (agent.features(Sequences(x.flatten(1, 2), goes_on, state)).hidden for x in (obs, other))
    return (first - second)[:, 1].abs().max().item()


assert leaks(add_recurrence_) == 0 < leaks(add_endless_recurrence_)
print("Right: an episode's features depend on the one before it only if no end resets the states.")
