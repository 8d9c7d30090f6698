"""What nets are given: observations, their features, or, for recurrent nets, whole lanes in the order of time."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Sequences:
    """Rows of L whole lanes in the order of time, as recurrent nets take them: B = T·L."""

    obs: Tensor  # [S, T·L, ...]
    goes_on: Tensor  # [S, T·L] bool: where it is False, the state before the lane's next row is zero
    state: Tensor  # [S, L, 2, K]: the states of policy and value net before the first row


def goes_on(valid: Tensor, done: Tensor) -> Tensor:
    """Rows whose state the next row begins with: [S, T, N] each.

    Not where the lane is reset next, which no valid row is, nor where an episode ends and the next row is the first of
    another, as after a lost life.
    """
    return valid & ~(done & F.pad(valid[:, 1:], (0, 0, 0, 1)))


Given = Tensor | Sequences  # observations, as nets take them


class Features:
    """Observations [S, B, ...], and what the body of the policy net makes of them, [S, B, H].

    Heads on that body read `hidden` instead of running the body again. A function of it runs when the first of them
    does. It is right until the weights change.
    """

    def __init__(self, obs: Given, hidden: Tensor | Callable[[], Tensor]) -> None:
        self.obs, self._made = obs, hidden

    @cached_property
    def hidden(self) -> Tensor:
        return self._made if isinstance(self._made, Tensor) else self._made()


def observations(given: Given | Features) -> Tensor:
    """The observations alone: [S, B, ...]."""
    if isinstance(given, Features):
        given = given.obs
    return given.obs if isinstance(given, Sequences) else given


class RecurrentBody(Protocol):
    """A body whose features also depend on a state, which takes in one row after another."""

    state_size: int
    """K: how many numbers a lane's state has."""

    def through(self, lanes: Sequences, /) -> tuple[Tensor, Tensor]:
        """The features of all rows, [S, T·L, H], and the states after the last, [S, L, K]."""
