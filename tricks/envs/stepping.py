"""Lanes stepped one by one: what every lane does, and those in this process."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import isfinite, nan
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.extras import advice
from tricks.core.spaces import Spaces
from tricks.envs.generators import Draws
from tricks.envs.lane import make_lane
from tricks.envs.masks import in_one
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
        self._missing = set(self.record)  # not found so far

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
            told["record"] = self._numbers(info)
            if self._missing:
                told["keys"] = [str(key) for key in info]
        return told

    def _numbers(self, info: Mapping[str, Any]) -> list[float]:
        """The numbers to record; NaN for one that is not there, or None. Raises InputError for what is no number."""
        numbers = []
        for name in self.record:
            given = found(info, name)
            if given is not None:
                self._missing.discard(name)
            one = nan if given is None else number(given)
            if one is None:
                raise InputError(f"record: info[{name!r}] must be a number, not {shown(given)}")
            numbers.append(one)
        return numbers


class Lane:
    """One environment with NEXT_STEP autoreset, which draws from global generators as if it were alone.

    Of its infos, only `Reading` leaves it, so that they may hold anything. Raises InputError if the environment cannot
    be made.
    """

    def __init__(self, config: Config, make: MakeEnv | None, draws: Draws) -> None:
        self._draws, self._over = draws, False
        with naming(config, make), draws.during("reset"):
            self.env = make_lane(config, make)
        named = make is None or config.env != Config.env
        label = config.env if named else type(self.env.unwrapped).__name__
        tasks = (self.env.metadata or {}).get("tasks", 1)
        self.spaces = Spaces(label, self.env.observation_space, self.env.action_space, tasks, config.as_vector)
        self._reading = Reading(config, self.spaces)
        self._forms = [(leaf, leaf.space.dtype, leaf.space.shape) for leaf in self.spaces.leaves]

    def reset(self, start: Start) -> Outcome:
        """Start a new episode."""
        self._draws, self._over = start.draws or self._draws, False
        with self._draws.during("reset"):
            obs, info = self.env.reset(seed=start.seed)
        return self._parts(obs), 0.0, False, False, self._reading(info, False) if info else info

    def step(self, action: Any) -> Outcome:
        """Step, or start the next episode if the last one is over."""
        if self._over:
            return self.reset(Start())
        with self._draws.during("step"):
            obs, reward, terminated, truncated, info = self.env.step(action)
        self._over = terminated or truncated
        return self._parts(obs), reward, terminated, truncated, self._reading(info, True) if info else info

    def _parts(self, obs: Any) -> list[np.ndarray]:
        return [np.asarray(leaf.of(obs), dtype).reshape(shape) for leaf, dtype, shape in self._forms]


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
        """Close every lane. Raises the first error of those that fail, when all have been closed."""
        errors = []
        for lane in self.lanes:
            try:
                lane.env.close()
            except (Exception, SystemExit) as error:
                errors.append(error)
        self.lanes = []
        for first in errors[:1]:
            raise first


def number(given: Any) -> float | None:
    """A number, alone or in an array of one; None for anything else."""
    try:
        array = np.asarray(given)
        return float(array.item()) if array.size == 1 and array.dtype.kind in "biuf" else None
    except Exception:  # ragged lists, and whatever an object's own __array__ raises
        return None


@contextmanager
def naming(config: Config, make: MakeEnv | None) -> Iterator[None]:
    """Raise InputError, naming the environment, for whatever its making raises."""
    try:
        yield
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # constructors and imports can raise anything
        reason = in_words(error) if isinstance(error, SystemExit) else advice(error)
        named = config.env if make is None else ""
        what, hint = (repr(named), _hint(named, error)) if named else ("that env= makes", "")
        reason = reason.rstrip(".") if hint else reason
        raise InputError(f"cannot make the environment {what}: {reason}{hint}") from error


def _hint(id: str, error: BaseException) -> str:
    """Suggest a registered id close to an unknown one, unless Gymnasium's own message already does."""
    module, colon, name = id.rpartition(":")
    unknown = isinstance(error, gym.error.UnregisteredEnv) or "Malformed environment ID" in said(error)
    if not unknown or name in gym.registry or "Did you mean" in said(error):
        return ""  # a constructor that fails says nothing about the id
    foreign = "" if module else f"; if a module of yours registers it, name that: module:{name}"
    return meant(name, gym.registry, before=module + colon) + foreign
