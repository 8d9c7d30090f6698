"""Atari games with the preprocessing of the published scores. Mnih et al. 2015; Schulman et al. 2017, arXiv:1707.06347.

Frame skip 4, max over the last two frames, 84×84 grayscale, a stack of the last four; up to 30 no-ops at the start,
then FIRE if it is the second action; no sticky actions. Reward signs and episodes that end with a life are options
of `Config`.
"""

from contextlib import closing
from typing import Any

import gymnasium as gym
from gymnasium.vector import VectorEnv
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

from tricks.core.extras import extra

SKIP, SIZE, STACK, NOOPS = 4, 84, 4, 30


def is_atari(id: str) -> bool:
    """Whether the id is one of ale-py's; if so, import ale-py, which registers it. Raises InputError if that fails."""
    if not id.rpartition(":")[2].startswith("ALE/"):
        return False
    extra("atari", "ale_py")
    return True


def fire(id: str) -> int | None:
    """The FIRE action, if it is the game's second action, because some games wait for it; otherwise None."""
    with closing(_console(id)) as game:
        return _fire(game)


def make_games(id: str, lanes: int) -> VectorEnv:
    """ale-py's own vector environment: `lanes` games, stepped by C++ threads."""
    how: dict[str, Any] = {"frameskip": SKIP, "maxpool": True, "grayscale": True, "stack_num": STACK}
    how |= {"img_height": SIZE, "img_width": SIZE, "noop_max": NOOPS, "use_fire_reset": True}
    how |= {"repeat_action_probability": 0.0, "reward_clipping": False}  # RewardSign does this
    how |= {"episodic_life": False}  # LifeEnds does this; here it would start a new game after every lost life
    return gym.make_vec(id, num_envs=lanes, **how)


def make_game(id: str, life_ends: bool = False, **args: Any) -> gym.Env:
    """One game in Python, with the same settings; see `Fire` for FIRE. args: of the game, such as mode or render_mode.

    Raises InputError if OpenCV is not installed.
    """
    extra("atari", "cv2")
    game = AtariPreprocessing(_console(id, **args), noop_max=NOOPS, frame_skip=SKIP, screen_size=SIZE)
    return FrameStackObservation(Fire(game, life_ends), STACK, padding_type="zero")


def _console(id: str, **args: Any) -> gym.Env:
    """The raw game, frame by frame."""
    ale = extra("atari", "ale_py")
    ale.ALEInterface.setLoggerMode(ale.LoggerMode.Error)  # suppress its banner
    return gym.make(id, **{"frameskip": 1, "repeat_action_probability": 0.0} | args)


def _fire(game: gym.Env) -> int | None:
    return 1 if game.unwrapped.get_action_meanings()[1:2] == ["FIRE"] else None  # type: ignore[attr-defined]


class Fire(gym.Wrapper):
    """Presses FIRE after a reset if it is the game's second action, because some games wait for it.

    With `life_ends`, so does the step after a lost life, whatever the action, as in `LifeEnds`.
    """

    def __init__(self, env: gym.Env, life_ends: bool = False) -> None:
        super().__init__(env)
        self._fire, self._life_ends, self._lives, self._lost = _fire(env), life_ends, 0, False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        if self._fire is not None:
            obs, _, terminated, truncated, info = self.env.step(self._fire)
            if terminated or truncated:
                obs, info = self.env.reset(options=options)
        self._lives, self._lost = info["lives"], False
        return obs, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if self._lost and self._life_ends and self._fire is not None:
            action = self._fire
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._lives, self._lost = info["lives"], 0 < info["lives"] < self._lives
        return obs, reward, terminated, truncated, info
