"""Which environment steps for a config."""

from tricks.config import Config
from tricks.core.devices import find_device
from tricks.core.env import Env
from tricks.envs.atari import AtariEnv, is_atari
from tricks.envs.envpool import EnvPoolEnv
from tricks.envs.gymnasium import GymnasiumEnv
from tricks.envs.tensor import TensorEnv
from tricks.envs.wrappers import HostEnv
from tricks.errors import InputError
from tricks.worlds import CLASSIC, WORLDS


def make_env(config: Config, purpose: str = "env") -> Env:
    """The environment of config.env on config.backend; "auto" takes the tensor world where there is one.

    Raises InputError if the backend does not have it, or if the machine does not have the device.
    """
    device = find_device(config.device)
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
