"""A World as a Gymnasium environment: the same pure functions, with one lane."""

from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from tricks.worlds import WORLDS

CELL = 24  # pixels of a drawing
PALETTE = ((255, 255, 255), (240, 190, 40), (205, 80, 60), (70, 120, 190), (150, 110, 200))


class WorldEnv(gym.Env):
    """One lane of the World with id `world`. Randomness comes from `np_random`, the time limit from the registration.

    If the world has illegal actions, info["action_mask"] [A] int8 says which are legal. Carried features survive
    `reset()`; `reset(seed=...)` starts them over.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own interface

    def __init__(self, world: str) -> None:
        self.world = WORLDS[world]
        self.metadata = {**self.metadata, "tasks": self.world.tasks}
        self.observation_space, self.action_space = deepcopy((self.world.observation, self.world.action))
        self._state: Tensor | None = None  # [1, 1, ...]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        state = self.world.initial(self._chance(self.world.reset_chances))
        if seed is None and self._state is not None:
            kept = state.shape[-1] - self.world.carried
            state = torch.cat([state[..., :kept], self._state[..., kept:]], -1)
        self._state = state
        return self._seen(state)

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert self._state is not None, "call reset before step"
        assert self.action_space.contains(action), f"{action!r} is not in {self.action_space}"
        lane = torch.from_numpy(np.asarray(action)[None, None])
        chance = self._chance(self.world.step_chances)
        self._state, reward, terminated = self.world.dynamics(self._state, lane, chance)
        obs, info = self._seen(self._state)
        return obs, float(reward), bool(terminated), False, info

    def _chance(self, count: int) -> Tensor:
        return torch.from_numpy(self.np_random.random((1, 1, count), dtype=np.float32))

    def _seen(self, state: Tensor) -> tuple[np.ndarray, dict[str, Any]]:
        obs, legal = self.world.observe(state)[0, 0].numpy().copy(), self.world.legal(state)
        obs = obs.reshape(self.observation_space.shape)  # a window of tokens has two axes there
        return obs, {} if legal is None else {"action_mask": legal[0, 0].numpy().astype(np.int8)}


class GameEnv(WorldEnv):
    """A game in pixels, which can be drawn: each channel has a color, and the first channels are on top."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 8}  # noqa: RUF012 - Gymnasium's own interface

    def __init__(self, world: str, render_mode: str | None = None) -> None:
        super().__init__(world)
        self.render_mode = render_mode

    def render(self) -> np.ndarray:
        assert self._state is not None, "call reset before render"
        image = self.world.observe(self._state)[0, 0].bool().numpy()  # [C, H, W]
        drawn = np.zeros((*image.shape[1:], 3), np.uint8)
        for plane, color in zip(image[::-1], PALETTE[len(image) - 1 :: -1], strict=True):
            drawn[plane] = color
        return drawn.repeat(CELL, 0).repeat(CELL, 1)
