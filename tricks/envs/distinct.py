"""The user's own environments, which a function makes: what they are called, and that each lane has its own."""

from collections.abc import Sequence
from weakref import WeakValueDictionary

import gymnasium as gym
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv

from tricks.config import Config
from tricks.errors import InputError

IN_USE: WeakValueDictionary[int, gym.Env] = WeakValueDictionary()  # the objects that are lanes now


def name_of(label: str, first: VectorEnv) -> str:
    """What messages call the environment: the label that the user gave, or else the name of its class."""
    if label != Config.env or not isinstance(first, SyncVectorEnv | AsyncVectorEnv):
        return label
    return str(first.call("name_of_class")[0])


def claimed(envs: Sequence[VectorEnv]) -> list[int]:
    """The ids of the objects that are the lanes of these, which nothing else may step until `release`.

    Raises InputError if one is already another lane, of this training or of one in progress. (Worker processes have
    copies.)
    """
    found: list[int] = []
    for env in (lane.unwrapped for each in envs if isinstance(each, SyncVectorEnv) for lane in each.envs):
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
