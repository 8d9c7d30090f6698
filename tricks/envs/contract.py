"""What Gymnasium's interface asks of an environment, and masks of legal actions, which are no part of it.

Each lane is checked at every call, and each breach is explained. `gymnasium.utils.env_checker.check_env` looks for
more, before any training. Masks all end up in `info["action_mask"]`, wherever an environment gives them.
"""

import traceback
from collections.abc import Callable
from math import prod
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

from tricks.core.spaces import Leaf, as_array
from tricks.errors import InputError, said
from tricks.values import shown

TAKES = {"reset()": "seed and options (def reset(self, *, seed=None, options=None))", "step()": "an action"}
RETURNS = {
    "reset()": (2, "(observation, info)"),
    "step()": (5, "5 values (observation, reward, terminated, truncated, info)"),
}
NUMBERS = {float, int, bool, np.float64, np.float32, np.int64, type(None)}  # None counts as not finite
KEY, METHOD = "action_mask", "action_masks"


class Contract(gym.Wrapper):
    """A lane whose `reset` and `step` return what they must; a reward or an end in an array of one is taken out of it.

    Its mask is in `info["action_mask"]`: one that is there stays, and otherwise it comes from an observation's entry
    "action_mask", as in PettingZoo, which is taken out, or from the method `action_masks()`, as in sb3-contrib, of the
    environment or of a wrapper. Raises InputError for anything else, saying which call returned what, and what is
    expected. Observations are looked at by `part_of`, and whether their values and rewards are finite by `find_faults`.
    """

    def __init__(self, env: gym.Env) -> None:
        for role in ("observation", "action"):
            if not isinstance(space := getattr(env, f"{role}_space", None), gym.Space):
                raise breach(f"{role}_space must be a gymnasium.Space, not {shown(space)}")
        super().__init__(env)
        self._size, self._shown = choices(env.action_space), shows_mask(env.observation_space, env.action_space)
        self._method = env.get_wrapper_attr(METHOD) if not self._shown and env.has_wrapper_attr(METHOD) else None
        if self._shown:
            inner = env.observation_space.spaces.items()  # type: ignore[attr-defined]
            self.observation_space = Dict([(key, part) for key, part in inner if key != KEY])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return self._apart(*self._checked("reset()", self.env.reset, seed=seed, options=options))

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self._checked("step()", self.env.step, action)
        if type(reward) not in NUMBERS and (reward := number(given := reward)) is None:
            raise breach(f"the reward of step() must be a number, not {shown(given)}")
        if type(terminated) is not bool or type(truncated) is not bool:
            terminated, truncated = one_bool("terminated", terminated), one_bool("truncated", truncated)
        obs, info = self._apart(obs, info)
        return obs, reward, terminated, truncated, info

    def _checked(self, call: str, function: Callable[..., Any], *given: Any, **named: Any) -> tuple[Any, ...]:
        """What `reset()` or `step()` returns, if that is what it must."""
        count, must = RETURNS[call]
        try:
            came = function(*given, **named)
        except (TypeError, ValueError) as error:  # perhaps because the environment takes or returns something else
            base, traced = self.unwrapped, traceback.walk_tb(error.__traceback__)
            own = any(frame.f_locals.get("self") is base for frame, _ in traced)  # its own code has raised it
            if own or not ("unpack" in said(error) or "unexpected keyword argument" in said(error)):
                raise
            raise breach(f"{call} must take {TAKES[call]} and return {must} ({said(error)})") from error
        if not isinstance(came, tuple) or len(came) != count:
            shape, kind = getattr(came, "shape", None), "None" if came is None else type(came).__name__
            what = len(came) if isinstance(came, tuple) else kind if shape is None else f"{kind} of shape {shape}"
            old = ", as before Gymnasium 0.26" * ((len(came) if isinstance(came, tuple) else 1) == count - 1)
            raise breach(f"{call} must return {must}; this returned {what}{old}")
        if not isinstance(came[-1], dict):
            raise breach(f"the info of {call} must be a dict, not {shown(came[-1])}")
        return came

    def _apart(self, obs: Any, info: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The observation without the mask, and the info with it."""
        if self._shown:  # the space has the right size
            return {key: part for key, part in obs.items() if key != KEY}, {KEY: in_one(obs[KEY]), **info}
        if self._method is None:
            return obs, info
        mask = in_one(self._method())
        if KEY not in info and self._size and mask.shape != (self._size,):
            raise InputError(f"{METHOD}() has shape {mask.shape}, not ({self._size},): one entry per action")
        return obs, {KEY: mask, **info}


def breach(fault: str) -> InputError:
    """The error for a fault of an environment, with where to look for more."""
    return InputError(f"{fault}; gymnasium.utils.env_checker.check_env finds such faults")


def number(given: Any) -> float | None:
    """A number, alone or in an array of one; None for anything else."""
    array = as_array(given)
    return float(array.item()) if array.size == 1 and array.dtype.kind in "biuf" else None


def one_bool(name: str, end: Any) -> bool:
    """An end as a bool."""
    if (given := number(end)) not in (0, 1):
        raise breach(f"{name} of step() must be True or False, not {shown(end)}")
    return given == 1


def part_of(leaf: Leaf, call: str, obs: Any) -> np.ndarray:
    """A part of the observation that a call returned. Raises InputError if it does not have the form of its space."""
    space: Any = leaf.space
    try:
        given = leaf.of(obs)
    except (KeyError, IndexError, TypeError):
        raise breach(f"the observation of {call} is {shown(obs)}, without {leaf.name}") from None
    if type(given) is np.ndarray and given.shape == space.shape and given.dtype is space.dtype:
        return given
    array, one = as_array(given), isinstance(space, Discrete)
    shaped = array.size == 1 if one else array.shape == space.shape
    if array.dtype.kind in "biuf" and shaped and (one or np.can_cast(array.dtype, space.dtype, "same_kind")):
        return array.astype(space.dtype).reshape(space.shape)
    what = f"{array.dtype} {list(array.shape)}" if array.dtype.kind in "biuf" else shown(given)
    at = leaf.name if leaf.path else "the observation"
    raise breach(f"{at} of {call} is {what}, but its space has {space.dtype} {list(space.shape)}")


def shows_mask(observation: gym.Space[Any], action: gym.Space[Any]) -> bool:
    """Whether observations are a Dict with the entry "action_mask", and that has a number for each action."""
    given = observation.spaces.get(KEY) if isinstance(observation, Dict) else None
    return given is not None and choices(action) > 0 and choices(action) == numbers(given)


def choices(action: gym.Space[Any]) -> int:
    """How many numbers a mask has, over all components of an action; 0 for actions that have no mask."""
    if isinstance(action, MultiBinary):
        return 2 * prod(action.shape)
    return gym.spaces.flatdim(action) if isinstance(action, Discrete | MultiDiscrete) else 0


def numbers(space: gym.Space[Any]) -> int:
    """How many numbers a mask in this space has; 0 if it cannot be one."""
    if isinstance(space, Tuple):
        return sum(numbers(part) for part in space.spaces)
    return prod(space.shape) if isinstance(space, Box | MultiBinary | MultiDiscrete) else 0


def in_one(mask: Any) -> np.ndarray:
    """A mask as one array: the arrays of its components, one after the other, or the mask itself."""
    parts = mask if isinstance(mask, tuple | list) else (mask,)
    return np.concatenate([np.ravel(part) for part in parts])
