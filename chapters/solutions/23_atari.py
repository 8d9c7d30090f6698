"""Solutions to the chapter on Atari. `python -m chapters.solutions.23_atari` checks them.

Exercise 2. The log now counts what the agent is told: a point is the sign of a reward, and an episode ends with a life.
So the "score" is the number of hits in one life. In Space Invaders, where a hit is worth 5 to 30 points and there are
three lives, that is a small part of the score. Nothing is wrong with the training: with the same seed both runs take
the same actions, so `entropy`, `value_loss`, and `grad_norm` agree to the last digit. But whoever reads the curve is
misled. It can't be compared with any published score, and it rises as soon as the agent shoots more often, whether or
not that brings points. `length` gives it away: a game seems to last a third as long. In Pong a point is a point and
there are no lives, so there you would never notice. Wrappers have an order: count the score before you change the
reward.

Exercise 3. (a) A reward has size 1, but a return is a sum of rewards. It can be 0.1 or 50, and it grows as the agent
gets better. `return_norm` keeps it around 1 in the value loss; in a shared trunk that decides whose gradient counts.
It doesn't need the sign, either, so 30 points can stay worth six times as much as 5. (b) The agent that was told that a
life is the end expects nothing after it: near the loss its value is close to 0. The other knows that four balls are
left and that most of the points are still to come, so its value hardly drops. The second is right about the game. The
first has the clearer signal, and learns sooner to be careful. (c) Keep single pictures, and stack the last four when a
minibatch is drawn: a quarter of the memory, about 7 MB a rollout instead of 29. Before its first step a rollout needs
three older pictures. Where a game has begun within the last four, the older places must be blank, as they were when the
agent played, or a stack would show pictures of the game before; so you must also keep where games begin. A lost life
isn't such a place: there the pictures go on.
"""

from chapters.exercises.atari import check_field


def my_field(layers):
    field, apart = 1, 1
    for kernel, stride in layers:
        field += (kernel - 1) * apart
        apart *= stride
    return field


check_field(my_field)
