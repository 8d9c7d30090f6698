"""An environment's rules as pure functions, vectorized over lanes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
from torch import Tensor

Initial = Callable[[Tensor], Tensor]
Dynamics = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]


def everything_legal(state: Tensor) -> None:
    """Every action is always legal."""


def reward_itself(state: Tensor, reward: Tensor) -> Tensor:
    """What is scored is what the agent learns from."""
    return reward


@dataclass(frozen=True)
class World:
    """An environment's rules, for S seeds, N lanes and D features; a state is [S, N, ...] float32.

    initial: chance [..., reset_chances] -> initial states.
    dynamics: state, action, chance [S, N, step_chances] -> next state, reward [S, N] float64, terminated [S, N].
    observe: state -> observation [S, N, D].
    legal: state -> mask [S, N, A], or None if every action is legal.
    score: state, reward -> what the curve reports [S, N]; by default, the reward. The agent learns from the reward.
    tasks: how many there are. With more than one, the first features of an observation say which it is, one-hot.
    prompt: how many tokens a prompt has, where an episode is the reply to one; the lanes of a group share it.
    words: what these tokens are called.
    demonstrate: state -> log-probabilities of a demonstrator's next action [S, N, A].

    Chance is uniform in [0, 1). Box actions arrive unclipped; the dynamics clip them if necessary. The last `carried`
    features of a state, such as a clock or a position, are not reset when an episode ends.
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
    tasks: int = 1
    score: Callable[[Tensor, Tensor], Tensor] = reward_itself
    prompt: int = 0
    words: tuple[str, ...] = ()
    demonstrate: Callable[[Tensor], Tensor] | None = None
