"""Atari games by the settings of the published scores. Mnih et al. 2015; Schulman et al. 2017, arXiv:1707.06347.

Four frames a step, the brighter of the last two, 84×84 gray, the last four of them stacked; up to 30 idle frames at the
start, and then FIRE where that is the second action; no sticky actions. What is learned from is the sign of the reward,
and a lost life ends an episode; what is reported is the score of whole games.
"""

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import VectorEnv
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation
from torch import Tensor

from tricks.core.extras import extra

if TYPE_CHECKING:
    from tricks.envs.gymnasium import GymnasiumEnv

SKIP, SIZE, STACK, NOOPS = 4, 84, 4, 30


def is_atari(id: str) -> bool:
    """Whether this is an id of ale-py; if so, imports ale-py, which registers its ids. Raises InputError without it."""
    if not id.startswith("ALE/"):
        return False
    extra("atari", "ale_py")
    return True


def make_games(id: str, lanes: int) -> VectorEnv:
    """ale-py's own vector environment: `lanes` games, stepped in C++ threads."""
    return gym.make_vec(
        id,
        num_envs=lanes,
        frameskip=SKIP,
        maxpool=True,
        grayscale=True,
        img_height=SIZE,
        img_width=SIZE,
        stack_num=STACK,
        noop_max=NOOPS,
        use_fire_reset=True,
        repeat_action_probability=0.0,
        reward_clipping=False,  # these two are AtariEnv's part
        episodic_life=False,
    )


def make_game(id: str, render_mode: str | None = None) -> gym.Env:
    """One game in Python, with the same settings. Raises InputError if opencv is not installed."""
    extra("atari", "cv2")
    ale = extra("atari", "ale_py")
    ale.ALEInterface.setLoggerMode(ale.LoggerMode.Error)  # or it greets
    game = gym.make(id, frameskip=1, repeat_action_probability=0.0, render_mode=render_mode)
    game = AtariPreprocessing(game, noop_max=NOOPS, frame_skip=SKIP, screen_size=SIZE)
    return FrameStackObservation(Fire(game), STACK, padding_type="zero")


class Fire(gym.Wrapper):
    """Presses FIRE after a reset in games that have it as their second action: some wait for it."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        obs, info = self.env.reset(seed=seed, options=options)
        if self.env.unwrapped.get_action_meanings()[1:2] == ["FIRE"]:  # type: ignore[attr-defined]
            obs, _, terminated, truncated, info = self.env.step(1)
            if terminated or truncated:
                obs, info = self.env.reset(options=options)
        return obs, info


class AtariEnv:
    """An Env whose reward is the sign of the game's, and where a lost life terminates, though the game goes on.

    The row after a lost life is experience, the first of another episode; only the end of the game resets a lane.
    """

    def __init__(self, env: "GymnasiumEnv") -> None:
        self.env, self._lives = env, torch.zeros(len(env.seeds), env.lanes, dtype=torch.int64)
        self.id, self.seeds, self.lanes, self.spaces = env.id, env.seeds, env.lanes, env.spaces
        self._show()

    def reset(self) -> None:
        """A new game in every lane."""
        self.env.reset()
        self._show()

    def step(self, action: Tensor, playing: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One step of every playing seed; the others stand still."""
        going, before = ~self.resetting, self._lives
        score, terminated, truncated = self.env.step(action, playing)
        self._show()
        # some games stand at no lives for a few frames before they are over
        lost = (self._lives < before) & (self._lives > 0) & going
        return score.sign(), terminated | lost, truncated

    def close(self) -> None:
        self.env.close()

    @property
    def resumable(self) -> bool:
        return self.env.resumable

    def state_dict(self) -> dict[str, int]:
        return self.env.state_dict()

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.env.load_state_dict(state)
        self._show()

    def _show(self) -> None:
        env = self.env
        self.obs, self.legal, self.resetting, self.score = env.obs, env.legal, env.resetting, env.score
        self._lives = self._lives.clone()
        for i, info in env.infos.items():
            self._lives[i] = torch.from_numpy(np.asarray(info["lives"]))
