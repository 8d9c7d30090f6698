"""What the one agent has in place of its own where observations are images: convolutions, and the rules of a game.

`python -m tricks export atari` prints `one_agent.py` with these. An image is uint8, [C, H, W] or [H, W, C]. In games
without FIRE, `tricks.train` also learns from the row after a lost life, which is left out here.
"""

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from tricks.config import Config


class Convolutions(nn.Sequential):
    """Layers that see images [..., C, H, W]."""

    def forward(self, x: Tensor) -> Any:
        y = x.flatten(0, -4)
        for layer in self:
            y = layer(y)
        return y.unflatten(0, x.shape[:-3])


def net(shape: Any, h: int, outputs: int) -> nn.Module:
    """Convolutions and a layer with ReLU, and a linear head. Mnih et al. 2015; if small, Young & Tian 2019."""
    layers, width = [nn.Conv2d(shape[0], 32, 8, 4), nn.Conv2d(32, 64, 4, 2), nn.Conv2d(64, 64, 3)], 512
    if min(shape[1:]) < 36:
        layers, width = [nn.Conv2d(shape[0], 8, 3)], 64
    parts = [part for layer in layers for part in (layer, nn.ReLU())]
    features = nn.Sequential(*parts)(torch.zeros(1, *shape)).numel()
    return nn.Sequential(
        Convolutions(*parts, nn.Flatten(), nn.Linear(features, width), nn.ReLU()), nn.Linear(width, outputs)
    )


class Lives(gym.vector.VectorWrapper):
    """A lost life ends an episode, but not the game. The row after it is no experience, and is FIRE if the game has it.

    ale-py's own `episodic_life` would start a new game. Mnih et al. 2015, 10.1038/nature14236.
    """

    def reset(self, **given: Any) -> Any:
        obs, info = self.env.reset(**given)
        self.lives, self.lost, self.over = info["lives"], *np.zeros((2, self.num_envs), bool)
        self.fires = vars(self.unwrapped)["ale"].get_action_set()[1].name == "FIRE"
        return obs, info

    def step(self, actions: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(np.where(self.lost & self.fires, 1, actions))
        self.lost = (info["lives"] < self.lives) & (info["lives"] > 0) & ~self.over
        self.lives, self.over = info["lives"], terminated | truncated
        return obs, reward, terminated | self.lost, truncated, info


def make(config: Config) -> Any:
    """Lanes that show images [C, H, W] of numbers from 0 to 1, and keep the score. Raises Gymnasium's Error for others.

    ale-py's games come with its own defaults: 4 frames a step, 84×84, the last four, up to 30 no-ops at the start.
    """
    if "ALE/" in config.env:
        game = f"ale_py:{config.env.removeprefix('ale_py:')}"
        env = gym.make_vec(game, config.lanes, repeat_action_probability=0.0, reward_clipping=False)
    else:
        env = gym.make_vec(config.env, config.lanes)
    space: Any = env.single_observation_space
    if len(space.shape or ()) != 3 or space.dtype != np.uint8:
        raise gym.error.Error(f"the observations of {config.env} are no images of bytes: {space}")
    env = gym.wrappers.vector.RecordEpisodeStatistics(env)
    if config.life_ends:
        env = Lives(env)
    if config.reward_sign:
        env = gym.wrappers.vector.TransformReward(env, np.sign)

    def shown(x: Any) -> Any:
        first = space.shape[0] < min(space.shape[1:])  # the axis of channels
        return (x if first else np.moveaxis(x, -1, -3)) / np.float32(space.high.max())

    box = gym.spaces.Box(0, 1, shown(space.high).shape)
    return gym.wrappers.vector.TransformObservation(env, shown, single_observation_space=box)
