"""Environments of the tests, by id."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym


def register(id: str, make: Callable[..., gym.Env], max_episode_steps: int | None = None, **options: Any) -> None:
    """`gym.register` for a class or function, which Gymnasium's own type does not take."""
    entry: Any = make
    gym.register(id, entry_point=entry, max_episode_steps=max_episode_steps, kwargs=options)


def like(base: type, name: str, **parts: Any) -> Any:
    return type(name, (base,), parts | {"__module__": base.__module__})
