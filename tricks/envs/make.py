"""Make the environment that a config asks for, and say beforehand what that takes."""

import sys

import gymnasium as gym

from tricks.config import Config
from tricks.core.env import Env, MakeEnv
from tricks.core.machine import Need, find_compiler, find_device, largest
from tricks.envs.atari import fire, is_atari
from tricks.envs.gymnasium import EnvPoolEnv, GymnasiumEnv
from tricks.envs.lane import changes, refuse_changes
from tricks.envs.tensor import TensorEnv
from tricks.envs.wrappers import HostEnv, LifeEnds, RewardSign
from tricks.errors import InputError
from tricks.worlds import CLASSIC, WORLDS

LANE = {"tensor": 2_000, "python": 5_000, "vector": 100, "envpool": 1_000}  # bytes, at least
LANE |= {"processes": 5_000_000, "atari": 5_000_000}


def make_env(config: Config, purpose: str = "env", make: MakeEnv | None = None) -> Env:
    """The environment config.env on config.backend; "auto" picks the tensor world if there is one.

    A tensor world takes no arguments and no wrappers, and has no infos to record: with any of these, "auto" picks
    gymnasium. If `make` is given, it makes every lane, and config.env is only a label. Raises InputError if the backend
    does not have the environment, if that does not report the lives that config.life_ends needs, or if the machine does
    not have the device.
    """
    device, backend = find_device(config.device), config.backend
    if make is not None and backend in ("tensor", "envpool"):
        raise InputError(f"backend {backend} has only its own environments; env= needs gymnasium or processes")
    if lane_kind(config, make) == "tensor":
        refuse_changes(config)
        env: Env = TensorEnv(WORLDS[config.env], config, purpose)
    elif backend == "tensor":
        raise InputError(f"backend tensor has no {config.env!r}; it has {', '.join(CLASSIC)} and all tricks/... ids")
    else:
        env = (EnvPoolEnv if backend == "envpool" else GymnasiumEnv)(config, purpose, make)
    try:
        if config.life_ends:
            env = LifeEnds(env, press=fire(config.env) if make is None and is_atari(config.env) else None)
        if config.reward_sign:
            env = RewardSign(env)
    except BaseException:
        env.close()
        raise
    return env if env.now.obs.device.type == device.type else HostEnv(env, device)


def lane_kind(config: Config, make: MakeEnv | None = None) -> str:
    """What steps the lanes: tensor, vector (one object for all lanes), python (one for each), processes, ..."""
    if config.backend == "processes" or make is not None:
        return "processes" if config.backend == "processes" else "python"
    plain = config.backend == "tensor" or not (changes(config) or config.record)
    if config.backend in ("auto", "tensor") and config.env in WORLDS and plain:
        return "tensor"
    if config.backend == "envpool":
        return config.backend
    if is_atari(config.env) and not changes(config):
        return "atari"
    spec = None if changes(config) else gym.registry.get(config.env)
    return "vector" if spec is not None and spec.vector_entry_point is not None else "python"


def lane_need(config: Config, make: MakeEnv | None) -> Need:
    """The memory of all lanes, at least."""
    count, numbers = len(config.seed_list) * config.lanes, largest(config, "lanes", "seeds")
    return Need(f"{count:,} lanes", count * LANE[lane_kind(config, make)], numbers, on_device=False)


def announce(config: Config, make: MakeEnv | None) -> None:
    """Say on stderr that the rules of a world are compiled, which takes more than a few seconds."""
    if config.compile and lane_kind(config, make) == "tensor":
        find_compiler(config.device)
        print(f"compiling the dynamics of {config.env} ...", file=sys.stderr)
