"""Each environment's scale: 0 is a random policy, 1 the ceiling; and the return that counts as solved.

Only with fixed constants can areas of different environments be set side by side. The random policy draws every
action uniformly, as an untrained agent does about; its returns are means over 2000 episodes (LunarLander's over
1000), and a test measures anew those of the tensor worlds. The ceilings are what is possible (CartPole: the time
limit; Taxi: the mean over all starts of the shortest way) or, where nobody knows that, a
round number a little above the best that is reported for any algorithm. Thresholds are
Gymnasium's own; Pendulum has none, and Taxi's 8 is more than any policy can have.
"""

from dataclasses import dataclass

import gymnasium as gym


@dataclass(frozen=True)
class Scale:
    """Returns of an episode: a random policy's, the ceiling, and the threshold of "solved"."""

    random: float
    ceiling: float
    threshold: float


SCALES = {
    "CartPole-v1": Scale(22.3, 500, 475),
    "Acrobot-v1": Scale(-499, -60, -100),
    "Pendulum-v1": Scale(-1226, -140, -200),
    "Taxi-v4": Scale(-772, 7.93, 7),
    "LunarLander-v3": Scale(-179, 280, 200),
}


def threshold(env: str) -> float | None:
    """The return from which the environment counts as solved, or None if nobody says."""
    if env in SCALES:
        return SCALES[env].threshold
    return gym.spec(env).reward_threshold if env in gym.registry else None
