"""Solutions to the chapter on Atari. `python -m solutions.19_atari`, in `chapters`, checks them.

Exercise 2. The log counts what the agent is told: a point is the sign of a reward, and an episode ends with a life. So
the "score" is the number of hits in one life. In Space Invaders, where a hit is worth 5 to 30 points and there are
three lives, that is a small fraction of the score. Nothing is wrong with the training: with the same seed the two runs
take the same actions, and `entropy`, `value_loss` and all other diagnostics agree to the last digit. What betrays it is
that every score is a whole number of hits, far below a random policy's published score, and that a game seems to last
a third as long (`length`). In Pong, where a point is a point and there are no lives, it would go unnoticed. Wrappers
have an order: whoever counts must come before whoever changes the reward.

Exercise 3. (a) All rewards are of one size already, so nothing explodes; but a return can still be a hundred points,
and how far the value must reach depends on the game and on how good the agent has become. `return_norm` would bring
that to size 1, too, and it needs no sign, so that 30 points stay worth six times as much as 5. (b) The last life in
Breakout is worth as much as any other, but the agent is told that the world ends with each of them. It cannot learn
that a life lost early costs the points of the next four only partly: it acts as if it lost all. That makes it careful,
which helps at first. (c) Every observation would be new four times over: 4 × 28 MB of a rollout hold each frame four
times. Storing single frames and stacking them when a minibatch is drawn takes a quarter, at the price of looking up
where each episode began, lest a stack hold frames of the game before.
"""

from exercises.atari import check_field


def my_field(layers):
    field, apart = 1, 1
    for kernel, stride in layers:
        field += (kernel - 1) * apart
        apart *= stride
    return field


check_field(my_field)
