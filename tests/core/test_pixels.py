"""Images stay bytes [C, H, W] from the environment to the minibatch; everything else is a vector, as ever."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from support.register import register
from torch import Tensor

from tricks import Config
from tricks.core.rollout import Batch, Player, Rollout
from tricks.envs.make import make_env
from tricks.reuse import minibatches
from tricks.segments import play_segment

SHAPE = (2, 5, 4)


class Screen(gym.Env):
    """A gray screen: the first image is as bright as the time, the second as its double; episodes of three steps."""

    observation_space, action_space = Box(0, 255, SHAPE, np.uint8), Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.t = 0
        return self.screen(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.t += 1
        return self.screen(), 1.0, self.t == 3, False, {}

    def screen(self) -> np.ndarray:
        return np.stack([np.full(SHAPE[1:], self.t * k + 100, np.uint8) for k in (1, 2)])


register("Screen-v0", Screen)
CONFIG = Config(env="Screen-v0", seeds=2, lanes=3, horizon=9)


def at_random(obs: Tensor, legal: Tensor) -> Tensor:
    return torch.zeros(*obs.shape[:2], 2)


def played(playing: list[bool]) -> Rollout:
    return play_segment(Player(make_env(CONFIG), 16), at_random, CONFIG.horizon, torch.tensor(playing))


def test_a_rollout_of_pixels_keeps_every_frame_and_blanks_what_nobody_saw() -> None:
    rollout = played([True, False])
    assert rollout.obs.dtype == torch.uint8
    assert rollout.obs.shape == (2, 10, 3, *SHAPE)
    assert rollout.obs.nbytes == 2 * 10 * 3 * 40  # a byte per pixel
    bright = torch.tensor([0, 1, 2, 3, 0, 1, 2, 3, 0, 1])  # three steps, and what the reset shows
    for image, factor in ((0, 1), (1, 2)):
        expected = (100 + factor * bright).view(10, 1, 1, 1).expand(10, 3, 5, 4)
        assert torch.equal(rollout.obs[0, :, :, image].long(), expected)
    assert not rollout.obs[1].any()
    assert rollout.valid[0, :, 0].tolist() == [True, True, True, False] * 2 + [True]


def test_a_batch_of_pixels_is_no_copy_and_its_minibatches_are_bytes() -> None:
    rollout = played([True, True])
    batch = Batch.of(rollout)
    columns: dict[str, Any] = {name: x[:1] for name, x in vars(rollout).items() if isinstance(x, Tensor)}
    lone = Batch.of(Rollout(**columns))
    assert lone.obs.data_ptr() == rollout.obs.data_ptr()
    batch.add(born=rollout.obs[:, :-1, :, 0, 0, 0].long())
    seen = 0
    for b in minibatches(batch, (0, 1), 0, 1, 4):
        assert b.obs.dtype == torch.uint8
        assert b.obs.shape[2:] == SHAPE
        assert torch.equal(b.obs[..., 0, 3, 2].long(), b.born)
        assert torch.equal(b.obs[..., 1, 0, 0].long() - 100, 2 * (b.born - 100))
        seen += int(b.valid.sum())
    assert seen == int(rollout.valid.sum())


def test_envpool_shows_pixels_too() -> None:
    pytest.importorskip("envpool")
    env = make_env(Config(env="Breakout-v5", backend="envpool", seeds=2, lanes=2))
    assert env.spaces.pixels
    for _ in range(3):
        assert (env.now.obs.dtype, env.now.obs.shape) == (torch.uint8, (2, 2, 4, 84, 84))
        env.step(torch.zeros(2, 2, dtype=torch.int64), torch.ones(2) > 0)
    assert env.now.obs[:, :, -1].float().mean() > 10
    env.close()
