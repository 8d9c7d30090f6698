"""Environments behind one interface: [S, N] lanes that are stepped together.

Every lane follows one convention, Gymnasium's NEXT_STEP autoreset: the observation returned at the end of an
episode is its true last one, and the step after it ignores the action and returns the reset observation. That
second step is no experience; `resetting` marks the lanes that are about to take it.
"""

from typing import Any, Protocol

import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.atari import AtariEnv, is_atari
from tricks.core.devices import find_device
from tricks.core.envpool import EnvPoolEnv
from tricks.core.errors import InputError
from tricks.core.gymnasium import GymnasiumEnv
from tricks.core.spaces import Spaces
from tricks.worlds import CLASSIC, WORLDS, TensorEnv


class Env(Protocol):
    """What the loop knows of an environment.

    obs [S, N, D] float32 or [S, N, C, H, W] uint8, legal [S, N, A] bool and resetting [S, N] bool say what the lanes
    show now; a step puts new tensors in their place, on the device of the agent. legal is True everywhere where the
    environment gives no action mask, and for Box actions. score [S, N] float64 are the last step's rewards as the
    game counts them: those that `step` returned, except in Atari.
    """

    id: str
    seeds: tuple[int, ...]
    lanes: int
    spaces: Spaces
    obs: Tensor
    legal: Tensor
    resetting: Tensor
    score: Tensor

    def reset(self) -> None:
        """A new episode in every lane."""

    def step(self, action: Tensor, playing: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One step of every seed for which playing [S] is True; those for which it is False do not count.

        action is [S, N] or [S, N, A]; returns reward (float64), terminated and truncated, each [S, N].
        """

    def close(self) -> None:
        """Free what the environment holds."""

    @property
    def resumable(self) -> bool:
        """Whether `load_state_dict` puts the lanes back into the middle of their episodes."""

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` needs."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on as `state_dict` found it; if not resumable, with new episodes that the run has not seen yet."""


def make_env(config: Config, purpose: str = "env") -> Env:
    """The environment of config.env on config.backend; "auto" takes the tensor world where there is one.

    Raises InputError if the backend does not have it, or if the machine does not have the device.
    """
    device = find_device(config.device)
    if config.backend in ("auto", "tensor") and config.env in WORLDS:
        return TensorEnv(WORLDS[config.env], config, purpose)
    if config.backend == "tensor":
        raise InputError(f"backend tensor has no {config.env!r}; it has {', '.join(CLASSIC)} and all tricks/...")
    env: Env
    if config.backend == "envpool":
        env = EnvPoolEnv(config, purpose)
    else:
        env = GymnasiumEnv(config, purpose)
        if is_atari(config.env):
            env = AtariEnv(env)
    return env if device.type == "cpu" else HostEnv(env, device)


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
