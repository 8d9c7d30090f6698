"""The lanes of one seed in this process: stepped one by one, or as one object if there is a class for that."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from math import isfinite, nan
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import find_highest_version, get_env_id, parse_env_id
from gymnasium.vector import AutoresetMode, VectorEnv

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.extras import advice
from tricks.core.spaces import Spaces
from tricks.envs.atari import is_atari, make_games
from tricks.envs.contract import in_one, number, part_of, shows_mask
from tricks.envs.generators import Draws
from tricks.envs.ids import import_module_of, maker_of
from tricks.envs.lane import changes, make_lane, refuse_statistics
from tricks.errors import InputError, in_words, said
from tricks.flags import meant
from tricks.texts import found, recorded
from tricks.values import shown

Told = dict[str, Any]  # what is read of one lane's info, see `Reading`
Outcome = tuple[list[np.ndarray], Any, bool, bool, Told]  # parts of the observation, reward, ends, told


class Columns(NamedTuple):
    """Where the outcomes of the lanes of one seed are written, [N, ...] each."""

    parts: Sequence[np.ndarray]
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray

    def fill(self, outcomes: Iterable[Outcome]) -> dict[int, Told]:
        """Write the outcomes of the lanes, in order, and return what some of them told."""
        each, self.reward[:], self.terminated[:], self.truncated[:], told = zip(*outcomes, strict=True)
        for lane, parts in enumerate(each):
            for column, part in zip(self.parts, parts, strict=True):
                column[lane] = part
        return {lane: what for lane, what in enumerate(told) if what}


class Start(NamedTuple):
    """How a lane is reset: with this seed, and with other draws from then on, if they are given."""

    seed: int | None = None
    draws: Draws | None = None


class Reading:
    """What is read of an info: the mask of legal actions, lives, the numbers to record, and nothing else."""

    def __init__(self, config: Config, spaces: Spaces) -> None:
        self.actions, self.record = spaces.actions if spaces.discrete else 0, tuple(recorded(config.record))
        self.names = {"action_mask", "lives", *(name.partition(".")[0] for name in self.record), *self.record}

    def __call__(self, info: Mapping[str, Any], stepped: bool) -> Told:
        """What one lane tells; what is recorded, only if it has stepped. Lives that are no number count as none.

        Raises InputError for a mask of another size, and for what is to be recorded and is no number.
        """
        told: Told = {}
        if self.actions and (mask := info.get("action_mask")) is not None:
            told["action_mask"] = np.asarray(in_one(mask) if isinstance(mask, tuple | list) else mask, dtype=bool)
            if told["action_mask"].shape != (self.actions,):
                raise InputError(
                    f'info["action_mask"] has shape {told["action_mask"].shape}, not ({self.actions},): '
                    "one entry per action"
                )
        lives = number(info["lives"]) if "lives" in info else None
        if lives is not None and isfinite(lives):
            told["lives"] = int(lives)
        if self.record and stepped:
            told["record"] = [self._number(info, name) for name in self.record]
        return told

    def _number(self, info: Mapping[str, Any], name: str) -> float:
        """A number to record; NaN for one that is not there, or None. Raises InputError for what is no number."""
        given = found(info, name)
        one = nan if given is None else number(given)
        if one is None:
            raise InputError(f"record: info[{name!r}] must be a number, not {shown(given)}")
        return one


class Lane:
    """One environment with NEXT_STEP autoreset, which draws from NumPy's global generator as if it were alone.

    Of its infos, only `Reading` leaves it, so that they may hold anything. Raises InputError if the environment cannot
    be made.
    """

    def __init__(self, config: Config, make: MakeEnv | None, draws: Draws) -> None:
        self._draws, self._over = draws, False
        with naming(config, make), draws:
            self.env = make_lane(config, make)
        named = make is None or config.env != Config.env
        label = config.env if named else type(self.env.unwrapped).__name__
        tasks = (self.env.metadata or {}).get("tasks", 1)
        self.spaces = Spaces(label, self.env.observation_space, self.env.action_space, tasks, config.as_vector)
        self._reading = Reading(config, self.spaces)

    def reset(self, start: Start) -> Outcome:
        """Start a new episode."""
        self._draws, self._over = start.draws or self._draws, False
        with self._draws:
            obs, info = self.env.reset(seed=start.seed)
        return self._parts("reset()", obs), 0.0, False, False, self._reading(info, False) if info else info

    def step(self, action: Any) -> Outcome:
        """Step, or start the next episode if the last one is over."""
        if self._over:
            return self.reset(Start())
        with self._draws:
            obs, reward, terminated, truncated, info = self.env.step(action)
        self._over = terminated or truncated
        return self._parts("step()", obs), reward, terminated, truncated, self._reading(info, True) if info else info

    def _parts(self, call: str, obs: Any) -> list[np.ndarray]:
        return [part_of(leaf, call, obs) for leaf in self.spaces.leaves]


class LocalLanes:
    """The lanes of one seed in this process, stepped one after the other."""

    def __init__(self, config: Config, make: MakeEnv | None, draws: Sequence[Draws]) -> None:
        self.lanes: list[Lane] = []
        try:
            for each in draws:
                self.lanes.append(Lane(config, make, each))
        except BaseException:
            with suppress(Exception, SystemExit):  # what made it fail says more
                self.close()
            raise

    @property
    def spaces(self) -> list[Spaces]:
        """Those of each lane."""
        return [lane.spaces for lane in self.lanes]

    def ask(self, call: str, each: Sequence[Any]) -> None:
        """Begin a call, reset or step, of every lane with its own argument; `hear` writes down what comes of it."""
        self._asked = call, each

    def hear(self, columns: Columns) -> dict[int, Told]:
        call, each = self._asked
        return columns.fill([getattr(lane, call)(given) for lane, given in zip(self.lanes, each, strict=True)])

    def close(self) -> None:
        """Close every lane, also if some fail to; raises what they raise."""
        with ExitStack() as stack:
            for lane in self.lanes:
                stack.callback(lane.env.close)
            self.lanes = []


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
        with draws:
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
        with self._draws:
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


@contextmanager
def naming(config: Config, make: MakeEnv | None) -> Iterator[None]:
    """Raise InputError, naming the environment, for whatever its making raises."""
    try:
        yield
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # constructors and imports can raise anything
        reason = in_words(error) if isinstance(error, SystemExit) else advice(error)
        named, hint = config.env if make is None else "", ""
        if isinstance(error, gym.error.UnregisteredEnv) and "Did you mean" not in said(error):
            module, colon, name = named.rpartition(":")
            foreign = "" if module else f"; if a module of yours registers it, name that: module:{name}"
            hint = meant(name, gym.registry, before=module + colon) + foreign
        what, reason = repr(named) if named else "that env= makes", reason.rstrip(".") if hint else reason
        raise InputError(f"cannot make the environment {what}: {reason}{hint}") from error
