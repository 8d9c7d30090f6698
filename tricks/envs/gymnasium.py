"""Gymnasium environments: one vector environment per seed, in this process, in threads or in worker processes."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AsyncVectorEnv, VectorEnv
from torch import Tensor

from tricks.config import Config
from tricks.core.env import MakeEnv, Step
from tricks.core.seeds import stream
from tricks.core.spaces import Spaces
from tricks.envs.distinct import claimed, name_of, release
from tricks.envs.masks import in_one
from tricks.envs.processes import close_workers, what_happened
from tricks.envs.vectors import make_vec
from tricks.errors import InputError, in_words


class GymnasiumEnv:
    """S seeds × N lanes of one Gymnasium id, or of the environments that `make` returns; one vector env per seed.

    Legal actions are read from `info["action_mask"]`, where `with_masks` puts those that are given in another way,
    lives from `info["lives"]`, and the number of tasks, if there are several, from `metadata["tasks"]`; `infos` holds
    those of the seeds that stepped last. If the environment raises or a worker process dies, everything is closed and
    InputError raised.
    """

    resumable = False

    def __init__(self, config: Config, purpose: str = "env", make: MakeEnv | None = None) -> None:
        self.id, self.lanes, self.seeds, self.purpose = config.env, config.lanes, config.seed_list, purpose
        self._resumed = 0  # number of resumptions
        self._envs: list[VectorEnv] = []
        self._claimed: list[int] = []
        try:
            for _ in self.seeds:
                self._envs.append(make_vec(config, make))
            first = self._envs[0]
            self._claimed = claimed(self._envs)
            if make is not None:
                self.id = name_of(config.env, first)
            tasks = (first.metadata or {}).get("tasks", 1)
            kinds = first.single_observation_space, first.single_action_space
            self.spaces = Spaces(self.id, *kinds, tasks, config.as_vector)
        except BaseException:
            self.close()
            raise
        self._rows = (len(self.seeds), config.lanes)
        self._raw: list[Any] = [None] * len(self.seeds)
        self._all = torch.ones(*self._rows, self.spaces.actions if self.spaces.discrete else 1, dtype=torch.bool)
        self._lives: Tensor | None = None
        self._reset([int(stream(seed, purpose).integers(2**31)) for seed in self.seeds])
        self.masks = self.spaces.discrete and any("action_mask" in info for info in self.infos.values())

    def state_dict(self) -> dict[str, int]:
        return {"resumed": self._resumed}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Start new episodes from a new stream each time; the original one would repeat the run's first episodes."""
        self._resumed = state["resumed"] + 1
        self._reset([int(stream(seed, self.purpose, self._resumed).integers(2**31)) for seed in self.seeds])

    def reset(self) -> Step:
        """Start a new episode in every lane."""
        return self._reset([None] * len(self.seeds))

    def _reset(self, seeds: Sequence[int | None]) -> Step:
        self.infos: dict[int, dict[str, Any]] = {}
        try:
            for i, env in enumerate(self._envs):
                self._raw[i], self.infos[i] = env.reset(seed=seeds[i])
        except (Exception, SystemExit) as error:
            raise self._failure(i, error) from error
        self.now = Step.first(self._obs(), self._legal(), self._count_lives())
        return self.now

    def step(self, action: Tensor, playing: Tensor) -> Step:
        """Step the playing seeds; the others don't move."""
        actions, self.infos = self.spaces.decode(action), {}
        reward = np.zeros(self._rows)
        terminated, truncated = np.zeros(reward.shape, bool), np.zeros(reward.shape, bool)
        try:
            pending = []
            for i in playing.nonzero()[:, 0].tolist():
                pending.append((i, begin_step(self._envs[i], actions[i])))
            for i, finish in pending:
                self._raw[i], reward[i], terminated[i], truncated[i], self.infos[i] = finish()
        except (Exception, SystemExit) as error:
            raise self._failure(i, error) from error
        ended = torch.where(playing.unsqueeze(1), torch.from_numpy(terminated | truncated), self.now.over)
        score, ends = torch.from_numpy(reward), (torch.from_numpy(terminated), torch.from_numpy(truncated))
        self.now = Step(self._obs(), self._legal(), ended, ended, score, *ends, score, self._count_lives())
        return self.now

    def close(self) -> None:
        """Close every environment. If one fails to close, that costs nothing but a line on stderr."""
        failures = []
        for env in self._envs:
            try:
                close_workers(env) if isinstance(env, AsyncVectorEnv) else env.close()
            except (Exception, SystemExit) as error:  # the training that it served may be finished
                failures.append(in_words(error))
        release(self._claimed)
        self._envs, self._claimed = [], []
        for words in failures[:1]:
            print(f"{self.id}: close() failed, which changes no result: {words}", file=sys.stderr)

    def _failure(self, i: int, error: BaseException) -> InputError:
        """Close everything and return a one-line error for the environment of seed i."""
        env, reason = self._envs[i], in_words(error)
        if isinstance(env, AsyncVectorEnv) and isinstance(error, Exception):
            reason = what_happened(env, error)
        self.close()
        return InputError(f"{self.id}: {reason} (seed {self.seeds[i]})")

    def _obs(self) -> Tensor:
        parts = [np.stack([leaf.of(obs) for obs in self._raw]) for leaf in self.spaces.leaves]
        return self.spaces.joined(parts, self._rows)

    def _legal(self) -> Tensor:
        legal = self._all.clone()  # in a lane that gives no mask, everything is legal
        for i, info in self.infos.items():
            if "action_mask" in info and self.spaces.discrete:
                given = np.broadcast_to(info.get("_action_mask", True), self.lanes).nonzero()[0].tolist()
                masks = [self._mask(info["action_mask"][lane]) for lane in given]
                legal[i, given] = torch.from_numpy(np.stack(masks))
        return legal

    def _mask(self, given: Any) -> np.ndarray:
        """The mask of one lane, [A]. Raises InputError if it does not have one entry per action."""
        mask = np.asarray(in_one(given) if isinstance(given, tuple | list) else given, dtype=bool)
        if mask.shape != self._all.shape[2:]:
            raise InputError(
                f'{self.id}: info["action_mask"] has shape {mask.shape}, not ({self._all.shape[2]},): '
                "one entry per action"
            )
        return mask

    def _count_lives(self) -> Tensor | None:
        """The number of lives that each lane reported last; None if no lane reports lives."""
        for i, info in self.infos.items():
            if "lives" in info:
                known = torch.zeros(self._rows, dtype=torch.int64) if self._lives is None else self._lives.clone()
                given = np.asarray(info.get("_lives", True))
                known[i] = torch.from_numpy(np.where(given, info["lives"], known[i].numpy()))
                self._lives = known
        return self._lives


def begin_step(env: Any, actions: np.ndarray) -> Callable[[], tuple[Any, ...]]:
    """Start a step of a vector environment and return a function that waits for its result.

    This way, the workers or threads of all seeds run in parallel.
    """
    finish: Callable[[], tuple[Any, ...]] = partial(env.step, actions)
    if isinstance(env, AsyncVectorEnv):
        env.step_async(actions)
        finish = env.step_wait
    elif hasattr(env, "recv"):  # ale-py's threads
        env.send(actions)
        finish = env.recv
    return finish
