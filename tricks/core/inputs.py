"""What an agent is asked to act on, checked: observations, and masks of legal actions."""

from typing import Any

import gymnasium as gym
import numpy as np

from tricks.core.spaces import Spaces
from tricks.errors import InputError
from tricks.values import shown


def obs_array(spaces: Spaces, obs: Any, agents: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """The observations as an array, and the axes that lead: (), (N,) or (S, N).

    Raises InputError unless they are finite numbers, of the space's shape and, if it is Discrete, within it, and
    unless several agents each have their own.
    """
    space = spaces.observation
    shape = space.shape or ()
    array = number_array("observations", obs)
    lead = array.ndim - len(shape)
    if not 0 <= lead <= 2 or array.shape[lead:] != shape:
        raise InputError(
            f"observations of {spaces.env} are {list(shape)}, [N, ...] or [S, N, ...] of these; not {list(array.shape)}"
        )
    if (agents > 1 and lead < 2) or (lead == 2 and len(array) != agents):
        raise InputError(
            f"observations of {agents} agents must be [S, N, ...], with S = {agents}, not {list(array.shape)}"
            + "; agent[k] picks one" * (agents > 1)
        )
    if not (np.abs(array) <= np.finfo(np.float32).max).all():  # nor NaN
        raise InputError(f"observations must be finite, not {shown(array.tolist())}")
    if isinstance(space, gym.spaces.Discrete):
        first, last = int(space.start), int(space.start + space.n) - 1
        if ((array < first) | (array > last) | (array % 1 != 0)).any():
            raise InputError(f"observations of {spaces.env} are whole numbers from {first} to {last}, not {shown(obs)}")
    return array, array.shape[:lead]


def mask_array(spaces: Spaces, legal: Any, rows: tuple[int, ...]) -> np.ndarray:
    """The mask as booleans, [*rows, A]. Raises InputError if it does not fit, or leaves no action in a row."""
    if not spaces.discrete:
        raise InputError(f"{spaces.env} has Box actions, which are all legal; leave out legal")
    array, fitting = number_array("legal", legal), (*rows, spaces.actions)
    if array.shape != fitting:
        raise InputError(f"legal must be {list(fitting)}, one entry for each action, not {list(array.shape)}")
    if not array.any(-1).all():
        raise InputError(f"legal leaves no action: {shown(array.tolist())}")
    return array.astype(bool)


def number_array(name: str, given: Any) -> np.ndarray:
    """An array of numbers. Raises InputError for anything else, such as a string or rows of different lengths."""
    try:
        array = np.asarray(given)
    except (ValueError, TypeError, RuntimeError):  # ragged, or a tensor that numpy cannot read
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} must be an array of numbers, not {shown(given)}")
    return array
