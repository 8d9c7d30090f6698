"""Environments by name: Gymnasium's ids, ids that bring their module (module:Id), and functions (module:function)."""

import importlib
import inspect
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import cache
from importlib.metadata import entry_points
from operator import attrgetter
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import namespace

from tricks.errors import NOT_THEIRS, InputError
from tricks.flags import meant
from tricks.values import shown


def make_named(name: str, **args: Any) -> gym.Env:
    """Make the environment of this name: a registered id, module:Id, or module:name of a class or function.

    Raises InputError if the module or the function is missing, or if the function does not take these arguments.
    """
    if (make := maker_of(name)) is None:
        return gym.make(import_module_of(name), disable_env_checker=True, **args)  # Contract checks it
    with suppress(ValueError):  # a function in C may not tell what it takes
        takes = inspect.signature(make)
        try:
            takes.bind(**args)
        except TypeError as error:
            raise _unmade(name, f"{error}; it takes {takes} as arguments of the environment, name=value") from None
    return make(**args)


def maker_of(name: str) -> Callable[..., gym.Env] | None:
    """The class or function that module:name names, or None for the name of an id. An id of exactly this name is first.

    Raises InputError if there is neither, and for functions of Python and of the packages beneath this one: they make
    no environment, and some of them would run what the arguments in a stranger's run say.
    """
    id, module = import_module_of(name), name.rpartition(":")[0]
    if not module or id in gym.registry:
        return None
    home = importlib.import_module(module)
    yours = module.partition(".")[0] not in NOT_THEIRS
    rename = "" if yours else f"; if {module} is a file of yours, give it another name"
    try:
        found = attrgetter(id)(home)
    except AttributeError:
        if not id.replace(".", "").isidentifier() or _is_known(id):
            return None
        there = [key for key, each in vars(home).items() if callable(each) and not key.startswith("_")]
        hint = meant(id, [*there, *gym.registry], before=f"{module}:")
        why = f"{module} has no class or function {id!r} and registers no such id{hint}{rename}"
        raise _unmade(name, why) from None
    if not callable(found):
        raise _unmade(name, f"it must be a class or function that makes an environment, not {shown(found)}")
    if not yours and not (isinstance(found, type) and issubclass(found, gym.Env)):
        raise _unmade(name, f"this function makes no environment{rename}")
    return found  # type: ignore[no-any-return]


def import_module_of(id: str) -> str:
    """Import the module of `module:Id`, if it has one, and return the id alone, which should be registered now."""
    module, colon, name = id.rpartition(":")
    if not colon:
        return id
    path = module.removesuffix(".py").removeprefix("./")
    if path != module or "/" in module:
        raise _unmade(id, f"name a module, not a file: {path.replace('/', '.')}:{name}")
    if not name or ":" in module or not all(module.split(".")):
        raise _unmade(id, "write module:Id or module:function, such as rooms:make")
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and f"{module}.".startswith(f"{error.name}."):
            where = f"it must be installed, or be {module.replace('.', '/')}.py in the current folder"
            raise _unmade(id, f"{error}; {where}") from error
        raise
    if not _is_known(name):
        call_plugins(module.partition(".")[0])
    return name


def _unmade(name: str, why: str) -> InputError:
    return InputError(f"cannot make the environment {name!r}: {why}")


def _is_known(id: str) -> bool:
    """Whether an id is registered, with its version or without."""
    return any(id in (full, full.rpartition("-v")[0]) for full in gym.registry)


@cache
def call_plugins(package: str) -> None:
    """Let the installed package register its ids by the functions that it names in its metadata.

    Some still count on it: Gymnasium did so before 1.0, each within the namespace that is the entry point's name.
    """
    for entry in entry_points(group="gymnasium.envs"):
        if entry.module.partition(".")[0] == package and callable(register := entry.load()):
            with nullcontext() if entry.name == "__root__" else namespace(entry.name):
                register()
