"""The rules of three worlds, compiled by numba where they can be. Each returns None for tensors that it is not for."""

from types import ModuleType

import torch
from torch import Tensor

from tricks.fast.dispatch import compiled, simple

Outcome = tuple[Tensor, Tensor, Tensor]  # state [..., D], reward [...] float64, terminated [...]


def cartpole(state: Tensor, action: Tensor, chance: Tensor) -> Outcome | None:
    """`worlds.cartpole.dynamics`."""
    code = _code(state, 4) if simple(action, torch.int64) and action.shape == state.shape[:-1] else None
    if code is None:
        return None
    after, reward, terminated = _outcome(state)
    known = code.cartpole(_lanes(state), _numbers(action), _lanes(after), terminated.view(-1).numpy())
    return (after, reward.fill_(1), terminated) if known else None


def acrobot(state: Tensor, action: Tensor, chance: Tensor) -> Outcome | None:
    """`worlds.acrobot.dynamics`."""
    code = _code(state, 4) if simple(action, torch.int64) and action.shape == state.shape[:-1] else None
    if code is None:
        return None
    after, reward, terminated = _outcome(state)
    flat = reward.view(-1).numpy(), terminated.view(-1).numpy()
    known = code.acrobot(_lanes(state), _numbers(action), _lanes(after), *flat)
    return (after, reward, terminated) if known else None


def pendulum(state: Tensor, action: Tensor, chance: Tensor) -> Outcome | None:
    """`worlds.pendulum.dynamics`."""
    own = simple(action, torch.float32) and action.shape == (*state.shape[:-1], 1) and not action.requires_grad
    code = _code(state, 2) if own else None
    if code is None:
        return None
    after, reward, terminated = _outcome(state)
    code.pendulum(_lanes(state), _numbers(action), _lanes(after), reward.view(-1).numpy())
    return after, reward, terminated.fill_(False)


def acrobot_shown(state: Tensor) -> Tensor | None:
    """`worlds.acrobot.observe`."""
    return _shown("acrobot_shown", state, 4, 6)


def pendulum_shown(state: Tensor) -> Tensor | None:
    """`worlds.pendulum.observe`."""
    return _shown("pendulum_shown", state, 2, 3)


def _shown(name: str, state: Tensor, numbers: int, features: int) -> Tensor | None:
    code = _code(state, numbers)
    if code is None:
        return None
    obs = state.new_empty(*state.shape[:-1], features)
    getattr(code, name)(_lanes(state), _lanes(obs))
    return obs


def _code(state: Tensor, numbers: int) -> ModuleType | None:
    """The compiled rules, if states have so many numbers, and nobody asks for the gradient of what follows."""
    own = simple(state, torch.float32) and state.dim() and state.shape[-1] == numbers and not state.requires_grad
    return compiled("compiled_rules") if own else None


def _lanes(state: Tensor) -> object:
    """[..., D] as [lanes, D]."""
    return state.contiguous().view(-1, state.shape[-1]).numpy()


def _numbers(action: Tensor) -> object:
    """One number for each lane, [lanes]."""
    return action.contiguous().view(-1).numpy()


def _outcome(state: Tensor) -> Outcome:
    """Room for it."""
    lanes = state.shape[:-1]
    after, terminated = state.new_empty(state.shape), state.new_empty(lanes, dtype=torch.bool)
    return after, state.new_empty(lanes, dtype=torch.float64), terminated
