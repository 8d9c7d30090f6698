"""Look at an environment without training in it: does it keep to Gymnasium's interface, and what is in it?"""

import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from gymnasium.utils.env_checker import data_equivalence
from torch import Tensor

from tricks.config import Config
from tricks.core.env import Env
from tricks.core.spaces import Spaces
from tricks.envs.contract import KEY, Contract
from tricks.envs.ids import make_named
from tricks.envs.lane import CHANGES, make_lane
from tricks.envs.make import lane_kind, make_env
from tricks.errors import InputError, in_words
from tricks.ladder import PPO
from tricks.training import open_env
from tricks.values import shown

PATIENCE = 5.0  # seconds
ROUNDING = 1e-5  # of a bound, relative to it
RANDOM = (
    "{}: two resets with the same seed differ; reset(seed=...) must call super().reset(seed=seed), and the "
    "environment must draw from self.np_random alone"
)


def check(config: Config, episodes: int) -> Iterator[str]:
    """Say what an environment has and does, line by line. Raises InputError for the first fault."""
    with closing(make_env(config)) as env:
        tricks = replace(PPO, action_mask=env.masks)
    bare, make = config, None
    if lane_kind(config) not in ("tensor", "atari", "envpool"):  # single lanes can be looked into
        bare, make = replace(config, **{name: getattr(Config, name) for name in CHANGES}), partial(watched, config)
        repeated(config)  # before the remarks on what a training would do
    with closing(open_env(config, tricks)) as env:
        yield from described(env)
    with closing(make_env(bare, make=make)) as one:
        with closing(make_env(bare, make=make)) as two:
            yield compared(one, two)
        yield from games(one, episodes)


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
        space, name = self.env.action_space, type(self.unwrapped).__name__
        if fault := outside(space, action):
            raise InputError(f"the action that reaches {name} {fault}, and its space is {_short(space)}")
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
    if isinstance(space, Discrete):  # a whole number of another dtype is no fault
        return "" if space.contains(int(np.asarray(x).item())) else f"is {shown(x)}"
    if not isinstance(space, Box):
        plain = space.dtype is None or space.shape is None
        return "" if space.contains(x if plain else np.asarray(x, dtype=space.dtype)) else f"is {shown(x)}"
    given, low, high = (np.asarray(each, dtype=np.float64) for each in (x, space.low, space.high))
    for words, bad in (
        ("not finite", ~np.isfinite(given)),
        ("below {low:g}", given < low - ROUNDING * np.abs(low)),
        ("above {high:g}", given > high + ROUNDING * np.abs(high)),
    ):
        if bad.any():
            at = tuple(int(i) for i in np.argwhere(bad)[0])
            where = f"at {list(at)} " * bool(at)
            return f"{where}is {given[at]:g}, {words.format(low=low[at], high=high[at])}"
    return ""


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
    return f"a vector of length {spaces.features}" + f" ({', '.join(parts)})" * (len(parts) > 1)


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
        raise InputError(RANDOM.format(config.env))


def compared(one: Env, two: Env) -> str:
    """Whether other lanes begin otherwise. Raises InputError if the same seed begins in two ways."""
    if not (torch.equal(one.now.obs, two.now.obs) and torch.equal(one.now.legal, two.now.legal)):
        raise InputError(RANDOM.format(one.id))
    apart = len(one.now.obs[0].flatten(1).unique(dim=0))
    alike = "all lanes begin alike, which is right only if every episode does"
    said = f"{apart} of {one.lanes} lanes begin differently" if apart > 1 else alike
    return f"first observations: {f'{said}; ' * (one.lanes > 1)}the same seed gives the same ones"


def at_random(env: Env, rng: torch.Generator) -> Tensor:
    """A legal action for each lane, all equally likely: [1, N], [1, N, K] or [1, N, A]. Unbounded numbers: normal.

    Raises InputError if there is none.
    """
    spaces, legal, shape = env.spaces, env.now.legal, (1, env.lanes, env.spaces.actions)
    if not spaces.possible(legal).all():
        raise InputError(f"{env.id}: the action mask leaves no legal action; at least one entry must be 1")
    space = spaces.action
    if not isinstance(space, Box):
        parts = legal[0].double().split(list(spaces.components) or spaces.actions, -1)  # [N, choices] each
        drawn = torch.cat([torch.multinomial(part, 1, generator=rng) for part in parts], -1).unsqueeze(0)
        return drawn if spaces.components else drawn[..., 0]
    low, high = (torch.from_numpy(bound.astype(np.float32).ravel()) for bound in (space.low, space.high))
    if not space.is_bounded():
        return torch.randn(shape, generator=rng).clamp(low, high)
    corner = torch.randint(0, 4, (1, env.lanes, 1), generator=rng)  # the bounds themselves are tried, too
    share = torch.where(corner < 2, torch.rand(shape, generator=rng), corner - 2.0)
    return low * (1 - share) + high * share


def games(env: Env, episodes: int) -> Iterator[str]:
    """Random games in all lanes, equally many in each, for a few seconds: their lengths and returns, and the speed.

    Raises InputError for what teaches nothing.
    """
    rng, start, playing = torch.Generator().manual_seed(1), time.perf_counter(), torch.ones(1, dtype=torch.bool)
    lengths, returns, cut, steps, total, seconds = list[int](), list[float](), 0, 0, 0.0, 0.0
    length, score = np.zeros(env.lanes, int), np.zeros(env.lanes)
    left = np.full(env.lanes, -(-episodes // env.lanes))
    env.reset()
    while left.any() and seconds < PATIENCE:
        real = ~env.now.over[0].numpy()  # the other lanes begin a game
        now = env.step(at_random(env, rng), playing)
        reward, over = now.score[0].numpy(), now.over[0].numpy()
        for what, whole in {"reward": np.isfinite(reward).all(), "observation": now.obs.isfinite().all()}.items():
            if not whole:
                raise InputError(f"{env.id}: the {what} of step() is not finite")
        length, score = np.where(real, length + 1, 0), np.where(real, score + reward, 0.0)
        counts = over & (left > 0)
        lengths, returns = lengths + length[counts].tolist(), returns + score[counts].tolist()
        cut += int((now.truncated & ~now.terminated)[0].numpy()[counts].sum())
        steps, total, left = steps + int(real.sum()), total + float(reward[real].sum()), left - counts
        seconds = time.perf_counter() - start
    if lengths:
        fewest, most, mean = min(lengths), max(lengths), np.mean(lengths)
        each = f"{fewest:,} steps each" if fewest == most else f"{fewest:,} to {most:,} steps (mean {mean:,.1f})"
        yield f"random games: {len(lengths)} of {each}; {cut} ended by a time limit"
        yield f"their returns: {min(returns):g} to {max(returns):g} (mean {np.mean(returns):.4g})"
    else:
        yield (
            f"random games: none ended in {steps:,} steps; evaluations and `play` need an end, and so does "
            "training without segments: --wrap 'gymnasium.wrappers:TimeLimit(1000)' sets one"
        )
        yield f"reward: {total / max(1, steps):.4g} per step"
    yield f"speed: {steps / max(seconds, 1e-9):,.0f} steps per second"
