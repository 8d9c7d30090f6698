"""The rules of three worlds, compiled by numba where they can be. Each returns None for tensors that it is not for."""

from types import ModuleType

import torch
from torch import Tensor

from tricks.fast.dispatch import compiled

Outcome = tuple[Tensor, Tensor, Tensor]  # state [..., D], reward [...] float64, terminated [...]


def cartpole(state: Tensor, action: Tensor, chance: Tensor) -> Outcome | None:
    """`worlds.cartpole.dynamics`."""
    state = state.contiguous()
    code = _code(state, action, torch.int64)
    if code is None:
        return None
    after, reward, terminated = _outcome(state)
    code.cartpole(_lanes(state), action.reshape(-1).numpy(), _lanes(after), terminated.view(-1).numpy())
    return after, reward.fill_(1), terminated


def acrobot(state: Tensor, action: Tensor, chance: Tensor) -> Outcome | None:
    """`worlds.acrobot.dynamics`."""
    state = state.contiguous()
    code = _code(state, action, torch.int64)
    if code is None:
        return None
    after, reward, terminated = _outcome(state)
    flat = reward.view(-1).numpy(), terminated.view(-1).numpy()
    code.acrobot(_lanes(state), action.reshape(-1).numpy(), _lanes(after), *flat)
    return after, reward, terminated


def pendulum(state: Tensor, action: Tensor, chance: Tensor) -> Outcome | None:
    """`worlds.pendulum.dynamics`."""
    state = state.contiguous()
    code = _code(state, action, torch.float32)
    if code is None:
        return None
    after, reward, terminated = _outcome(state)
    code.pendulum(_lanes(state), action.reshape(-1).numpy(), _lanes(after), reward.view(-1).numpy())
    return after, reward, terminated.fill_(False)


def acrobot_shown(state: Tensor) -> Tensor | None:
    """`worlds.acrobot.observe`."""
    return _shown("acrobot_shown", state, 6)


def pendulum_shown(state: Tensor) -> Tensor | None:
    """`worlds.pendulum.observe`."""
    return _shown("pendulum_shown", state, 3)


def _shown(name: str, state: Tensor, features: int) -> Tensor | None:
    state = state.contiguous()
    code = compiled("compiled_rules", state)
    if code is None:
        return None
    obs = state.new_empty(*state.shape[:-1], features)
    getattr(code, name)(_lanes(state), _lanes(obs))
    return obs


def _code(state: Tensor, action: Tensor, kind: torch.dtype) -> ModuleType | None:
    return compiled("compiled_rules", state) if action.dtype is kind else None


def _lanes(state: Tensor) -> object:
    """[..., D] as [lanes, D]."""
    return state.view(-1, state.shape[-1]).numpy()


def _outcome(state: Tensor) -> Outcome:
    """Room for it."""
    lanes = state.shape[:-1]
    after, terminated = torch.empty_like(state), state.new_empty(lanes, dtype=torch.bool)
    return after, state.new_empty(lanes, dtype=torch.float64), terminated
