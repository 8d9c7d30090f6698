"""Environments behind one interface: [S, N] lanes that are stepped together.

Every lane follows one convention, Gymnasium's NEXT_STEP autoreset: the observation returned at the end of an
episode is its true last one, and the step after it ignores the action and returns the reset observation. That
second step is not experience; `resetting` marks the lanes that are about to take it.
"""

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from tricks.core.spaces import Spaces


class Step(NamedTuple):
    """What the lanes show now, and what the last step earned: zeros right after a reset.

    A step makes new tensors; those of earlier steps stay as they were. legal is True everywhere where the environment
    gives no action mask, and for Box actions. terminated, truncated and reward are what the agent learns from; over
    and score are what is reported. They are the same unless `Config` says otherwise: with `life_ends` an episode can
    end before its game, and `reward_sign` changes the reward but not the score.
    """

    obs: Tensor  # [S, N, D] float32, or [S, N, C, H, W] uint8
    legal: Tensor  # [S, N, A] bool; [S, N, 1] for Box actions
    resetting: Tensor  # [S, N] bool: the next step ignores the action and begins an episode
    over: Tensor  # [S, N] bool: of those, the lanes whose game has ended, so that the next step begins a new game
    reward: Tensor  # [S, N] float64
    terminated: Tensor  # [S, N] bool
    truncated: Tensor  # [S, N] bool
    score: Tensor  # [S, N] float64: the reward as the game counts it
    lives: Tensor | None = None  # [S, N] int64, where the environment counts them

    @classmethod
    def first(cls, obs: Tensor, legal: Tensor, lives: Tensor | None = None) -> "Step":
        """What the lanes show after a reset, with nothing earned yet."""
        zero = torch.zeros(legal.shape[:2], dtype=torch.float64, device=legal.device)
        no = torch.zeros_like(zero, dtype=torch.bool)
        return cls(obs, legal, no, no, zero, no, no, zero, lives)

    def to(self, device: torch.device) -> "Step":
        """The same on another device."""
        return Step._make(column if column is None else column.to(device) for column in self)


class Env(Protocol):
    """What the loop knows of an environment. `now` is what `reset` or `step` returned last."""

    id: str
    seeds: tuple[int, ...]
    lanes: int
    spaces: Spaces
    now: Step

    def reset(self) -> Step:
        """Begin a new episode in every lane."""

    def step(self, action: Tensor, playing: Tensor) -> Step:
        """Step every seed for which playing [S] is True; the lanes of the others do not count. action [S, N(, A)]."""

    def close(self) -> None:
        """Free what the environment holds."""

    @property
    def resumable(self) -> bool:
        """Whether `load_state_dict` puts the lanes back into the middle of their episodes."""

    def state_dict(self) -> dict[str, Any]:
        """Return what `load_state_dict` needs."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was called; if not resumable, with new episodes that the run has not seen yet."""
