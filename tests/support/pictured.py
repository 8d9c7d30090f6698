"""Environments that are drawn, and agents that play them."""

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
from support.probes import SeenActionReward, chance, like, register

from tricks import REINFORCE, Config, Run, train


class Pictured(SeenActionReward):
    """Ten steps, and in every one the action that pays is the one that is seen; drawn as a growing bar."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012 - Gymnasium's own interface
    length, size, later = 10, (30, 40), chance  # another one is seen in every step

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode

    def render(self) -> np.ndarray:
        frame = np.zeros((*self.size, 3), np.uint8)
        frame[:, : 1 + self.t % self.size[1]] = 255
        return frame


# Many steps, with more pixels than anybody needs.
Long = like(Pictured, "Long", length=650, size=(500, 1000))


class Undrawable(Pictured):
    """Needs a package that is not there."""

    def render(self) -> np.ndarray:
        raise gym.error.DependencyNotInstalled("pygame is not installed, run `pip install 'gymnasium[other]'`")


class OnlyOneLegal(Pictured):
    """Pays a little less than nothing for what the mask forbids: all but action 1."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        return super().reset(seed=seed)[0], {"action_mask": np.array([0, 1], np.int8)}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        obs, _, terminated, truncated, _ = super().step(action)
        return obs, -0.5 * (action == 0), terminated, truncated, {"action_mask": np.array([0, 1], np.int8)}


for kind in (Pictured, Long, Undrawable, OnlyOneLegal):
    register(f"{kind.__name__}-v0", kind)

CONFIG = Config("Pictured-v0", seeds=(4, 2), steps=6000, lanes=4, horizon=32, lr=0.01, gamma=0.5, hidden=(16,))


def untrained(env: str, tricks: Any = REINFORCE, **numbers: Any) -> Run:
    return train(replace(CONFIG, env=env, steps=1, lanes=1, **numbers), tricks)
