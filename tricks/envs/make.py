"""Which environment steps for a config."""

from tricks.config import Config
from tricks.core.devices import find_device
from tricks.core.env import Env, MakeEnv
from tricks.envs.atari import AtariEnv, is_atari
from tricks.envs.envpool import EnvPoolEnv
from tricks.envs.gymnasium import GymnasiumEnv
from tricks.envs.tensor import TensorEnv
from tricks.envs.wrappers import HostEnv
from tricks.errors import InputError
from tricks.worlds import CLASSIC, WORLDS


def make_env(config: Config, purpose: str = "env", make: MakeEnv | None = None) -> Env:
    """The environment of config.env on config.backend; "auto" takes the tensor world where there is one.

    With `make`, every lane is what it makes, and config.env is but its name. Raises InputError if the backend does not
    have the environment, or if the machine does not have the device.
    """
    device = find_device(config.device)
    if make is not None:
        own = make_own(config, purpose, make)
        return own if device.type == "cpu" else HostEnv(own, device)
    if config.backend in ("auto", "tensor") and config.env in WORLDS:
        return TensorEnv(WORLDS[config.env], config, purpose)
    if config.backend == "tensor":
        raise InputError(f"backend tensor has no {config.env!r}; it has {', '.join(CLASSIC)} and all tricks/...")
    env: Env
    if config.backend == "envpool":
        env = EnvPoolEnv(config, purpose)
    else:
        env = GymnasiumEnv(config, purpose)
        if is_atari(config.env):
            env = AtariEnv(env)
    return env if device.type == "cpu" else HostEnv(env, device)


def make_own(config: Config, purpose: str, make: MakeEnv) -> Env:
    """The lanes of a function that makes an environment. Raises InputError for what is none, and other backends."""
    if not callable(make):
        raise InputError(
            f"env= must be a function that makes a gymnasium.Env, not {make!r}; an id goes into Config(env=)"
        )
    if config.backend in ("tensor", "envpool"):
        raise InputError(f"backend {config.backend} has environments of its own; env= needs gymnasium or processes")
    return GymnasiumEnv(config, purpose, make)
