"""What nets are given: observations, their features, or, for recurrent nets, whole lanes in the order of time."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Sequences:
    """Rows of L whole lanes in the order of time, as recurrent nets take them: B = T·L."""

    obs: Tensor  # [S, T·L, ...]
    goes_on: Tensor  # [S, T·L] bool: where it is False, the state before the lane's next row is zero
    state: Tensor  # [S, L, 2, K]: the states of policy and value net before the first row


def goes_on(valid: Tensor, done: Tensor) -> Tensor:
    """Where the next row begins with this row's state, as it does within an episode: [S, T, N] each."""
    return valid & ~(done & F.pad(valid[:, 1:], (0, 0, 0, 1)))


Given = Tensor | Sequences  # observations, as nets take them


class Features:
    """Observations [S, B, ...], and what the policy net's body makes of them, [S, B, H], once for all of its heads."""

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
