"""Optional packages, installed by an extra of pyproject.toml and imported on first use."""

import importlib
from types import ModuleType

from tricks.errors import InputError, in_words, place, said
from tricks.version import DISTRIBUTION

DRIVERS = {"pygame": "play", "Box2D": "box2d", "MuJoCo": "mujoco"}  # as Gymnasium's messages call it: its extra


def extra(name: str, package: str) -> ModuleType:
    """Import a package of the extra `name`. Raises InputError, naming the extra, if that fails."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise InputError(f"cannot import {package} ({said(error)}); {how_to_install(name)}") from error


def how_to_install(name: str) -> str:
    """`install it with: pip install "ppo-tricks[play]"`, which adds to an installation from a clone, too."""
    return f'install it with: pip install "{DISTRIBUTION}[{name}]"'


def advice(error: BaseException) -> str:
    """What an exception says, and where in the user's own code; how to install what Gymnasium misses as an extra."""
    message = said(error)
    for package, name in DRIVERS.items():
        if message.startswith(f"{package} is not installed"):
            return f"{package} is not installed; {how_to_install(name)}"
    return in_words(error) if place(error) else message
