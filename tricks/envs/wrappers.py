"""Environments around environments."""

from typing import Any

import torch
from torch import Tensor

from tricks.core.env import Env


class HostEnv:
    """An Env that is stepped on the CPU, beside an agent that may live elsewhere."""

    def __init__(self, env: Env, device: torch.device) -> None:
        self.env, self._device = env, device
        self.id, self.seeds, self.lanes, self.spaces = env.id, env.seeds, env.lanes, env.spaces
        self._show()

    def reset(self) -> None:
        self.env.reset()
        self._show()

    def step(self, action: Tensor, playing: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        reward, terminated, truncated = self.env.step(action.cpu(), playing.cpu())
        self._show()
        return reward.to(self._device), terminated.to(self._device), truncated.to(self._device)

    def close(self) -> None:
        self.env.close()

    @property
    def resumable(self) -> bool:
        return self.env.resumable

    def state_dict(self) -> dict[str, Any]:
        return self.env.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.env.load_state_dict(state)
        self._show()

    def _show(self) -> None:
        env = self.env
        shown = (env.obs, env.legal, env.resetting, env.score)
        self.obs, self.legal, self.resetting, self.score = (x.to(self._device) for x in shown)
