"""Look at an environment without training in it: does it keep to Gymnasium's interface, and what is in it?"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import Box
from gymnasium.utils.env_checker import data_equivalence

from tricks.config import Config
from tricks.core.env import Env
from tricks.core.spaces import Spaces
from tricks.envs.contract import Contract
from tricks.envs.ids import make_named
from tricks.envs.lane import CHANGES, make_lane
from tricks.envs.make import make_env
from tricks.envs.masks import KEY
from tricks.errors import InputError, in_words
from tricks.ladder import PPO
from tricks.runs.opening import lane_kind, open_env
from tricks.runs.random_games import PATIENCE, Games, at_random
from tricks.values import shown

ALIKE = 20  # steps in which two environments with one seed are compared
ROUNDING = 1e-5  # of a bound, relative to it


def check(config: Config, episodes: int) -> Iterator[str]:
    """Say what an environment has and does, line by line. Raises InputError for the first fault."""
    with closing(make_env(config)) as env:
        tricks = replace(PPO, action_mask=env.masks)
    if watchable(config):  # before the remarks on what a training would do
        repeated(config)
    with closing(open_env(config, tricks)) as env:
        yield from described(env)
    bare = replace(config, **{name: getattr(Config, name) for name in CHANGES}) if watchable(config) else config
    make = partial(watched, config) if watchable(config) else None
    with ExitStack() as stack:
        one, two = (stack.enter_context(closing(make_env(bare, make=make))) for _ in range(2))
        yield from compared(one, two)
        games = Games(one)
        games.play(episodes)
        yield from games.told()


def watchable(config: Config) -> bool:
    """Whether single lanes can be looked into: no tensor world, no ALE game, none of EnvPool's."""
    return lane_kind(config, None) not in ("tensor", "atari", "envpool")


def watched(config: Config) -> gym.Env:
    """A lane of the config's, under `Watched` both inside and outside of its wrappers."""
    bare = partial(make_named, config.env)
    return Watched(make_lane(config, lambda **args: Watched(Contract(bare(**args)))))


class Watched(gym.Wrapper):
    """Raises InputError for an observation, or an action, that is not in its space, and for a mask that is left out."""

    _masked = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._look("reset()", obs)
        self._masked = KEY in info
        return obs, info

    def step(self, action: Any) -> Any:
        if fault := outside(self.env.action_space, action):
            space = _short(self.env.action_space)
            raise InputError(
                f"the action that reaches {type(self.unwrapped).__name__} {fault}, and its space is {space}"
            )
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._look("step()", obs)
        if self._masked and KEY not in info and not terminated and not truncated:
            raise InputError(
                f"reset() gives {KEY!r} in its info, and step() doesn't: then every action counts as legal"
            )
        return obs, reward, terminated, truncated, info

    def _look(self, call: str, obs: Any) -> None:
        if fault := outside(self.env.observation_space, obs):
            space = f"its space is {_short(self.env.observation_space)}"
            raise InputError(f"the observation of {call} {fault}, but {space}: clip it, or make the space larger")


def outside(space: gym.Space[Any], x: Any) -> str:
    """Where an element is not in its space: `at 'goal' [1] is 2.0, above 1.0`; empty if it is."""
    if isinstance(space, gym.spaces.Dict | gym.spaces.Tuple):
        parts = space.spaces.items() if isinstance(space, gym.spaces.Dict) else enumerate(space.spaces)
        faults = ((key, outside(part, x[key])) for key, part in parts)
        return next((f"at {key!r} {fault}" for key, fault in faults if fault), "")
    if not isinstance(space, Box):
        return "" if space.contains(_like(space, x)) else f"is {shown(x)}"
    given = np.asarray(x, dtype=np.float64)
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    checks = {
        "not finite": ~np.isfinite(given),
        "below {low}": given < low - ROUNDING * np.abs(low),
        "above {high}": given > high + ROUNDING * np.abs(high),
    }
    for words, bad in checks.items():
        if bad.any():
            at = tuple(int(i) for i in np.argwhere(bad)[0])
            said = words.format(low=f"{low[at]:g}", high=f"{high[at]:g}")
            return f"{f'at {list(at)} ' * bool(at)}is {given[at]:g}, {said}"
    return ""


