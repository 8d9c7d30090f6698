"""One lane: an environment with the arguments and the wrappers that the config asks for, and its random numbers."""

import pkgutil
import re
from contextlib import closing, suppress
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

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
IN_USE: WeakValueDictionary[int, gym.Env] = WeakValueDictionary()  # the objects that are lanes now, by their id
ALIKE = 20  # steps in which two episodes with the same seed and actions are compared


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
        env = make_checked(make, config.env_kwargs)
    elif is_atari(config.env):
        env = make_game(config.env, **config.env_kwargs)
    else:
        env = make_checked(partial(make_named, config.env), config.env_kwargs, repr(config.env))
    for name in config.wrap:
        env = wrapped(env, name)
    if config.rescale_actions:
        env = with_rescaled_actions(env)
    if config.stack > 1:
        env = with_stacked_observations(env, config.stack)
    refuse_statistics(env)
    return Contract(env)


def make_checked(make: MakeEnv, args: dict[str, Any], name: str = "env=") -> gym.Env:
    """Call `make` and return its environment. Raises InputError, with the name, if it is not a gymnasium.Env."""
    env = make(**args)
    if not isinstance(env, gym.Env):
        old = any(kind.__module__.split(".")[0] == "gym" for kind in type(env).__mro__)
        hint = "; shimmy turns environments of the package gym into it (pip install shimmy)" if old else ""
        hint = "; each lane is one environment, and --lanes says how many" if isinstance(env, VectorEnv) else hint
        what = "None: does it return what it makes?" if env is None else type(env).__name__
        raise InputError(f"{name} must make a gymnasium.Env, not {what}{hint}")
    return env


def wrapped(env: gym.Env, name: str) -> gym.Env:
    """The environment in the wrapper module:Wrapper, or module:Wrapper(arguments). Raises InputError if that fails."""
    target, args, named = wrapper_call(name)
    try:
        around = pkgutil.resolve_name(target)(env, *args, **named)
    except (Exception, SystemExit) as error:  # imports and constructors can raise anything
        raise InputError(f"cannot wrap the environment in {name}: {advice(error)}") from error
    if not isinstance(around, gym.Env):
        raise InputError(f"wrap: {name} must make a gymnasium.Env, not {type(around).__name__}")
    return around


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
    """What a lane draws from NumPy's global generator, as if it had a process of its own: `with draws: env.step(a)`."""

    def __init__(self, seed: int, purpose: str, resumed: int, lane: int) -> None:
        rng = stream(seed, "globals", PURPOSES.index(purpose), resumed, lane)
        self._own = np.random.MT19937(int(rng.integers(2**32)))

    def __enter__(self) -> None:
        self._outer = np.random.get_bit_generator()  # type: ignore[attr-defined]
        np.random.set_bit_generator(self._own)  # type: ignore[attr-defined]

    def __exit__(self, *_: object) -> None:
        np.random.set_bit_generator(self._outer)  # type: ignore[attr-defined]


def repeatable(config: Config, make: MakeEnv | None) -> bool:
    """Whether an environment, of which one more is made, without config.wrap, repeats an episode that begins anew.

    It does not if it draws from a generator that no seed reaches. What fails is left to fail in training.
    """
    episodes, actions = list[list[Any]](), list[Any]()
    try:
        with Draws(0, "env", 0, 0):
            env = make_lane(replace(config, wrap=(), stack=1, rescale_actions=False), make)
        if id(env.unwrapped) in IN_USE:  # there is only this one
            return True
        with closing(env):
            for _ in range(2):
                with Draws(0, "env", 0, 0):
                    episodes.append(episode(env, actions))
        one, other = episodes  # one that fails is the shorter one
        np.testing.assert_equal(one[: len(other)], other[: len(one)])  # NaN is NaN
    except AssertionError:
        return False
    except (Exception, SystemExit):
        return True
    return True


def episode(env: gym.Env, actions: list[Any]) -> list[Any]:
    """The observations and rewards of an episode, of ALIKE steps at most, by these actions or random ones."""
    seen: list[Any] = []
    with suppress(Exception):  # what an environment does wrong is said when it is trained in
        seen.append(deepcopy(env.reset(seed=0)[0]))
        for t in range(ALIKE):
            actions += [env.action_space.sample()] if len(actions) == t else []
            obs, reward, terminated, truncated, _ = env.step(actions[t])
            seen += [deepcopy(obs), np.float64(reward)]
            if terminated or truncated:
                break
    return seen
