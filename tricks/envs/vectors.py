"""Environments that have a class of their own for the lanes of one seed, such as ale-py's games."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import find_highest_version, get_env_id, parse_env_id
from gymnasium.vector import AutoresetMode, VectorEnv

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.spaces import Spaces
from tricks.envs.atari import is_atari, make_games
from tricks.envs.generators import Draws
from tricks.envs.ids import import_module_of, maker_of
from tricks.envs.lane import changes
from tricks.envs.masks import shows_mask
from tricks.envs.statistics import refuse_statistics
from tricks.envs.stepping import Columns, Reading, Told


def has_vector_version(config: Config, make: MakeEnv | None = None) -> bool:
    """Whether the environment has a class for many lanes, which serves unless the config changes it."""
    if make is not None or changes(config) or maker_of(config.env):
        return False
    if is_atari(config.env):
        return True
    name = import_module_of(config.env)
    namespace, plain, version = parse_env_id(name)
    if version is None:  # as for Gymnasium, the highest
        name = get_env_id(namespace, plain, find_highest_version(namespace, plain))
    return name in gym.registry and gym.registry[name].vector_entry_point is not None


class VectorLanes:
    """The lanes of one seed in one object, with NEXT_STEP autoreset; those of ale-py play in threads."""

    lanes = ()

    def __init__(self, config: Config, env: VectorEnv, draws: Draws) -> None:
        self.env, self._draws = env, draws
        kinds = env.single_observation_space, env.single_action_space
        self.spaces = [Spaces(config.env, *kinds, (env.metadata or {}).get("tasks", 1), config.as_vector)]
        self._reading = Reading(config, self.spaces[0])

    @classmethod
    def of(cls, config: Config, draws: Draws) -> "VectorLanes | None":
        """Those of config.env; None if its class resets in another way, or shows masks in observations."""
        with draws.during("reset"):
            if is_atari(config.env):
                return cls(config, make_games(config.env, config.lanes), draws)
            env = gym.make_vec(config.env, num_envs=config.lanes)
        refuse_statistics(env)
        shown = shows_mask(env.single_observation_space, env.single_action_space)
        if env.metadata.get("autoreset_mode") == AutoresetMode.NEXT_STEP and not shown:
            return cls(config, env, draws)
        env.close()
        return None

    def ask(self, call: str, each: Sequence[Any]) -> None:
        """Begin a call, so that the threads of all seeds play side by side."""
        self._asked = call
        self._finish: Callable[[], tuple[Any, ...]] = partial(self.env.step, each)
        if call == "reset":
            self._draws = each[0].draws or self._draws
            self._finish = partial(self._reset, each[0].seed)
        elif hasattr(self.env, "recv"):  # ale-py's threads
            self.env.send(each)  # type: ignore[attr-defined]
            self._finish = self.env.recv

    def hear(self, columns: Columns) -> dict[int, Told]:
        with self._draws.during(self._asked):
            obs, *outcome, info = self._finish()
        for column, leaf in zip(columns.parts, self.spaces[0].leaves, strict=True):
            column[:] = leaf.of(obs)
        columns.reward[:], columns.terminated[:], columns.truncated[:] = outcome
        if info.keys().isdisjoint(self._reading.names):
            return {}
        stepped = self._asked == "step"
        return {lane: self._reading(_own(info, lane), stepped) for lane in range(self.env.num_envs)}

    def _reset(self, seed: int | None) -> tuple[Any, ...]:
        obs, info = self.env.reset(seed=seed)
        return obs, 0.0, False, False, info

    def close(self) -> None:
        """Close the object."""
        self.env.close()


def _own(info: Mapping[str, Any], lane: int) -> dict[str, Any]:
    """One lane's part of a joint info, which has an array for each name, and in _name which lanes gave it."""
    return {
        name: _own(x, lane) if isinstance(x, Mapping) else x[lane]
        for name, x in info.items()
        if f"_{name}" not in info or info[f"_{name}"][lane]
    }
