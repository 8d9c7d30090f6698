"""Shared parts of worlds that draw a cue at every step, which one of two actions matches."""

import gymnasium as gym
from torch import Tensor

from tricks.worlds.world import Dynamics, Initial, World


def observe(state: Tensor) -> Tensor:
    """The cue, rescaled from [0, 1] to [−1, 1]: its sign says which action matches."""
    return 2 * state - 1


def world_of_cues(id: str, initial: Initial, dynamics: Dynamics, time_limit: int, step_chances: int) -> World:
    """A world whose state is the cue, fully observed."""
    return World(
        id=id,
        observation=gym.spaces.Box(-1, 1, (1,)),
        action=gym.spaces.Discrete(2),
        initial=initial,
        dynamics=dynamics,
        observe=observe,
        reset_chances=1,
        step_chances=step_chances,
        time_limit=time_limit,
    )
