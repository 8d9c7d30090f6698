"""One lane: an environment with the arguments and the wrappers that the config asks for, and its random numbers."""

import pkgutil
import re
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv
from gymnasium.wrappers import FrameStackObservation, TransformAction, TransformObservation

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.extras import advice
from tricks.core.seeds import PURPOSES, stream
from tricks.core.spaces import within
from tricks.envs.atari import is_atari, make_game
from tricks.envs.contract import Contract
from tricks.envs.ids import make_named
from tricks.errors import InputError
from tricks.flags import switch
from tricks.texts import wrapper_call

CHANGES = ("env_args", "wrap", "rescale_actions", "stack")  # numbers of a config that make another environment of it
RUNNING = re.compile("running.?(mean|std|var|stat|norm|moment)", re.IGNORECASE)  # names that leave no doubt


def changes(config: Config) -> list[str]:
    """Which of these numbers are not as usual."""
    return [name for name in CHANGES if getattr(config, name) != getattr(Config, name)]


def refuse_changes(config: Config, *able: str) -> None:
    """Raise InputError if the config asks a backend that has none for records, or for changes that are not `able`."""
    if config.record:
        raise InputError(f"backend {config.backend} has no infos to record; use backend gymnasium")
    if asked := [name for name in changes(config) if name not in able]:
        raise InputError(f"backend {config.backend} cannot change an environment by {asked[0]}; use backend gymnasium")


def make_lane(config: Config, make: MakeEnv | None = None) -> gym.Env:
    """The environment config.env, or the one that `make` makes, with its arguments; then config.wrap in order.

    Actions are rescaled and observations stacked outside of these, and the whole is under `Contract`.
    """
    if make is not None:
        env = an_env(make(**config.env_kwargs), "env=")
    elif is_atari(config.env):
        env = make_game(config.env, **config.env_kwargs)
    else:
        env = an_env(make_named(config.env, **config.env_kwargs), repr(config.env))
    for name in config.wrap:
        env = wrapped(env, name)
    if config.rescale_actions:
        env = with_rescaled_actions(env)
    if config.stack > 1:
        env = with_stacked_observations(env, config.stack)
    refuse_statistics(env)
    return Contract(env)


def an_env(made: Any, name: str) -> gym.Env:
    """What was made. Raises InputError, with the name of what made it, if it is not a gymnasium.Env."""
    if not isinstance(made, gym.Env):
        old = any(kind.__module__.split(".")[0] == "gym" for kind in type(made).__mro__)
        hint = "; shimmy turns environments of the package gym into it (pip install shimmy)" if old else ""
        hint = "; each lane is one environment, and --lanes says how many" if isinstance(made, VectorEnv) else hint
        what = "None: does it return what it makes?" if made is None else type(made).__name__
        raise InputError(f"{name} must make a gymnasium.Env, not {what}{hint}")
    return made


def wrapped(env: gym.Env, name: str) -> gym.Env:
    """The environment in the wrapper module:Wrapper, or module:Wrapper(arguments). Raises InputError if that fails."""
    target, args, named = wrapper_call(name)
    try:
        around = pkgutil.resolve_name(target)(env, *args, **named)
    except (Exception, SystemExit) as error:  # imports and constructors can raise anything
        raise InputError(f"cannot wrap the environment in {name}: {advice(error)}") from error
    return an_env(around, f"wrap: {name}")


def with_rescaled_actions(env: gym.Env) -> gym.Env:
    """The environment with Box actions in [-1, 1], for all of the range between the bounds; integers are rounded."""
    space = env.action_space
    if not isinstance(space, gym.spaces.Box) or not space.is_bounded():
        raise InputError(f"rescale_actions needs Box actions with finite bounds, not {' '.join(str(space).split())}")
    low, high = space.low.astype(float) / 2, space.high.astype(float) / 2  # halves, whose difference is finite

    def rescaled(action: np.ndarray) -> np.ndarray:
        return within(space, (low + high) + (high - low) * action.astype(float))

    return TransformAction(env, rescaled, gym.spaces.Box(-1, 1, space.shape, np.float32))


def with_stacked_observations(env: gym.Env, count: int) -> gym.Env:
    """The environment with its last observations joined: images along their channels, else along a new first axis."""
    space = env.observation_space
    if not isinstance(space, gym.spaces.Box | gym.spaces.Discrete):
        raise InputError(f"stack joins Box and Discrete observations, not {type(space).__name__} ones")
    env = FrameStackObservation(env, count)  # resets fill it with the first
    rows, shape = env.observation_space, space.shape or ()
    if len(shape) != 3 or not isinstance(rows, gym.spaces.Box):
        return env  # [K, D] is flattened, and gray images [K, H, W] are channels
    last = shape[2] < min(shape[:2])  # [H, W, C], not [C, H, W]

    def joined(frames: np.ndarray) -> np.ndarray:
        """[K, H, W, C] -> [H, W, K*C], or [K, C, H, W] -> [K*C, H, W]."""
        return np.concatenate(frames, axis=-1 if last else 0)

    return TransformObservation(env, joined, gym.spaces.Box(joined(rows.low), joined(rows.high), dtype=rows.dtype.type))


def refuse_statistics(env: Any) -> None:
    """Raise InputError for a wrapper that holds running statistics by a name such as RunningMeanStd.

    Nobody owns those: each lane has its own, and an evaluation begins without any.
    """
    while env is not None:
        kind, held = type(env).__name__, vars(env)
        moving = held.get("_update_running_mean") is not False  # else they are at rest, as set by whoever made it
        if moving and any(RUNNING.search(type(x).__name__) for name, x in held.items() if name != "env"):
            of_reward = isinstance(env, gym.RewardWrapper) or "reward" in kind.lower()
            flag = "reward_scaling" if of_reward else "state_norm"
            raise InputError(
                f"{kind} keeps running statistics of its own in each lane, which evaluations, play, and saved runs "
                f"would not have: leave it out and use {switch(flag)} (Tricks({flag}=True) in Python)"
            )
        env = held.get("env")


class Draws:
    """A lane's random numbers: the seed of its first episode, and what it draws from NumPy's global generator.

    The latter as if it had a process of its own: `with draws: env.step(a)`.
    """

    def __init__(self, seed: int, purpose: str, resumed: int, lane: int) -> None:
        self.place, self.seeds = slice(lane, lane + 1), stream(seed, purpose, *[resumed] * bool(resumed))
        rng = stream(seed, "globals", PURPOSES.index(purpose), resumed, lane)
        self._own, self._fresh = np.random.MT19937(int(rng.integers(2**32))), True

    def first_seed(self) -> int | None:
        """The seed of the first episode; None for those that follow."""
        fresh, self._fresh = self._fresh, False
        return int(self.seeds.integers(2**31)) + self.place.start if fresh else None

    def __enter__(self) -> None:
        self._outer = np.random.get_bit_generator()  # type: ignore[attr-defined]
        np.random.set_bit_generator(self._own)  # type: ignore[attr-defined]

    def __exit__(self, *_: object) -> None:
        np.random.set_bit_generator(self._outer)  # type: ignore[attr-defined]
