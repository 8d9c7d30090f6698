"""The environments: a vector environment of Gymnasium for each seed."""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from torch import Tensor

from tricks.config import Config
from tricks.core.env import Step
from tricks.core.seeds import stream
from tricks.core.spaces import Spaces
from tricks.envs.gymnasium import GymnasiumEnv


class Lanes(GymnasiumEnv):
    """S seeds × N lanes of one Gymnasium id, with NEXT_STEP autoreset: the step after an episode's end only resets.

    Each seed has a vector environment, and so a generator, of its own. `now` is what the lanes show. Legal actions are
    read from `info["action_mask"]`.
    """

    def __init__(self, config: Config) -> None:
        self.id, self.lanes, self.seeds = config.env, config.lanes, config.seed_list
        self._envs = [make_vec(config.env, config.lanes) for _ in self.seeds]
        first = self._envs[0]
        self.spaces = Spaces(config.env, first.single_observation_space, first.single_action_space)
        self._rows = (len(self.seeds), config.lanes)
        self._all = torch.ones(*self._rows, self.spaces.actions if self.spaces.discrete else 1, dtype=torch.bool)
        self._raw: list[np.ndarray] = [np.empty(0)] * len(self.seeds)
        self._reset([int(stream(seed, "env").integers(2**31)) for seed in self.seeds])

    def _reset(self, seeds: Sequence[int | None]) -> Step:
        self.infos: dict[int, dict[str, Any]] = {}
        for i, env in enumerate(self._envs):
            self._raw[i], self.infos[i] = env.reset(seed=seeds[i])
        self.now = Step.first(self._obs(), self._legal())
        return self.now

    def step(self, action: Tensor, playing: Tensor) -> Step:
        """Step every seed for which playing [S] is True; the others stand still."""
        actions, self.infos = self.spaces.decode(action), {}
        reward = np.zeros(self._rows)
        terminated, truncated = np.zeros(self._rows, bool), np.zeros(self._rows, bool)
        for i in playing.nonzero()[:, 0].tolist():
            self._raw[i], reward[i], terminated[i], truncated[i], self.infos[i] = self._envs[i].step(actions[i])
        ended = torch.where(playing.unsqueeze(1), torch.from_numpy(terminated | truncated), self.now.over)
        earned, ends = torch.from_numpy(reward), (torch.from_numpy(terminated), torch.from_numpy(truncated))
        self.now = Step(self._obs(), self._legal(), ended, ended, earned, *ends, earned)
        return self.now

    def close(self) -> None:
        for env in self._envs:
            env.close()


def make_vec(id: str, lanes: int) -> VectorEnv:
    """Gymnasium's vector environment with NEXT_STEP autoreset."""
    env = gym.make_vec(id, num_envs=lanes)
    if env.metadata.get("autoreset_mode") != AutoresetMode.NEXT_STEP:
        env.close()
        env = gym.make_vec(id, num_envs=lanes, vectorization_mode="sync")
    return env
