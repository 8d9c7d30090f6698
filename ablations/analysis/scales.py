"""Each environment's scale: 0 is a random policy, 1 the ceiling; and the return that counts as solved.

Only with fixed constants can areas of different environments be set side by side. The random policy draws every
action uniformly, as an untrained agent does about; its returns are means over 2000 episodes (LunarLander's over
1000), and a test measures most of them anew. The ceilings are what is possible (CartPole: the time limit; Taxi: the
mean over all starts of the shortest way; MiniGrid: 1, for getting there in no time) or, where nobody knows that, a
round number a little above the best that is reported for any algorithm. Thresholds are Gymnasium's own; Pendulum and
MiniGrid have none, and Taxi's 8 is more than any policy can have.
"""

from dataclasses import dataclass

import gymnasium as gym


@dataclass(frozen=True)
class Scale:
    """Returns of an episode: a random policy's, the ceiling, and the threshold of "solved" if there is one."""

    random: float
    ceiling: float
    threshold: float | None = None


SCALES = {
    "CartPole-v1": Scale(22.3, 500, 475),
    "Acrobot-v1": Scale(-499, -60, -100),
    "Pendulum-v1": Scale(-1226, -140, -200),
    "Taxi-v4": Scale(-772, 7.93, 7),
    "LunarLander-v3": Scale(-179, 280, 200),
    "MiniGrid-DoorKey-5x5-v0": Scale(0.039, 1),
    "MiniGrid-Unlock-v0": Scale(0.019, 1),
    "MiniGrid-SimpleCrossingS9N1-v0": Scale(0.021, 1),
}


def threshold(env: str) -> float | None:
    """The return from which the environment counts as solved, or None if nobody says."""
    if env in SCALES:
        return SCALES[env].threshold
    return gym.spec(env).reward_threshold if env in gym.registry else None
