"""EnvPool environments: all lanes of all seeds in one pool, stepped in C++. Weng et al. 2022, arXiv:2206.10558."""

import os
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.env import Step
from tricks.core.extras import extra
from tricks.core.seeds import stream
from tricks.core.spaces import Spaces
from tricks.envs.lane import refuse_changes
from tricks.errors import InputError
from tricks.flags import meant


class EnvPoolEnv:
    """S seeds × N lanes of one EnvPool id, in one pool.

    Every lane has its own generator, and a seed that isn't playing is not stepped, so seeds don't affect each other.
    EnvPool's autoreset is NEXT_STEP. If an episode terminates exactly at its time limit, EnvPool reports it as
    truncated. EnvPool gives no action mask, so legal is True everywhere.

    MiniGrid's mission is text and is dropped from its Dict observations. Raises InputError if it differs between
    episodes, because then it matters.
    """

    resumable = False
    masks = False

    def __init__(self, config: Config, purpose: str = "env") -> None:
        refuse_changes(config, "env_args")
        self.id, self.lanes, self.seeds, self.purpose = config.env, config.lanes, config.seed_list, purpose
        self._args, self._resumed = config.env_kwargs, 0  # number of resumptions
        self._pool, space, action = self._make()
        if isinstance(space, gym.spaces.Dict):
            space = gym.spaces.Dict([(name, part) for name, part in space.spaces.items() if name != "mission"])
        self.spaces, self._mission = Spaces(self.id, space, action, as_vector=config.as_vector), None
        rows = (len(self.seeds), self.lanes)
        self._ids = np.arange(len(self.seeds) * self.lanes, dtype=np.int32).reshape(rows)
        self._obs = torch.zeros(*rows, *self.spaces.shape, dtype=self.spaces.dtype)
        self._legal = torch.ones(*rows, self.spaces.actions if self.spaces.discrete else 1, dtype=torch.bool)
        self._lives: Tensor | None = None
        self.reset()

    def reset(self) -> Step:
        """Start a new episode in every lane."""
        obs, info = self._pool.reset()
        self._show(obs, info, torch.ones(len(self.seeds), dtype=torch.bool))
        self.now = Step.first(self._obs, self._legal, self._lives)
        return self.now

    def step(self, action: Tensor, playing: Tensor) -> Step:
        """Step the playing seeds; the others don't move."""
        seeds = playing.numpy()
        actions = np.concatenate(self.spaces.decode(action)[seeds])  # [lanes that play, ...]
        obs, *columns, info = self._pool.step(actions, self._ids[seeds].ravel())
        reward, terminated, truncated = (self._spread(column, seeds) for column in columns)
        reward, ended = reward.double(), torch.where(playing.unsqueeze(1), terminated | truncated, self.now.over)
        self._show(obs, info, playing)
        self.now = Step(self._obs, self._legal, ended, ended, reward, terminated, truncated, reward, self._lives)
        return self.now

    def close(self) -> None:
        self._pool.close()
        del self._pool  # this ends its threads

    def state_dict(self) -> dict[str, int]:
        return {"resumed": self._resumed}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Start new episodes in a new pool, as in GymnasiumEnv; a pool cannot be reseeded."""
        self.close()
        self._resumed = state["resumed"] + 1
        self._pool, *_ = self._make()
        self.reset()

    def _make(self) -> tuple[Any, gym.Space[Any], gym.Space[Any]]:
        index = (self._resumed,) if self._resumed else ()
        streams = [stream(seed, self.purpose, *index) for seed in self.seeds]
        return make_pool(self.id, np.concatenate([rng.integers(2**31, size=self.lanes) for rng in streams]), self._args)

    def _spread(self, column: np.ndarray, seeds: np.ndarray) -> Tensor:
        """[lanes that play] -> [S, N], with 0 for the other lanes."""
        whole = np.zeros(self._ids.shape, column.dtype)
        whole[seeds] = column.reshape(-1, self.lanes)
        return torch.from_numpy(whole)

    def _show(self, obs: Any, info: dict[str, Any], playing: Tensor) -> None:
        """Copy the playing seeds' observations, [their lanes, ...] per part, into new tensors."""
        missions = obs.get("mission", np.zeros(1)) if isinstance(obs, dict) else np.zeros(1)
        self._mission = missions[0] if self._mission is None else self._mission
        if (missions != self._mission).any():
            raise InputError(f"{self.id}: the mission differs between episodes; text observations are not supported")
        self._obs = self._obs.clone()
        self._obs[playing] = self.spaces.encode(obs, (int(playing.sum()), self.lanes))
        if "lives" in info:  # Atari
            lives = self._spread(info["lives"], playing.numpy()).long()
            self._lives = lives if self._lives is None else torch.where(playing.unsqueeze(1), lives, self._lives)


def make_pool(id: str, seeds: np.ndarray, args: dict[str, Any]) -> tuple[Any, gym.Space[Any], gym.Space[Any]]:
    """A pool with one lane per seed, and its two spaces.

    Raises InputError if EnvPool is not installed, does not know the id, or needs more than one player for it.
    """
    envpool = extra("envpool", "envpool")
    known = envpool.list_all_envs()
    if id not in known:
        raise InputError(f"backend envpool has no {id!r}{meant(id, known)}")
    try:
        pool = envpool.make_gymnasium(id, num_envs=len(seeds), seed=seeds, num_threads=thread_count(), **args)
    except Exception as error:  # a system library or an asset is missing, or an argument does not fit
        raise InputError(f"cannot make the environment {id!r}: {' '.join(str(error).split())}") from error
    if pool.config["max_num_players"] > 1:
        raise InputError(f"{id} has {pool.config['max_num_players']} players; only one is supported")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*precision lowered by casting")  # bounds given as float64
        return pool, pool.observation_space, pool.action_space


def thread_count() -> int:
    """OMP_NUM_THREADS, which workers that share a machine set to 1; without it, one per core open to this process."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return int(given) if given.isdecimal() and int(given) else cores or 1