def _like(space: gym.Space[Any], x: Any) -> Any:
    """A discrete element as its space would give it: a whole number of another dtype is no fault."""
    if isinstance(space, gym.spaces.Discrete):
        return int(np.asarray(x).item())
    return np.asarray(x, dtype=space.dtype) if space.dtype is not None and space.shape is not None else x


def _short(space: gym.Space[Any]) -> str:
    return " ".join(str(space).split())


def described(env: Env) -> Iterator[str]:
    """The spaces, and how the agent sees them."""
    spaces = env.spaces
    yield f"observations: {_short(spaces.observation)}; the net sees {seen(spaces)}"
    choices = f"{len(spaces.components)} choices at once" if spaces.components else f"one of {spaces.actions}"
    given = choices if spaces.discrete else f"numbers, of which there are {spaces.actions}, clipped to the bounds"
    yield f"actions: {_short(spaces.action)}; the policy gives {given}"
    if env.masks:
        yield "action masks: yes; --action-mask uses them"
    if env.now.lives is not None:
        yield f"lives: {int(env.now.lives.max())}; --life-ends ends episodes with them"
    if spaces.tasks > 1:
        yield f"tasks: {spaces.tasks}"


def seen(spaces: Spaces) -> str:
    """What an observation becomes."""
    if spaces.pixels:
        return f"an image {list(spaces.shape)}, its channels first"
    parts = [f"{leaf.name}: {f'an image {list(leaf.shape)}' if leaf.axes else leaf.size}" for leaf in spaces.leaves]
    whole = f"a vector of length {spaces.features}"
    return whole if len(parts) == 1 else f"{whole} ({', '.join(parts)})"


def repeated(config: Config) -> None:
    """Raise InputError if the environment, without any wrapper, begins in two ways from one seed."""
    try:
        env = make_named(config.env, **config.env_kwargs)
        bare = Contract(env.unwrapped)
        starts = [bare.reset(seed=7)[0] for _ in range(2)]
    except (Exception, SystemExit) as error:  # an environment can raise anything
        raise InputError(f"{config.env}: {in_words(error)}") from error
    with suppress(Exception, SystemExit):  # said before, of the lanes
        env.close()
    if not data_equivalence(*starts):
        raise _random(config.env)


def _random(name: str) -> InputError:
    return InputError(
        f"{name}: two resets with the same seed differ; reset(seed=...) must call super().reset(seed=seed), and the "
        "environment must draw from self.np_random alone"
    )


def compared(one: Env, two: Env) -> Iterator[str]:
    """Whether the same seed gives the same episode, and other lanes other ones. Raises InputError for other starts."""
    if not (torch.equal(one.now.obs, two.now.obs) and torch.equal(one.now.legal, two.now.legal)):
        raise _random(one.id)
    apart = len(one.now.obs[0].flatten(1).unique(dim=0))
    alike = "all lanes begin alike, which is right only if every episode does"
    said = f"{apart} of {one.lanes} lanes begin differently" if apart > 1 else alike
    yield f"first observations: {f'{said}; ' * (one.lanes > 1)}the same seed gives the same ones"
    rng, playing, start = torch.Generator().manual_seed(0), torch.ones(1, dtype=torch.bool), time.perf_counter()
    for _ in range(ALIKE):
        action = at_random(one, rng)
        x, y = (env.step(action, playing) for env in (one, two))
        same = (torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in ((x.obs, y.obs), (x.reward, y.reward)))
        if not all(same):
            yield "steps: the same seed and actions lead to different ones, so runs cannot be repeated"
            return
        if time.perf_counter() - start > PATIENCE:
            return
