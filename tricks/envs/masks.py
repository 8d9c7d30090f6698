"""Masks of legal actions, wherever an environment gives them: they all end up in `info["action_mask"]`."""

from collections.abc import Callable
from math import prod
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

from tricks.errors import InputError

KEY = "action_mask"
METHOD = "action_masks"


def with_masks(env: gym.Env) -> gym.Env:
    """The environment with its masks in `info["action_mask"]`: itself, unless it gives them in another way."""
    found = shows_mask(env.observation_space, env.action_space)
    return MaskInInfo(env) if found or env.has_wrapper_attr(METHOD) else env


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


class MaskInInfo(gym.Wrapper):
    """Puts the mask into `info["action_mask"]` from an observation's entry, which it takes out, or from the method.

    The entry is "action_mask", as in PettingZoo; the method is `action_masks()`, as in sb3-contrib, of the environment
    or of a wrapper. A mask that is in the info already stays. Raises InputError for a mask of another size.
    """

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        self._shown = shows_mask(env.observation_space, env.action_space)
        self._method: Callable[[], Any] | None = None if self._shown else env.get_wrapper_attr(METHOD)
        self._size = choices(env.action_space)
        if self._shown:
            inner = env.observation_space.spaces.items()  # type: ignore[attr-defined]
            self.observation_space = Dict([(key, part) for key, part in inner if key != KEY])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        return self._apart(obs, info)

    def step(self, action: Any) -> Any:
        obs, *outcome, info = self.env.step(action)
        obs, info = self._apart(obs, info)
        return obs, *outcome, info

    def _apart(self, obs: Any, info: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The observation without the mask, and the info with it."""
        mask = obs[KEY] if self._method is None else self._method()
        if self._shown:
            obs = {key: part for key, part in obs.items() if key != KEY}
        if KEY in info:
            return obs, info
        flat = in_one(mask)
        if self._size and flat.shape != (self._size,):
            source = f"the observation's entry {KEY!r}" if self._method is None else f"{METHOD}()"
            raise InputError(f"{source} has shape {flat.shape}, not ({self._size},): one entry per action")
        return obs, {KEY: flat, **info}


def in_one(mask: Any) -> np.ndarray:
    """A mask as one array: the arrays of its components, one after the other, or the mask itself."""
    parts = mask if isinstance(mask, tuple | list) else (mask,)
    return np.concatenate([np.ravel(part) for part in parts])
