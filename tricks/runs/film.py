"""Watch a saved agent: an animated GIF of one episode."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from PIL import Image

from tricks.core.extras import advice
from tricks.envs.atari import is_atari, make_game
from tricks.envs.ids import make_named
from tricks.errors import InputError, said
from tricks.runs.evaluation import play_games
from tricks.runs.files import write_whole
from tricks.runs.run import Run

MOST = 500  # frames
WIDEST = 400  # pixels


class Film(gym.Wrapper):
    """Keeps pictures of the steps since the last reset, of MOST at most."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        came = self.env.reset(seed=seed, options=options)
        self.frames, self.steps = list[Image.Image](), -1
        self._add()
        return came

    def step(self, action: Any) -> Any:
        came = self.env.step(action)
        self._add()
        return came

    def _add(self) -> None:
        self.steps += 1
        if len(self.frames) < MOST:
            frame = Image.fromarray(np.asarray(self.env.render())).convert("RGB")
            frame.thumbnail((WIDEST, WIDEST))
            self.frames.append(frame.quantize(64, dither=Image.Dither.NONE))


def picture(run: Run, path: Path, greedy: bool) -> str:
    """Write a looping GIF of one episode of a single-seed run; returns a one-line summary. Raises InputError."""
    try:
        film, total = filmed(run, greedy)
    except Exception as error:  # a package or a display is missing, or whatever an environment raises
        hint = " (without a display, set MUJOCO_GL=egl)" if "OpenGL" in said(error) else ""
        why = f"{advice(error.__cause__ or error)}{hint}"
        raise InputError(f"cannot draw {run.config.env}: {why}, or add --no-gif") from error
    if film is None:
        return f"{run.config.env} cannot be rendered"
    delay = max(20, round(100 / (film.metadata.get("render_fps") or 30)) * 10)  # GIF delays are multiples of 10 ms
    box, times = io.BytesIO(), [delay] * (len(film.frames) - 1) + [1000]
    film.frames[0].save(box, "GIF", save_all=True, append_images=film.frames[1:], duration=times, loop=0)
    write_whole(path, box.getvalue())
    part = f" (its first {MOST - 1} are shown)" * (film.steps >= MOST)
    return f"wrote {path}: an episode of {film.steps} steps{part}, return {total:z.1f}"


def filmed(run: Run, greedy: bool) -> tuple[Film | None, float]:
    """Play one episode of a single-seed run: its film, None if it shows no rgb_array, and its score."""
    config, mode = run.config, {"render_mode": "rgb_array"}
    if run.env is not None:  # which sees to its mode itself
        env = run.env(**config.env_kwargs)
    elif is_atari(config.env):
        env = make_game(config.env, config.life_ends, **mode, **config.env_kwargs)
    else:
        try:
            env = make_named(config.env, **config.env_kwargs)
            if env.render_mode is None and "rgb_array" in (env.metadata.get("render_modes") or ()):
                env.close()
                env = make_named(config.env, **mode, **config.env_kwargs)
        except (gym.error.UnregisteredEnv, InputError):  # it is of another backend, or its function takes no mode
            return None, 0.0
    if env.render_mode != "rgb_array":
        env.close()
        return None, 0.0
    film = Film(env)
    plain = replace(config, backend="gymnasium", device="cpu", compile=False, env_args=(), record=())
    scores, failed, _ = play_games(plain, run.agent, 1, greedy, make=lambda: film)
    for reason in failed.values():
        raise InputError(reason)
    return film, float(scores)
