"""What Gymnasium's interface asks of an environment. Each lane is checked at every call, and each breach is explained.

`gymnasium.utils.env_checker.check_env` looks for more, before any training.
"""

import traceback
from collections.abc import Mapping
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np

from tricks.errors import InputError, said
from tricks.values import shown

STEP = "(observation, reward, terminated, truncated, info)"
OLD = ", as before Gymnasium 0.26"


NUMBERS = {float, int, bool, np.float64, np.float32, np.int64}  # that a reward almost always is


class Contract(gym.Wrapper):
    """A lane whose `reset` and `step` return what they must; a reward or an end in an array of one is taken out of it.

    Raises InputError for anything else, saying which call returned what, and what is expected. The values of
    observations and rewards are not looked at here: see `find_faults`.
    """

    def __init__(self, env: gym.Env) -> None:
        for role in ("observation", "action"):
            if not isinstance(space := getattr(env, f"{role}_space", None), gym.Space):
                raise breach(f"{role}_space must be a gymnasium.Space, not {shown(space)}")
        super().__init__(env)
        space = env.observation_space
        box = isinstance(space, gym.spaces.Box)
        self._shape, self._dtype = space.shape if box else None, space.dtype if box else None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        try:
            came = self.env.reset(seed=seed, options=options)
        except Exception as error:
            if isinstance(error, TypeError) and "unexpected keyword argument" in str(error) and not self._raised(error):
                must = "reset() must take seed and options: def reset(self, *, seed=None, options=None)"
                raise breach(f"{must} ({said(error)})") from error
            self._explain(error)
            raise
        check_reset(came)
        return self._seen("reset()", came[0]), came[1]

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        try:
            came = self.env.step(action)
        except Exception as error:
            self._explain(error)
            raise
        if type(came) is not tuple or len(came) != 5 or type(came[4]) is not dict:
            check_step(came)
        obs, reward, terminated, truncated, info = came
        if type(reward) not in NUMBERS:
            reward = one_number(reward)
        if type(terminated) is not bool or type(truncated) is not bool:
            terminated, truncated = one_bool("terminated", terminated), one_bool("truncated", truncated)
        if type(obs) is not np.ndarray or obs.shape != self._shape or obs.dtype is not self._dtype:
            obs = self._seen("step()", obs)
        return obs, reward, terminated, truncated, info

    def _seen(self, call: str, obs: Any) -> Any:
        """The observation. Raises InputError if its form is not that of its space."""
        if fault := misfit(self.env.observation_space, obs):
            raise breach(f"the observation of {call} {fault}")
        return obs

    def _raised(self, error: Exception) -> bool:
        """Whether an error comes from the environment's own code, not from that of a wrapper around it."""
        base = self.unwrapped
        return any(frame.f_locals.get("self") is base for frame, _ in traceback.walk_tb(error.__traceback__))

    def _explain(self, error: Exception) -> None:
        """Raise InputError if a wrapper failed because the environment in it does not return what it must.

        Looks at what its `reset` and `step` return now; this lane ends anyway.
        """
        if self.env is self.unwrapped or self._raised(error):
            return
        try:
            check_reset(self.unwrapped.reset())
            check_step(self.unwrapped.step(self.unwrapped.action_space.sample()))
        except InputError as found:
            raise found from error
        except Exception:  # then the first error says more
            return


def breach(fault: str) -> InputError:
    """The error for a fault of an environment, with where to look for more."""
    return InputError(f"{fault}; gymnasium.utils.env_checker.check_env finds such faults")


def check_reset(came: Any) -> None:
    """Raise InputError unless this is what `reset` must return."""
    if not isinstance(came, tuple) or len(came) != 2:
        what = f"{len(came)} values" if isinstance(came, tuple) else f"{_kind(came)}{OLD}"
        raise breach(f"reset() must return (observation, info); this returned {what}")
    _check_info("reset()", came[1])


def check_step(came: Any) -> None:
    """Raise InputError unless this is what `step` must return."""
    if not isinstance(came, tuple) or len(came) != 5:
        what = f"{len(came)}" if isinstance(came, tuple) else _kind(came)
        old = OLD if isinstance(came, tuple) and len(came) == 4 else ""
        raise breach(f"step() must return 5 values {STEP}; this returned {what}{old}")
    _check_info("step()", came[4])


def _check_info(call: str, info: Any) -> None:
    if not isinstance(info, dict):
        raise breach(f"the info of {call} must be a dict, not {shown(info)}")


def one_number(reward: Any) -> Any:
    """A reward as a number; None stays, and counts as not finite. Raises InputError for anything else."""
    if reward is None or isinstance(reward, np.floating | np.integer | np.bool_):
        return reward
    array = _array(reward)
    if array.size != 1 or array.dtype.kind not in "biuf":
        what = f"an array of shape {array.shape}" if array.dtype.kind in "biuf" else shown(reward)
        raise breach(f"the reward of step() must be a number, not {what}")
    return array.item()


def one_bool(name: str, end: Any) -> bool:
    """An end as a bool. Raises InputError if it is none."""
    array = _array(end)
    if array.size != 1 or array.dtype.kind not in "biu":
        raise breach(f"{name} of step() must be True or False, not {shown(end)}")
    return bool(array.item())


def misfit(space: gym.Space[Any], obs: Any) -> str:
    """What is wrong with the form of an observation: `has shape (3,), but its space has (1,)`; empty if nothing is."""
    if isinstance(space, gym.spaces.Dict):
        if not isinstance(obs, Mapping) or obs.keys() != space.spaces.keys():
            names = f"the keys {', '.join(obs)}" if isinstance(obs, Mapping) and obs else shown(obs)
            return f"is {names}, but its space has the keys {', '.join(space.spaces)}"
        faults = [(name, misfit(part, obs[name])) for name, part in space.spaces.items()]
        return next((f"at {name!r} {fault}" for name, fault in faults if fault), "")
    if isinstance(space, gym.spaces.Tuple):
        if not isinstance(obs, tuple | list) or len(obs) != len(space.spaces):
            return f"is {shown(obs)}, but its space has {len(space.spaces)} parts"
        parts = [misfit(part, obs[k]) for k, part in enumerate(space.spaces)]
        return next((f"at {k} {fault}" for k, fault in enumerate(parts) if fault), "")
    if space.dtype is None or space.shape is None:  # text, graphs
        return ""
    array = _array(obs)
    if array.dtype.kind not in "biuf":
        return f"is {shown(obs)}, but its space has numbers of shape {space.shape}"
    if isinstance(space, gym.spaces.Discrete):
        return "" if array.size == 1 else f"has shape {array.shape}, but its space is {space}"
    if array.shape != space.shape:
        return f"has shape {array.shape}, but its space has {space.shape}"
    fits = np.can_cast(array.dtype, space.dtype, "same_kind")
    return "" if fits else f"has dtype {array.dtype}, but its space has {space.dtype}"


def _array(given: Any) -> np.ndarray:
    """As an array; of objects, if it has no other."""
    try:
        return np.asarray(given)
    except Exception:  # ragged lists, and whatever an object's own __array__ raises
        return np.empty((), object)


def _kind(came: Any) -> str:
    """A value's type, and its shape if it has one."""
    shape = getattr(came, "shape", None)
    return "None" if came is None else type(came).__name__ + (f" of shape {shape}" if shape is not None else "")
