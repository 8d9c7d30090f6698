"""One interface for all environments: [S, N] lanes that step together, with Gymnasium's NEXT_STEP autoreset.

The step after an episode's last ignores the action and returns the reset observation; it isn't experience.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import torch
from torch import Tensor

from tricks.core.spaces import Spaces

MakeEnv = Callable[[], gym.Env]  # a user's alternative to an id: makes the environment of one lane


class Step(NamedTuple):
    """The current observations, and the outcome of the last step: zeros right after a reset. Never modified in place.

    The agent learns from terminated, truncated and reward; curves report over and score, which differ from these only
    with `Config.life_ends` and `reward_sign`.
    """

    obs: Tensor  # [S, N, D] float32, or [S, N, C, H, W] uint8 (float32 for images of floats)
    legal: Tensor  # [S, N, A] bool; [S, N, 1] for Box actions; all True without a mask
    resetting: Tensor  # [S, N] bool: the next step ignores the action and begins an episode
    over: Tensor  # [S, N] bool: those of them whose game has ended, so the next step begins a new game
    reward: Tensor  # [S, N] float64
    terminated: Tensor  # [S, N] bool
    truncated: Tensor  # [S, N] bool
    score: Tensor  # [S, N] float64: the reward as the game counts it
    lives: Tensor | None = None  # [S, N] int64, where the environment counts them
    record: Tensor | None = None  # [S, N, R] float64: the numbers of `Config.record`; NaN where the step gave none

    @classmethod
    def first(cls, obs: Tensor, legal: Tensor, lives: Tensor | None = None) -> "Step":
        """The Step right after a reset, with no reward yet."""
        zero = torch.zeros(legal.shape[:2], dtype=torch.float64, device=legal.device)
        no = torch.zeros_like(zero, dtype=torch.bool)
        return cls(obs, legal, no, no, zero, no, no, zero, lives)

    def to(self, device: torch.device) -> "Step":
        return Step._make(column if column is None else column.to(device) for column in self)


class Env(Protocol):
    """The interface between an environment and the loop.

    `reset` begins a new episode in every lane. `step` steps each seed whose playing [S] is True; the other seeds'
    results do not count; action [S, N(, A)]. `load_state_dict` restores the state that `state_dict` saved; if not
    resumable, it starts episodes that the run has not seen yet. `close` ends what it holds, such as processes.
    """

    id: str
    seeds: tuple[int, ...]
    lanes: int
    spaces: Spaces
    masks: bool  # whether it says which actions are legal
    now: Step  # that `reset` or `step` returned last

    @property
    def resumable(self) -> bool: ...  # whether `load_state_dict` can restore lanes in mid-episode
    def reset(self) -> Step: ...
    def step(self, action: Tensor, playing: Tensor) -> Step: ...
    def close(self) -> None: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...
