"""Each environment's scale, from a random policy (0) to the ceiling (1), and the return that counts as solved.

The random policy draws every action uniformly. Its returns are means over 2000 episodes (LunarLander: 1000), and a test
measures most of them again. A ceiling is the best possible return (CartPole: the time limit; Taxi: the mean over all
starts along the shortest path; MiniGrid: 1, for reaching the goal in no time; Treasure: all the gold that arrives if no
track is taken). Where nobody knows the best, it is a round number slightly above the best return reported for any
algorithm, or in the other games in pixels what few players reach: two walls of bricks, three waves of aliens. MuJoCo's
robots are far from their best after a million steps of PPO, so there the ceiling is what the preset `continuous` is
published to reach by then (see `PUBLISHED`), rounded up, and an arm can get above 1. Thresholds are Gymnasium's, but it
has none for Pendulum and MiniGrid, no policy can earn its 8 for Taxi, and the robots' are out of reach.
"""

from dataclasses import dataclass

import gymnasium as gym


@dataclass(frozen=True)
class Scale:
    """Episode returns: a random policy's, the ceiling, and the threshold that counts as solved, if there is one."""

    random: float
    ceiling: float
    threshold: float | None = None


MARGIN = 0.05  # of normalized area: a trick that certainly does less does practically nothing
SCALES = {
    "CartPole-v1": Scale(22.3, 500, 475),
    "Acrobot-v1": Scale(-499, -60, -100),
    "Pendulum-v1": Scale(-1226, -140, -200),
    "Taxi-v4": Scale(-772, 7.93, 7),
    "LunarLander-v3": Scale(-179, 280, 200),
    "MiniGrid-DoorKey-5x5-v0": Scale(0.039, 1),
    "MiniGrid-Unlock-v0": Scale(0.019, 1),
    "MiniGrid-SimpleCrossingS9N1-v0": Scale(0.021, 1),
    "Hopper-v5": Scale(18.1, 2500),
    "Walker2d-v5": Scale(1.5, 2500),
    "HalfCheetah-v5": Scale(-284, 1500),
    "tricks/Bricks-v0": Scale(0.209, 60),
    "tricks/BricksByRow-v0": Scale(0.353, 2220),
    "tricks/Treasure-v0": Scale(1.04, 64),
    "tricks/Squadron-v0": Scale(4.32, 54),
}


def threshold(env: str) -> float | None:
    """The return at which the environment counts as solved, or None if it has no threshold."""
    if env in SCALES:
        return SCALES[env].threshold
    return gym.spec(env).reward_threshold if env in gym.registry else None
