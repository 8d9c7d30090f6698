"""Environments behind one interface: [S, N] lanes that are stepped together.

Every lane follows one convention, Gymnasium's NEXT_STEP autoreset: the observation returned at the end of an
episode is its true last one, and the step after it ignores the action and returns the reset observation. That
second step is no experience; `resetting` marks the lanes that are about to take it.
"""

from collections.abc import Callable
from typing import Any, Protocol

import gymnasium as gym
from torch import Tensor

from tricks.core.spaces import Spaces

MakeEnv = Callable[[], gym.Env]  # what a user may bring instead of an id: it makes the environment of one lane


class Env(Protocol):
    """What the loop knows of an environment.

    obs [S, N, D] float32 or [S, N, C, H, W] uint8, legal [S, N, A] bool and resetting [S, N] bool say what the lanes
    show now; a step puts new tensors in their place, on the device of the agent. legal is True everywhere where the
    environment gives no action mask, and for Box actions. score [S, N] float64 are the last step's rewards as the
    game counts them: those that `step` returned, except in Atari.
    """

    id: str
    seeds: tuple[int, ...]
    lanes: int
    spaces: Spaces
    obs: Tensor
    legal: Tensor
    resetting: Tensor
    score: Tensor

    def reset(self) -> None:
        """A new episode in every lane."""

    def step(self, action: Tensor, playing: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One step of every seed for which playing [S] is True; those for which it is False do not count.

        action is [S, N] or [S, N, A]; returns reward (float64), terminated and truncated, each [S, N].
        """

    def close(self) -> None:
        """Free what the environment holds."""

    @property
    def resumable(self) -> bool:
        """Whether `load_state_dict` puts the lanes back into the middle of their episodes."""

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` needs."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on as `state_dict` found it; if not resumable, with new episodes that the run has not seen yet."""
