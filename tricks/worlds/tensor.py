"""An environment made of pure functions on tensors of lanes, behind the same interface as Gymnasium's."""

from collections.abc import Callable
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.seeds import draw
from tricks.core.spaces import Spaces

BLOCK = 256  # steps of reset noise that are drawn at once


@dataclass(frozen=True)
class World:
    """A Gymnasium environment's rules. Letters as everywhere: S seeds, N lanes, D features.

    initial: uniform numbers in [0, 1), [..., uniforms] -> states [..., D] after a reset.
    dynamics: state, action -> next state, reward [S, N] float64, terminated [S, N].
    observe: state -> observation [S, N, D].
    """

    id: str
    time_limit: int
    observation: gym.Space
    action: gym.Space
    uniforms: int
    initial: Callable[[Tensor], Tensor]
    dynamics: Callable[[Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]
    observe: Callable[[Tensor], Tensor]


class TensorEnv:
    """S seeds × N lanes of a World, with NEXT_STEP autoreset; obs, legal and resetting as in GymnasiumEnv.

    The reset noise of a step is the same whether or not a lane is reset there, and depends on nothing but the
    seed and the number of steps and resets of all so far. So a seed that stands still may as well be stepped.
    """

    def __init__(self, world: World, config: Config, purpose: str = "env") -> None:
        self.world, self.purpose = world, purpose
        self.id, self.lanes, self.seeds = world.id, config.lanes, config.seed_list
        self.spaces = Spaces(world.id, world.observation, world.action)
        width = self.spaces.actions if self.spaces.discrete else 1
        self.legal = torch.ones(len(self.seeds), self.lanes, width, dtype=torch.bool)
        self._resets = 0
        self.reset()

    def reset(self) -> None:
        """A new episode in every lane."""
        self._resets, self._t = self._resets + 1, 0
        self._state = self._fresh()
        self._age = torch.zeros(self._state.shape[:2], dtype=torch.int32)
        self.resetting = torch.zeros_like(self._age, dtype=torch.bool)
        self.obs = self.world.observe(self._state)

    def step(self, action: Tensor, playing: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One step of every lane; returns reward (float64), terminated and truncated, each [S, N]."""
        self._t += 1
        fresh, going = self._fresh(), ~self.resetting
        state, reward, terminated = self.world.dynamics(self._state, action)
        self._state = torch.where(going.view(*going.shape, *(1,) * (state.dim() - 2)), state, fresh)
        self._age = (self._age + 1) * going
        terminated, truncated = terminated & going, self._age >= self.world.time_limit
        self.resetting = terminated | truncated
        self.obs = self.world.observe(self._state)
        return reward, terminated, truncated

    def close(self) -> None:
        """Nothing to close."""

    def _fresh(self) -> Tensor:
        """The states after a reset at this step, whether or not a lane needs one: [S, N, ...]."""
        block, row = divmod(self._t, BLOCK)
        if row == 0:
            shape = (BLOCK, self.lanes, self.world.uniforms)
            index = (self._resets, block)
            uniform = draw(self.seeds, self.purpose, *index, by=lambda rng: rng.random(shape, dtype=np.float32))
            self._block = self.world.initial(uniform)  # [S, BLOCK, N, ...]
        return self._block[:, row]
