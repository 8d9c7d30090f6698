"""The rules of three worlds, compiled by numba where they can be. Each returns None for tensors that it is not for."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from tricks.fast.dispatch import compiled, simple

Outcome = tuple[Tensor, Tensor, Tensor]  # state [..., D], reward [...] float64, terminated [...]


def stepped(
    rule: str, numbers: int, kind: torch.dtype, own: tuple[int, ...], state: Tensor, action: Tensor, chance: Tensor
) -> Outcome | None:
    """A world's `dynamics`, for states of so many numbers and actions of this kind and, in each lane, shape."""
    lanes, code = state.shape[:-1], rules_for(state, numbers) if simple(action, kind) else None
    if code is None or action.shape != (*lanes, *own) or action.requires_grad:
        return None
    after, reward = state.new_empty(state.shape), state.new_empty(lanes, dtype=torch.float64)
    terminated = state.new_empty(lanes, dtype=torch.bool)
    flat = in_lanes(state), action.contiguous().view(-1), in_lanes(after), reward.view(-1), terminated.view(-1)
    return (after, reward, terminated) if getattr(code, rule)(*(x.numpy() for x in flat)) else None


def shown(rule: str, numbers: int, features: int, state: Tensor) -> Tensor | None:
    """A world's `observe`."""
    code = rules_for(state, numbers)
    if code is None:
        return None
    obs = state.new_empty(*state.shape[:-1], features)
    getattr(code, rule)(in_lanes(state).numpy(), in_lanes(obs).numpy())
    return obs


def rules_for(state: Tensor, numbers: int) -> Any:
    """The compiled rules, if states have so many numbers, and nobody asks for the gradient of what follows."""
    own = simple(state, torch.float32) and state.dim() and state.shape[-1] == numbers and not state.requires_grad
    return compiled("compiled_rules") if own else None


def in_lanes(state: Tensor) -> Tensor:
    """[..., D] as [lanes, D]."""
    return state.contiguous().view(-1, state.shape[-1])


cartpole = partial(stepped, "cartpole", 4, torch.int64, ())
acrobot = partial(stepped, "acrobot", 4, torch.int64, ())
pendulum = partial(stepped, "pendulum", 2, torch.float32, (1,))
acrobot_shown, pendulum_shown = partial(shown, "acrobot_shown", 4, 6), partial(shown, "pendulum_shown", 2, 3)
