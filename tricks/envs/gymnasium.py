"""Gymnasium's environments: a vector environment per seed, in this process, in threads or in worker processes."""

import difflib
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, VectorEnv
from torch import Tensor

from tricks.config import Config
from tricks.core.env import Step
from tricks.core.seeds import stream
from tricks.core.spaces import Spaces
from tricks.envs.atari import is_atari, make_game, make_games
from tricks.envs.processes import close_workers, make_workers, what_happened
from tricks.errors import InputError


class GymnasiumEnv:
    """S seeds × N lanes of one Gymnasium id; each seed has a vector environment, and so a generator, of its own.

    Legal actions are read from `info["action_mask"]`, lives from `info["lives"]`; `infos` are those of the seeds that
    stepped last. Raises InputError for what the environment raises, and for a worker process that has died; it is
    closed then.
    """

    resumable = False

    def __init__(self, config: Config, purpose: str = "env") -> None:
        self.id, self.lanes, self.seeds, self.purpose = config.env, config.lanes, config.seed_list, purpose
        self._resumed = 0  # times
        self._envs: list[VectorEnv] = []
        try:
            for _ in self.seeds:
                self._envs.append(make_vec(config.env, config.lanes, config.backend == "processes"))
            first = self._envs[0]
            self.spaces = Spaces(config.env, first.single_observation_space, first.single_action_space)
        except BaseException:
            self.close()
            raise
        self._rows = (len(self.seeds), config.lanes)
        self._raw: list[np.ndarray] = [np.empty(0)] * len(self.seeds)
        self._all = torch.ones(*self._rows, self.spaces.actions if self.spaces.discrete else 1, dtype=torch.bool)
        self._lives: Tensor | None = None
        self._reset([int(stream(seed, purpose).integers(2**31)) for seed in self.seeds])

    def state_dict(self) -> dict[str, int]:
        return {"resumed": self._resumed}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """New episodes, each time from another stream: the first one would repeat those that the run began with."""
        self._resumed = state["resumed"] + 1
        self._reset([int(stream(seed, self.purpose, self._resumed).integers(2**31)) for seed in self.seeds])

    def reset(self) -> Step:
        """Begin a new episode in every lane."""
        return self._reset([None] * len(self.seeds))

    def _reset(self, seeds: Sequence[int | None]) -> Step:
        self.infos: dict[int, dict[str, Any]] = {}
        try:
            for i, env in enumerate(self._envs):
                self._raw[i], self.infos[i] = env.reset(seed=seeds[i])
        except Exception as error:
            raise self._failure(i, error) from error
        self.now = Step.first(self._obs(), self._legal(), self._count_lives())
        return self.now

    def step(self, action: Tensor, playing: Tensor) -> Step:
        """Step every playing seed; the others stand still."""
        actions, self.infos = self.spaces.decode(action), {}
        reward = np.zeros(self._rows)
        terminated, truncated = np.zeros(reward.shape, bool), np.zeros(reward.shape, bool)
        try:
            under_way = []
            for i in playing.nonzero()[:, 0].tolist():
                under_way.append((i, begin_step(self._envs[i], actions[i])))
            for i, finish in under_way:
                self._raw[i], reward[i], terminated[i], truncated[i], self.infos[i] = finish()
        except Exception as error:
            raise self._failure(i, error) from error
        ended = torch.where(playing.unsqueeze(1), torch.from_numpy(terminated | truncated), self.now.over)
        earned, ends = torch.from_numpy(reward), (torch.from_numpy(terminated), torch.from_numpy(truncated))
        self.now = Step(self._obs(), self._legal(), ended, ended, earned, *ends, earned, self._count_lives())
        return self.now

    def close(self) -> None:
        for env in self._envs:
            if isinstance(env, AsyncVectorEnv):
                close_workers(env)
            else:
                env.close()

    def _failure(self, i: int, error: Exception) -> InputError:
        """What went wrong with the environment of seed i, in one line, with everything closed."""
        env, said = self._envs[i], f"{type(error).__name__}: {error}"
        if isinstance(env, AsyncVectorEnv):
            said = what_happened(env, error)
        self.close()
        return InputError(f"{self.id}: {' '.join(said.split())} (seed {self.seeds[i]})")

    def _obs(self) -> Tensor:
        return self.spaces.encode(np.stack(self._raw), self._rows)

    def _legal(self) -> Tensor:
        legal = self._all.clone()  # a lane that gives no mask now has nothing forbidden
        for i, info in self.infos.items():
            if "action_mask" in info:
                mask = np.stack([np.asarray(row, dtype=bool) for row in info["action_mask"]])
                given = np.asarray(info.get("_action_mask", True))
                legal[i] = torch.from_numpy(mask | ~given.reshape(-1, 1))
        return legal

    def _count_lives(self) -> Tensor | None:
        """The lives of every lane: those that it reported last."""
        for i, info in self.infos.items():
            if "lives" in info:
                known = torch.zeros(self._rows, dtype=torch.int64) if self._lives is None else self._lives.clone()
                given = np.asarray(info.get("_lives", True))
                known[i] = torch.from_numpy(np.where(given, info["lives"], known[i].numpy()))
                self._lives = known
        return self._lives


def begin_step(env: Any, actions: np.ndarray) -> Callable[[], tuple[Any, ...]]:
    """Start a step of a vector environment; the function that is returned waits for its outcome.

    So the workers, or threads, of all seeds are busy at once.
    """
    finish: Callable[[], tuple[Any, ...]] = partial(env.step, actions)
    if isinstance(env, AsyncVectorEnv):
        env.step_async(actions)
        finish = env.step_wait
    elif hasattr(env, "recv"):  # ale-py's threads
        env.send(actions)
        finish = env.recv
    return finish


def make_vec(id: str, lanes: int, processes: bool = False) -> VectorEnv:
    """Gymnasium's vector environment with NEXT_STEP autoreset; with `processes`, every lane has a worker process.

    `module:Id` imports the module first, which registers the id. Raises InputError if the id cannot be made.
    """
    atari = is_atari(id)
    try:
        if processes:
            return make_workers(partial(make_game if atari else gym.make, id), lanes)
        if atari:
            return make_games(id, lanes)
        env = gym.make_vec(id, num_envs=lanes)
        if env.metadata.get("autoreset_mode") != AutoresetMode.NEXT_STEP:
            env.close()
            env = gym.make_vec(id, num_envs=lanes, vectorization_mode="sync")
    except InputError:
        raise
    except Exception as error:  # a constructor, or a module on its import, can raise anything
        said = str(error) or type(error).__name__
        raise InputError(f"cannot make the environment {id!r}: {' '.join(said.split())}{_hint(id, said)}") from error
    return env


def _hint(id: str, said: str) -> str:
    """An id that looks like the unknown one, unless what Gymnasium said already names one."""
    module, colon, name = id.rpartition(":")
    if name in gym.registry or "Did you mean" in said or (colon and module not in sys.modules):
        return ""
    near = difflib.get_close_matches(name, list(gym.registry), n=1)
    return f" Did you mean {module}{colon}{near[0]}?" if near else ""
