"""Watch a saved agent: what it earns in full episodes, and an animated picture of one of them."""

import contextlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from PIL import Image
from scipy import stats

from tricks.envs.atari import is_atari, make_game
from tricks.errors import InputError
from tricks.runs.run import Run
from tricks.core.seeds import stream

MOST = 300  # frames of a picture
WIDEST = 400  # pixels
EXTRAS = {"pygame": "play", "Box2D": "box2d"}  # package: the extra that brings it
SLOWEST = 0.1  # seconds that a frame of a shortened episode may stay


def one_seed(run: Run, seed: int | None) -> Run:
    """The run of one seed of the stack, or of its first. Raises InputError if the run has no such seed."""
    seeds = run.config.seed_list
    if seed is not None and seed not in seeds:
        raise InputError(f"the run has no seed {seed}; it has {', '.join(map(str, seeds))}")
    k = 0 if seed is None else seeds.index(seed)
    config = replace(run.config, seeds=(seeds[k],), lr=run.config.rates[k])
    return replace(run, config=config, agent=run.agent[k], curve=run.curve[run.curve.seed == seeds[k]])


def described(run: Run, returns: np.ndarray, greedy: bool) -> str:
    """What one agent earned: the mean over episodes, returns [episodes], and its 95% interval by Student's t."""
    actions = "its most likely actions" if greedy else "sampled actions"
    who = f"agent of seed {run.config.seed_list[0]} in {run.config.env}, {actions}: mean return {returns.mean():z.1f}"
    if len(returns) == 1:
        return f"{who} over 1 episode, which has no interval"
    half = stats.t.ppf(0.975, len(returns) - 1) * returns.std(ddof=1) / len(returns) ** 0.5
    low, high = returns.mean() - half, returns.mean() + half
    return f"{who} over {len(returns)} episodes, 95% interval [{low:z.1f}, {high:z.1f}] (Student's t over episodes)"


def picture(run: Run, path: Path, greedy: bool) -> str:
    """Film one episode of a run of one seed and write it to `path`; returns a line that says what became of it.

    Raises InputError if a package that draws is missing, or if the file cannot be written.
    """
    try:
        env = make_playable(run.config.env, run.config.life_ends)
        if env is None or not _same_spaces(env, run):
            return f"{run.config.env} has no picture"
        with contextlib.closing(env):
            film, total, steps = watch(run, env, greedy)
    except gym.error.DependencyNotInstalled as error:
        raise InputError(f"cannot draw {run.config.env}: {_advice(str(error))}, or add --no-gif") from error
    film.write(path)
    return f"wrote {path}: an episode of {steps} steps, return {total:z.1f}"


def _advice(said: str) -> str:
    """What to install, where Gymnasium has said that something is missing."""
    extras = [extra for package, extra in EXTRAS.items() if said.startswith(package)]
    if not extras:  # then what Gymnasium says is all there is
        return " ".join(said.split())
    return f'{said.split(",")[0]}; install it with: pip install -e ".[{extras[0]}]"'


def make_playable(id: str, life_ends: bool = False) -> gym.Env | None:
    """The environment that shows what the agent does, and sees as it was trained to; None if it has no picture."""
    if is_atari(id):
        return make_game(id, render_mode="rgb_array", life_ends=life_ends)
    if id.rpartition(":")[2] not in gym.registry:  # the module of `module:Id` has registered it
        return None
    env = gym.make(id, disable_env_checker=True)
    drawn = "rgb_array" in (env.metadata.get("render_modes") or [])
    env.close()
    return gym.make(id, render_mode="rgb_array", disable_env_checker=True) if drawn else None


def _same_spaces(env: gym.Env, run: Run) -> bool:
    """Whether the agent can see and act there: another backend's world may go by the same name."""
    mine, theirs = run.agent.spaces, (env.observation_space, env.action_space)
    return theirs == (mine.observation, mine.action) or (
        [gym.spaces.flatdim(space) for space in theirs] == [mine.features, mine.actions]
    )


@dataclass
class Film:
    """Frames of an episode, thinned out while it runs so that there are at most MOST: every `stride`-th, and the last.

    Time runs as in the world, `fps` steps a second, unless frames would then stay longer than SLOWEST.
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
        """An animated GIF that begins anew when it is over. Raises InputError if that fails.

        Frames that are equal to the one before become one that stays longer.
        """
        delay = min(self.stride / self.fps, max(1 / self.fps, SLOWEST))
        images = [Image.fromarray(frame) for frame in self.frames]
        for image in images:
            image.thumbnail((WIDEST, WIDEST))
        images = [image.quantize(64, dither=Image.Dither.NONE) for image in images]
        times = [max(20, round(100 * delay) * 10)] * (len(images) - 1) + [1000]  # a GIF counts in 10 ms
        try:
            images[0].save(path, "GIF", save_all=True, append_images=images[1:], duration=times, loop=0)
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from error


def watch(run: Run, env: gym.Env, greedy: bool) -> tuple[Film, float, int]:
    """An episode of a run of one seed: what was seen, its undiscounted return and its length."""
    rng = stream(run.config.seed_list[0], "evaluation")
    film, total, step, ended = Film(env.metadata.get("render_fps") or 30), 0.0, 0, False
    obs, info = env.reset(seed=int(rng.integers(2**31)))
    film.add(_drawn(env))
    while not ended:
        legal = info.get("action_mask") if run.tricks.action_mask else None
        action = run.agent.act(obs, legal, None if greedy else rng)
        obs, reward, terminated, truncated, info = env.step(action)
        total, step, ended = total + float(reward), step + 1, terminated or truncated
        if ended or film.wants(step):
            film.add(_drawn(env))
    return film, total, step


def _drawn(env: gym.Env) -> np.ndarray:
    frame: Any = env.render()
    return frame
