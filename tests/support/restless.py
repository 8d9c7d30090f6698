"""An environment in which everything happens: ends of all kinds, illegal actions, several tasks, any action space."""

from collections.abc import Iterator
from math import prod
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple
from torch import Tensor

SHOWN: dict[float, Any] = {}  # the first number of each nested observation, which is drawn at random -> all of it


class Restless(gym.Env):
    """Random observations and rewards. A step in ten terminates and one in ten truncates, now and then both at once.

    An observation's first features say which of several tasks an episode has; rewards are that many times as large.
    Actions are Discrete(3), of which chance forbids some, or a Box of two dimensions.
    """

    counts: tuple[int, ...] = (3,)

    def __init__(self, discrete: bool = True, tasks: int = 1, features: int = 3) -> None:
        self.metadata = {"tasks": tasks}
        self.tasks, self.hot = tasks, 0 if tasks == 1 else tasks
        self.observation_space = Box(-np.inf, np.inf, (self.hot + features,))
        self.action_space = Discrete(3) if discrete else Box(-1, 1, (2,))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.task = int(self.np_random.integers(self.tasks))
        return self.observation(), self.info()

    def step(self, action: object) -> tuple[np.ndarray, float, bool, bool, dict]:
        reward = (1 + self.task) * float(self.np_random.normal(0.5, 2))
        terminated, truncated = self.np_random.random(2) < 0.1
        return self.observation(), reward, bool(terminated), bool(truncated), self.info()

    def observation(self) -> np.ndarray:
        obs = self.np_random.normal(0.3, 2, self.observation_space.shape)
        obs[: self.hot] = np.eye(self.tasks)[self.task, : self.hot]
        return obs.astype(np.float32)

    def info(self) -> dict[str, Any]:
        masks = [] if isinstance(self.action_space, Box) else [self.mask(count) for count in self.counts]
        return {"action_mask": np.concatenate(masks)} if masks else {}

    def mask(self, count: int) -> np.ndarray:
        mask = (self.np_random.random(count) < 0.6).astype(np.int8)
        mask[self.np_random.integers(count)] = 1
        return mask


class RestlessNested(Restless):
    """The same with observations of several parts, one of which may be an image, and two choices per action."""

    counts = (3, 2)

    def __init__(self, picture: bool = False) -> None:
        super().__init__()
        parts: dict[str, gym.Space[Any]] = {"view": Box(0, 255, (5, 4, 3), np.uint8)} if picture else {}
        pair = Tuple((MultiDiscrete([2, 3]), MultiBinary(2)))
        self.observation_space = Dict({"at": Box(-9, 9, (2,)), "kind": Discrete(3, start=1), "more": pair, **parts})
        self.action_space = MultiDiscrete(np.array(self.counts))

    def observation(self) -> Any:
        self.observation_space.seed(int(self.np_random.integers(2**31)))
        obs = self.observation_space.sample()
        SHOWN[float(obs["at"][0])] = obs
        return obs


# Nested observations as the reference sees them: one vector, part after part, from Gymnasium's documentation.
def parts(space: Space[Any], obs: Any) -> Iterator[np.ndarray]:
    """Each part as numbers: whole numbers one-hot, images of bytes with their channels first."""
    if isinstance(space, Dict):
        for name in sorted(space.spaces):
            yield from parts(space[name], obs[name])
    elif isinstance(space, Tuple):
        for inner, own in zip(space.spaces, obs, strict=True):
            yield from parts(inner, own)
    elif isinstance(space, Discrete):
        yield np.array([float(obs == space.start + k) for k in range(space.n)])
    elif isinstance(space, MultiDiscrete):
        yield np.array([float(obs[i] == k) for i, count in enumerate(space.nvec) for k in range(count)])
    else:
        picture = isinstance(space, Box) and len(space.shape) == 3
        yield np.array(obs, dtype=float).transpose(2, 0, 1) if picture else np.array(obs, dtype=float).ravel()


def flat(space: Space[Any], obs: Any) -> np.ndarray:
    return np.concatenate([part.ravel() for part in parts(space, obs)])


def shown(seen: Tensor, space: Space[Any]) -> np.ndarray:
    """An observation in float64; a nested one is looked up in what the environment showed, and made a vector anew."""
    return flat(space, SHOWN[float(seen[0])]) if isinstance(space, Dict) else seen.double().numpy()


def pictures(space: Space[Any]) -> list[tuple[int, tuple[int, ...]]]:
    """Where in that vector each image begins, and its shape [C, H, W]."""
    found = [part.shape for part in parts(space, space.sample())]
    starts = np.cumsum([0, *map(prod, found)]).tolist()
    return [(start, shape) for start, shape in zip(starts, found, strict=False) if len(shape) == 3]
