"""The user's own environments, which a function makes: each lane has its own."""

from collections.abc import Sequence
from weakref import WeakValueDictionary

import gymnasium as gym

from tricks.errors import InputError

IN_USE: WeakValueDictionary[int, gym.Env] = WeakValueDictionary()  # the objects that are lanes now


def claimed(envs: Sequence[gym.Env]) -> list[int]:
    """The ids of the objects in these lanes, which nothing else may step until `release`.

    Raises InputError if one is already another lane, of this training or of one in progress. (Worker processes have
    copies.)
    """
    found: list[int] = []
    for env in (lane.unwrapped for lane in envs):
        if id(env) in IN_USE:
            release(found)
            raise InputError(
                f"env= made the same {type(env).__name__} object for two lanes, which would step it in turn; it must "
                f"make a new one at each call: env=lambda: {type(env).__name__}(...)"
            )
        IN_USE[id(env)] = env
        found.append(id(env))
    return found


def release(claimed: Sequence[int]) -> None:
    """Let the objects with these ids be lanes again."""
    for key in claimed:
        IN_USE.pop(key, None)
