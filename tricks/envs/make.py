"""Make the environment that a config asks for."""

from tricks.config import Config
from tricks.core.devices import find_device
from tricks.core.env import Env, MakeEnv
from tricks.envs.atari import fire, is_atari
from tricks.envs.envpool import EnvPoolEnv
from tricks.envs.gymnasium import GymnasiumEnv
from tricks.envs.lane import changes, refuse_changes
from tricks.envs.tensor import TensorEnv
from tricks.envs.wrappers import HostEnv, LifeEnds, RewardSign
from tricks.errors import InputError
from tricks.worlds import CLASSIC, WORLDS


def make_env(config: Config, purpose: str = "env", make: MakeEnv | None = None) -> Env:
    """The environment config.env on config.backend; "auto" picks the tensor world if there is one.

    A tensor world takes no arguments and no wrappers, and has no infos to record: with any of these, "auto" picks
    gymnasium.

    If `make` is given, it makes every lane, and config.env is only a label. Raises InputError if the backend does not
    have the environment, if the environment does not report the lives that config.life_ends needs, or if the machine
    does not have the device.
    """
    device = find_device(config.device)
    env = backend(config, purpose) if make is None else make_own(config, purpose, make)
    try:
        if config.life_ends:
            env = LifeEnds(env, press=fire(config.env) if make is None and is_atari(config.env) else None)
        if config.reward_sign:
            env = RewardSign(env)
    except BaseException:
        env.close()
        raise
    return env if env.now.obs.device.type == device.type else HostEnv(env, device)


def backend(config: Config, purpose: str) -> Env:
    """The bare environment on the config's backend, before any wrapper."""
    if (
        config.backend in ("auto", "tensor")
        and config.env in WORLDS
        and not (config.backend == "auto" and (changes(config) or config.record))
    ):
        refuse_changes(config)
        return TensorEnv(WORLDS[config.env], config, purpose)
    if config.backend == "tensor":
        raise InputError(f"backend tensor has no {config.env!r}; it has {', '.join(CLASSIC)} and all tricks/... ids")
    return EnvPoolEnv(config, purpose) if config.backend == "envpool" else GymnasiumEnv(config, purpose)


def make_own(config: Config, purpose: str, make: MakeEnv) -> Env:
    """Lanes made by the user's function. Raises InputError if it isn't callable or the backend can't use it."""
    if not callable(make):
        raise InputError(f"env= must be a function that makes a gymnasium.Env, not {make!r}; put an id in Config(env=)")
    if config.backend in ("tensor", "envpool"):
        raise InputError(f"backend {config.backend} has only its own environments; env= needs gymnasium or processes")
    return GymnasiumEnv(config, purpose, make)
