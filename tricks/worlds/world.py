"""An environment's rules as pure functions on tensors of lanes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
from torch import Tensor

Initial = Callable[[Tensor], Tensor]
Dynamics = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]


def everything_legal(state: Tensor) -> None:
    """No action is ever forbidden."""


@dataclass(frozen=True)
class World:
    """An environment's rules. Letters as everywhere: S seeds, N lanes, D features; a state is [S, N, ...] float32.

    initial: chance [..., reset_chances] -> the states after a reset.
    dynamics: state, action, chance [S, N, step_chances] -> next state, reward [S, N] float64, terminated [S, N].
    observe: state -> observation [S, N, D].
    legal: state -> mask [S, N, A], or None where every action is legal.

    Chance is uniform in [0, 1). Box actions arrive as the policy drew them: clipping them is the dynamics' part.
    The last `carried` features of a state are not reset when an episode ends: a clock, a place.
    """

    id: str
    observation: gym.Space[Any]
    action: gym.Space[Any]
    initial: Initial
    dynamics: Dynamics
    observe: Callable[[Tensor], Tensor]
    reset_chances: int
    step_chances: int = 0
    time_limit: int | None = None
    legal: Callable[[Tensor], Tensor | None] = everything_legal
    carried: int = 0
