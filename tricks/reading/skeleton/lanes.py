"""The environments: a vector environment of Gymnasium for each seed."""

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, flatdim
from gymnasium.vector import AutoresetMode, VectorEnv
from torch import Tensor

from tricks.core.seeds import stream
from tricks.reading.skeleton.family import Family
from tricks.reading.skeleton.settings import Config
from tricks.reading.skeleton.switches import tricks


class Spaces(NamedTuple):
    """What agents need to know: D features of an observation, A actions or action dimensions, the kind of policy."""

    features: int
    actions: int
    family: Family


class Lanes:
    """S seeds × N lanes. The step after an episode's last one ignores its action and only resets."""

    def __init__(self, config: Config) -> None:
        self.lanes, self.seeds = config.lanes, range(config.seeds)
        self.envs = [make_vec(config.env, config.lanes) for _ in self.seeds]
        self.sees, self.acts = self.envs[0].single_observation_space, self.envs[0].single_action_space
        self.spaces = Spaces(flatdim(self.sees), flatdim(self.acts), Family(isinstance(self.acts, Discrete)))
        self.reset([int(stream(seed, "env").integers(2**31)) for seed in self.seeds])

    def reset(self, seeds: list[int] | None = None) -> None:
        """Begin a new episode in every lane."""
        first = [env.reset(seed=seeds[i] if seeds else None) for i, env in enumerate(self.envs)]
        self.raw, self.resetting = [obs for obs, _ in first], np.zeros((len(self.seeds), self.lanes), bool)
        if tricks.action_mask:
            self.masks: list[dict[str, Any]] = [info for _, info in first]

    def step(self, action: Tensor, playing: Tensor) -> list[Tensor]:
        """Reward, terminated and truncated, [S, N] each; seeds for which playing [S] is False stand still."""
        actions, shape = self.decode(action), self.resetting.shape
        reward, terminated, truncated = np.zeros(shape), np.zeros(shape, bool), np.zeros(shape, bool)
        if tricks.action_mask:
            self.masks = [{} for _ in self.seeds]
        for i in playing.nonzero()[:, 0].tolist():
            self.raw[i], reward[i], terminated[i], truncated[i], info = self.envs[i].step(actions[i])
            self.resetting[i] = terminated[i] | truncated[i]
            if tricks.action_mask:
                self.masks[i] = info
        return [torch.from_numpy(x) for x in (reward, terminated, truncated)]

    @property
    def obs(self) -> Tensor:
        """What the lanes show, as vectors [S, N, D]; Discrete observations become one-hot."""
        raw = np.stack(self.raw)
        if isinstance(self.sees, Discrete):
            return torch.nn.functional.one_hot(torch.from_numpy(raw - self.sees.start), self.spaces.features).float()
        return torch.from_numpy(raw.astype(np.float32).reshape(*self.resetting.shape, -1))

    @property
    def legal(self) -> Tensor:
        """Which actions info["action_mask"] allows, [S, N, A]; without one, all."""
        shape = (*self.resetting.shape, self.spaces.actions if self.spaces.family.discrete else 1)
        legal = np.ones(shape, bool)
        for i, info in enumerate(self.masks):
            if "action_mask" in info:
                mask = np.stack([np.asarray(row, bool) for row in info["action_mask"]])
                legal[i] = mask | ~np.asarray(info.get("_action_mask", True)).reshape(-1, 1)
        return torch.from_numpy(legal)

    def decode(self, action: Tensor) -> np.ndarray:
        """Actions as the environments take them: those of a Box are clipped to its bounds."""
        if isinstance(self.acts, Discrete):
            return action.numpy() + int(self.acts.start)
        assert isinstance(self.acts, Box)
        shaped = np.nan_to_num(action.numpy()).reshape(*self.resetting.shape, *self.acts.shape)  # NaN: it has diverged
        return np.clip(shaped, self.acts.low, self.acts.high).astype(self.acts.dtype)

    def close(self) -> None:
        for env in self.envs:
            env.close()


def make_vec(id: str, lanes: int) -> VectorEnv:
    """Gymnasium's vector environment with NEXT_STEP autoreset, of vectors or Discrete observations."""
    env = gym.make_vec(id, num_envs=lanes)
    if env.metadata.get("autoreset_mode") != AutoresetMode.NEXT_STEP:
        env = gym.make_vec(id, num_envs=lanes, vectorization_mode="sync")
    sees, acts = env.single_observation_space, env.single_action_space
    images = len(sees.shape or ()) == 3 and np.dtype(sees.dtype).kind == "u"
    if images or not (isinstance(sees, Box | Discrete) and isinstance(acts, Box | Discrete)):
        raise gym.error.Error(f"{id} needs vectors, no images, and Box or Discrete spaces, not {sees} and {acts}")
    return env
