"""Environments behind one interface: [S, N] lanes that are stepped together.

Every lane follows one convention, Gymnasium's NEXT_STEP autoreset: the observation returned at the end of an
episode is its true last one, and the step after it ignores the action and returns the reset observation. That
second step is no experience; `resetting` marks the lanes that are about to take it.
"""

import difflib
from collections.abc import Sequence
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from torch import Tensor

from tricks.config import Config
from tricks.core.devices import find_device
from tricks.core.envpool import EnvPoolEnv
from tricks.core.errors import InputError
from tricks.core.extras import extra
from tricks.core.seeds import stream
from tricks.core.spaces import Spaces
from tricks.worlds import CLASSIC, WORLDS, TensorEnv


class Env(Protocol):
    """What the loop knows of an environment.

    obs [S, N, D] float32, legal [S, N, A] bool and resetting [S, N] bool say what the lanes show now; a step
    puts new tensors in their place, on the device of the agent. legal is True everywhere where the environment
    gives no action mask, and for Box actions.
    """

    id: str
    seeds: tuple[int, ...]
    lanes: int
    spaces: Spaces
    obs: Tensor
    legal: Tensor
    resetting: Tensor

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
    env = EnvPoolEnv(config, purpose) if config.backend == "envpool" else GymnasiumEnv(config, purpose)
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
        self.obs, self.legal, self.resetting = (x.to(self._device) for x in (env.obs, env.legal, env.resetting))


class GymnasiumEnv:
    """S seeds × N lanes of one Gymnasium id; each seed has a vector environment, and so a generator, of its own.

    Legal actions are read from `info["action_mask"]`.
    """

    resumable = False

    def __init__(self, config: Config, purpose: str = "env") -> None:
        self.id, self.lanes, self.seeds, self.purpose = config.env, config.lanes, config.seed_list, purpose
        self._resumed = 0  # times
        self._envs = [make_vec(config.env, config.lanes) for _ in self.seeds]
        first = self._envs[0]
        self.spaces = Spaces(config.env, first.single_observation_space, first.single_action_space)
        rows = (len(self.seeds), config.lanes)
        self._raw: list[np.ndarray] = [np.empty(0)] * len(self.seeds)
        self.legal = torch.ones(*rows, self.spaces.actions if self.spaces.discrete else 1, dtype=torch.bool)
        self._reset([int(stream(seed, purpose).integers(2**31)) for seed in self.seeds])

    def state_dict(self) -> dict[str, int]:
        return {"resumed": self._resumed}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """New episodes, each time from another stream: the first one would repeat those that the run began with."""
        self._resumed = state["resumed"] + 1
        self._reset([int(stream(seed, self.purpose, self._resumed).integers(2**31)) for seed in self.seeds])

    def reset(self) -> None:
        """A new episode in every lane."""
        self._reset([None] * len(self.seeds))

    def _reset(self, seeds: Sequence[int | None]) -> None:
        infos = {}
        for i, env in enumerate(self._envs):
            self._raw[i], infos[i] = env.reset(seed=seeds[i])
        self.resetting = torch.zeros(len(self.seeds), self.lanes, dtype=torch.bool)
        self._show(infos)

    def step(self, action: Tensor, playing: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One step of every playing seed; the others stand still."""
        actions, infos = self.spaces.decode(action), {}
        reward = np.zeros(self.resetting.shape)
        terminated, truncated = np.zeros(reward.shape, bool), np.zeros(reward.shape, bool)
        for i in playing.nonzero()[:, 0].tolist():
            self._raw[i], reward[i], terminated[i], truncated[i], infos[i] = self._envs[i].step(actions[i])
        ends = torch.from_numpy(terminated | truncated)
        self.resetting = torch.where(playing.unsqueeze(1), ends, self.resetting)
        self._show(infos)
        return torch.from_numpy(reward), torch.from_numpy(terminated), torch.from_numpy(truncated)

    def close(self) -> None:
        for env in self._envs:
            env.close()

    def _show(self, infos: dict[int, dict[str, Any]]) -> None:
        self.obs = self.spaces.encode(np.stack(self._raw), tuple(self.resetting.shape))
        self.legal = torch.ones_like(self.legal)  # a lane that gives no mask now has nothing forbidden
        for i, info in infos.items():
            if "action_mask" in info:
                mask = np.stack([np.asarray(row, dtype=bool) for row in info["action_mask"]])
                given = np.asarray(info.get("_action_mask", True))
                self.legal[i] = torch.from_numpy(mask | ~given.reshape(-1, 1))


def make_vec(id: str, lanes: int) -> VectorEnv:
    """Gymnasium's vector environment with NEXT_STEP autoreset. Raises InputError if the id cannot be made.

    ALE ids are ale-py's own, stepped in C++: [4, 84, 84] gray frames, rewards cut to their sign.
    """
    if id.startswith("ALE/"):
        extra("atari", "ale_py")  # the import registers the ids
    try:
        env = gym.make_vec(id, num_envs=lanes)
        if env.metadata.get("autoreset_mode") != AutoresetMode.NEXT_STEP:
            env.close()
            env = gym.make_vec(id, num_envs=lanes, vectorization_mode="sync")
    except (gym.error.Error, ImportError, AttributeError) as error:
        known = id in gym.registry or "Did you mean" in str(error)
        near = [] if known else difflib.get_close_matches(id, list(gym.registry), n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise InputError(f"cannot make the environment {id!r}: {' '.join(str(error).split())}{hint}") from error
    return env
