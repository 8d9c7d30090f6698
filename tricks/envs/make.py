"""Which environment steps for a config."""

from tricks.config import Config
from tricks.core.devices import find_device
from tricks.core.env import Env
from tricks.envs.atari import fire, is_atari
from tricks.envs.envpool import EnvPoolEnv
from tricks.envs.gymnasium import GymnasiumEnv
from tricks.envs.tensor import TensorEnv
from tricks.envs.wrappers import HostEnv, LifeEnds, RewardSign
from tricks.errors import InputError
from tricks.worlds import CLASSIC, WORLDS


def make_env(config: Config, purpose: str = "env") -> Env:
    """The environment of config.env on config.backend; "auto" takes the tensor world where there is one.

    Raises InputError if the backend does not have it, if it does not report the lives that config.life_ends needs, or
    if the machine does not have the device.
    """
    device = find_device(config.device)
    env = backend(config, purpose)
    try:
        if config.life_ends:
            env = LifeEnds(env, press=fire(config.env) if is_atari(config.env) else None)
        if config.reward_sign:
            env = RewardSign(env)
    except BaseException:
        env.close()
        raise
    return env if env.now.obs.device.type == device.type else HostEnv(env, device)


def backend(config: Config, purpose: str) -> Env:
    """What steps the environment, before anything is wrapped around it."""
    if config.backend in ("auto", "tensor") and config.env in WORLDS:
        return TensorEnv(WORLDS[config.env], config, purpose)
    if config.backend == "tensor":
        raise InputError(f"backend tensor has no {config.env!r}; it has {', '.join(CLASSIC)} and all tricks/...")
    return EnvPoolEnv(config, purpose) if config.backend == "envpool" else GymnasiumEnv(config, purpose)
