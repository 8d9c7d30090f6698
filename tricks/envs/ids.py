"""Ids that bring their module, as Gymnasium writes them: module:Id."""

import importlib
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import namespace


def import_module_of(id: str) -> str:
    """Import the module of `module:Id`, if it has one, and return the id alone, which should be registered now."""
    module, _, name = id.rpartition(":")
    if module:
        importlib.import_module(module)
        if name not in {known for full in gym.registry for known in (full, full.rpartition("-v")[0])}:
            _call_plugins(module.partition(".")[0])
    return name


@dataclass(frozen=True)
class NamedEnv:
    """Makes the environment of this name: a registered id, module:Id, or module:name of a class or function."""

    name: str

    def __call__(self, **args: Any) -> gym.Env:
        id, module = import_module_of(self.name), self.name.rpartition(":")[0]
        make = getattr(sys.modules.get(module), id, None)
        if callable(make) and id not in gym.registry:
            return make(**args)  # type: ignore[no-any-return]
        return gym.make(id, disable_env_checker=True, **args)


@cache
def _call_plugins(package: str) -> None:
    """Let the installed package register its ids by the functions that it names in its metadata.

    Gymnasium called these before 1.0, each within the namespace that is the entry point's name. Some packages still
    count on it.
    """
    for entry in entry_points(group="gymnasium.envs"):
        if entry.module.partition(".")[0] == package and callable(register := entry.load()):
            if entry.name == "__root__":
                register()
            else:
                with namespace(entry.name):
                    register()
