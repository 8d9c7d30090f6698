"""Watch a saved agent: an animated GIF of one episode."""

import contextlib
import inspect
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import gymnasium as gym
import numpy as np
from PIL import Image

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.extras import advice
from tricks.core.rollout import ENDLESS
from tricks.core.seeds import stream
from tricks.core.spaces import Spaces
from tricks.envs.atari import fire, is_atari
from tricks.envs.ids import import_module_of, maker_of
from tricks.envs.lane import make_lane
from tricks.errors import InputError, said
from tricks.runs.files import write_whole
from tricks.runs.run import Run

MOST = 300  # frames
WIDEST = 400  # pixels
SLOWEST = 0.1  # longest time, in seconds, that a frame of a thinned-out episode is shown


def picture(run: Run, path: Path, greedy: bool) -> str:
    """Film one episode of a single-seed run and write it to `path`; returns a one-line summary.

    Raises InputError if a rendering package is missing or fails, if the episode is longer than config.episode_limit, or
    if the file cannot be written.
    """
    with drawing(run):
        env = make_playable(run.config, run.env)
    if env is None or not _same_spaces(env, run):
        return f"{run.config.env} cannot be rendered"
    with contextlib.closing(env):
        film, total, steps = watch(run, env, greedy)
    film.write(path)
    return f"wrote {path}: an episode of {steps} steps, return {total:z.1f}"


@contextlib.contextmanager
def drawing(run: Run) -> Iterator[None]:
    """Turn whatever a renderer raises into an InputError: of a missing package or display, or of what is no picture."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        hint = " (without a display, set MUJOCO_GL=egl)" if "OpenGL" in said(error) else ""
        raise InputError(f"cannot draw {run.config.env}: {advice(error)}{hint}, or add --no-gif") from error


def make_playable(config: Config, make: MakeEnv | None = None) -> gym.Env | None:
    """The environment with rendering on and the agent's own observations; None if it cannot be rendered.

    One from a function of the user's can be if its render_mode is rgb_array, or if config.env names a function that
    takes that as an argument, as every id does.
    """
    named = make is None and not is_atari(config.env)
    maker = maker_of(config.env) if named else None
    if named and maker is None and import_module_of(config.env) not in gym.registry:
        return None
    env = make_lane(config, make, film=make is None and not named)
    takes_mode = maker is None or {"render_mode", "kwargs"} & set(inspect.signature(maker).parameters)
    if named and env.render_mode is None and "rgb_array" in (env.metadata.get("render_modes") or ()) and takes_mode:
        env.close()
        env = make_lane(config, film=True)
    if env.render_mode == "rgb_array":
        return env
    env.close()
    return None


def _same_spaces(env: gym.Env, run: Run) -> bool:
    """Whether the spaces match the agent's: another backend may use the same id for a different environment."""
    mine, theirs = run.agent.spaces, (env.observation_space, env.action_space)
    try:
        return Spaces(mine.env, *theirs, mine.tasks, mine.as_vector).sizes == mine.sizes
    except InputError:  # such as a text that the agent's backend leaves out
        return False


@dataclass
class Film:
    """Frames of an episode: every `stride`-th one and the last, thinned out as it runs to keep at most MOST.

    Playback is in real time, at `fps` steps per second, but no frame is shown for longer than SLOWEST.
    """

    fps: float
    frames: list[np.ndarray] = field(default_factory=list)
    stride: int = 1

    def wants(self, step: int) -> bool:
        return step % self.stride == 0

    def add(self, frame: np.ndarray) -> None:
        self.frames.append(frame)
        if len(self.frames) > MOST:
            self.frames, self.stride = self.frames[::2], 2 * self.stride

    def write(self, path: Path) -> None:
        """Write a looping GIF, in which equal frames become one that is shown longer. Raises InputError if it fails."""
        delay = min(self.stride / self.fps, max(1 / self.fps, SLOWEST))
        images = [Image.fromarray(frame) for frame in self.frames]
        for image in images:
            image.thumbnail((WIDEST, WIDEST))
        images = [image.quantize(64, dither=Image.Dither.NONE) for image in images]
        times = [max(20, round(100 * delay) * 10)] * (len(images) - 1) + [1000]  # GIF delays are multiples of 10 ms
        box = io.BytesIO()
        images[0].save(box, "GIF", save_all=True, append_images=images[1:], duration=times, loop=0)
        write_whole(path, box.getvalue())


def watch(run: Run, env: gym.Env, greedy: bool) -> tuple[Film, float, int]:
    """Play one episode of a single-seed run; returns its film, undiscounted return and length.

    Raises InputError if the environment cannot be drawn, or if the episode is longer than config.episode_limit.
    """
    rng = stream(run.config.seed_list[0], "evaluation")
    film, total, step, ended = Film(env.metadata.get("render_fps") or 30), 0.0, 0, False
    fires = run.config.life_ends and run.env is None and is_atari(run.config.env)
    press = int(fires and fire(run.config.env) is not None)  # rows of a life before it begins
    obs, info = env.reset(seed=int(rng.integers(2**31)))
    film.add(_drawn(run, env))
    lives, since = info.get("lives", 0), press  # since: steps since a life was lost
    while not ended:
        if step == run.config.episode_limit:
            raise InputError(f"{run.config.env}: {ENDLESS.format(step)}")
        legal = info.get("action_mask") if run.agent.mask else None
        action = run.agent.act(obs, legal, None if greedy else rng, begins=since <= press)
        obs, reward, terminated, truncated, info = env.step(action)
        lost = run.config.life_ends and 0 < info.get("lives", 0) < lives
        lives, since = info.get("lives", lives), 0 if lost else since + 1
        total, step, ended = total + float(reward), step + 1, terminated or truncated
        if ended or film.wants(step):
            film.add(_drawn(run, env))
    return film, total, step


def in_bytes(frame: np.ndarray) -> np.ndarray:
    """A picture of bools, or of floats from 0 to 1, as uint8; any other frame as it is."""
    if frame.dtype.kind in "bf" and ((frame >= 0) & (frame <= 1)).all():
        return np.rint(255.0 * frame).astype(np.uint8)
    return frame


def _drawn(run: Run, env: gym.Env) -> np.ndarray:
    """The current picture. Raises InputError if the environment cannot draw it."""
    with drawing(run):
        frame = in_bytes(np.asarray(env.render()))
        Image.fromarray(frame)  # refuses what is no picture
    return frame
