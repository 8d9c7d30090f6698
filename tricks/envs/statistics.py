"""Wrappers with running statistics. Nobody owns those: each lane has its own, and an evaluation begins without any."""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from gc import get_referents
from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from tricks.errors import InputError
from tricks.flags import switch

RUNNING = re.compile("running.?(mean|std|var|stat|norm|moment)", re.IGNORECASE)  # names that leave no doubt
PAIRS = ("mean|average|mu", "var|std|m2|sigma|squares?|sq|variance"), ("min|low|lowest", "max|high|highest")
REWARD = re.compile("rew|return|ret", re.IGNORECASE)
DEPTH, STEPS = 5, 100  # how deep in a wrapper they are looked for, and for how long a wrapper is tried
ELSEWHERE = gym.Env, gym.vector.VectorEnv, gym.Space, type, ModuleType, str, int, float  # where they are not


def refuse_statistics(env: Any) -> None:
    """Raise InputError if a wrapper standardizes by running statistics of its own.

    Those are recognized by their name, such as RunningMeanStd, or else by what they do: the wrapper holds a mean and a
    variance, or a minimum and a maximum, that move, and after the same reset it answers the same actions differently.
    """
    for layer in layers(env):
        if vars(layer).get("_update_running_mean") is False:  # they are at rest, as set by whoever made it
            continue
        own = layer if isinstance(layer, gym.Wrapper) else None
        certain = [name for name, x in within(layer) if RUNNING.search(type(x).__name__)]
        if certain or (own and statistics(own) and matter(env, own)):
            kind = type(layer).__name__
            named = (kind, *certain, *statistics(layer))
            of_reward = isinstance(layer, gym.RewardWrapper) or any(REWARD.search(name) for name in named)
            flag = "reward_scaling" if of_reward else "state_norm"
            raise InputError(
                f"{kind} keeps running statistics of its own in each lane, which evaluations, play, and saved runs "
                f"would not have: leave it out and use {switch(flag)} (Tricks({flag}=True) in Python)"
            )


def layers(env: Any) -> Iterator[Any]:
    """The wrappers from the outermost on, and the environment in them; of a vector environment, also its first lane."""
    while env is not None:
        yield env
        for lane in list(vars(env).get("envs", ()))[:1]:
            yield from layers(lane)
        env = vars(env).get("env")


def within(layer: Any) -> Iterator[tuple[str, Any]]:
    """A layer and everything that it holds, each under the name of the layer's attribute."""
    seen, left = set[int](), [(name, x, DEPTH) for name, x in vars(layer).items() if name != "env"]
    while left:
        name, x, depth = left.pop()
        module = isinstance(x, dict) and "__name__" in x  # whose names a function holds
        if id(x) not in seen and not module and not isinstance(x, ELSEWHERE):
            seen.add(id(x))
            yield name, x
            left += [(name, part, depth - 1) for part in get_referents(x)[:100]] if depth else []


def names(x: Any) -> Mapping[str, Any]:
    """The attributes of an object, and those that its class declares; or the entries of a dictionary."""
    if isinstance(x, Mapping):
        return {str(name): part for name, part in x.items()}
    declared = {name: y for kind in reversed(type(x).__mro__) for name, y in vars(kind).items() if number(y)}
    return declared | getattr(x, "__dict__", {})


def statistics(layer: Any) -> dict[str, Any]:
    """The numbers of a layer, and of what it holds, whose names are those of statistics."""
    found = dict[str, Any]()
    for place, (path, x) in enumerate([("", layer), *within(layer)]):
        for pair in PAIRS:
            kinds = [re.compile(rf"(^|_)({words})(_|\d|$)", re.IGNORECASE) for words in pair]
            named = [{name: y for name, y in names(x).items() if kind.search(name) and number(y)} for kind in kinds]
            if all(named):
                found |= {f"{path} {name} {place}": np.array(y) for each in named for name, y in each.items()}
    return found


def number(x: Any) -> bool:
    """Whether this is a number, or an array of them."""
    return isinstance(x, int | float | np.ndarray | np.number | torch.Tensor) and not isinstance(x, bool)


def matter(env: gym.Env, layer: gym.Wrapper) -> bool:
    """Whether a layer's statistics move in an episode, and the same episode is then another one."""
    before, actions = statistics(layer), list[Any]()
    first = episode(env, actions)
    return not same(before, statistics(layer)) and not same(first, episode(env, actions))


def episode(env: gym.Env, actions: list[Any], steps: int = STEPS) -> list[Any]:
    """The observations and rewards of an episode, so many steps at most, by these actions or random ones."""
    seen: list[Any] = []
    try:
        seen.append(deepcopy(env.reset(seed=0)[0]))
        for t in range(steps):
            actions += [env.action_space.sample()] if len(actions) == t else []
            obs, reward, terminated, truncated, _ = env.step(actions[t])
            seen += [deepcopy(obs), float(reward)]
            if terminated or truncated:
                break
    except Exception:  # what an environment does wrong is said when it is trained in
        pass
    return seen


def same(one: Any, other: Any) -> bool:
    """Whether two results, nested alike, are the same numbers; NaN is the same as NaN."""
    try:
        np.testing.assert_equal(one, other)
    except AssertionError:
        return False
    return True
