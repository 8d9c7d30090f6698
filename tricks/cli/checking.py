"""Look at an environment without training in it: does it keep to Gymnasium's interface, and what is in it?"""

import time
import warnings
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace

import numpy as np
import torch
from gymnasium.spaces import Box
from gymnasium.utils.env_checker import check_env
from torch import Tensor

from tricks.config import Config
from tricks.core.env import Env
from tricks.core.spaces import Spaces
from tricks.envs.lane import make_lane
from tricks.envs.make import lane_kind, make_env
from tricks.errors import InputError, in_words
from tricks.ladder import PPO
from tricks.training import open_env

PATIENCE = 5.0  # seconds
RIGHT = {  # what would be, if Gymnasium's checker says this
    "eterministic": "call super().reset(seed=seed) in reset, and draw from self.np_random alone",
    "not within the observation space": "clip observations, or make the space larger",
}


def check(config: Config, episodes: int) -> Iterator[str]:
    """Say what an environment has and does, line by line. Raises InputError for the first fault."""
    with closing(make_env(config)) as env:
        masks = env.masks
    if lane_kind(config) not in ("tensor", "atari", "envpool") and not masks:  # Gymnasium takes any action as legal
        refuse_breach(config)
    with closing(open_env(config, replace(PPO, action_mask=masks))) as env:
        yield from described(env)
        yield from games(env, episodes)


def refuse_breach(config: Config) -> None:
    """Raise InputError for what Gymnasium's own checker finds in a lane."""
    try:
        env = make_lane(config)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_env(env, skip_render_check=True, skip_close_check=True)
    except (Exception, SystemExit) as error:  # an environment can raise anything
        fault = " ".join(str(error).split()) if isinstance(error, AssertionError) else in_words(error)
        right = "".join(f": {what}" for word, what in RIGHT.items() if word in fault)
        raise InputError(f"{config.env}: {fault.rstrip('.')}{right}") from error
    with suppress(Exception, SystemExit):
        env.close()


def described(env: Env) -> Iterator[str]:
    """The spaces, how the agent sees them, and how lanes begin."""
    spaces = env.spaces
    yield f"observations: {' '.join(str(spaces.observation).split())}; the net sees {seen(spaces)}"
    choices = f"{len(spaces.components)} choices at once" if spaces.components else f"one of {spaces.actions}"
    given = choices if spaces.discrete else f"numbers, of which there are {spaces.actions}, clipped to the bounds"
    yield f"actions: {' '.join(str(spaces.action).split())}; the policy gives {given}"
    if env.masks:
        yield "action masks: yes; --action-mask uses them"
    if env.now.lives is not None:
        yield f"lives: {int(env.now.lives.max())}; --life-ends ends episodes with them"
    if spaces.tasks > 1:
        yield f"tasks: {spaces.tasks}"
    apart = len(env.now.obs[0].flatten(1).unique(dim=0))
    alike = "all lanes begin alike, which is right only if every episode does"
    yield f"first observations: {f'{apart} of {env.lanes} lanes begin differently' if apart > 1 else alike}"


def seen(spaces: Spaces) -> str:
    """What an observation becomes."""
    if spaces.pixels:
        return f"an image {list(spaces.shape)}, its channels first"
    parts = [f"{leaf.name}: {f'an image {list(leaf.shape)}' if leaf.axes else leaf.size}" for leaf in spaces.leaves]
    return f"a vector of length {spaces.features}" + f" ({', '.join(parts)})" * (len(parts) > 1)


def at_random(env: Env, rng: torch.Generator) -> Tensor:
    """A legal action for each lane, as Gymnasium samples Box ones: [1, N], [1, N, K] or [1, N, A].

    Raises InputError if there is none.
    """
    spaces, legal = env.spaces, env.now.legal
    if isinstance(spaces.action, Box):
        return torch.from_numpy(np.stack([spaces.action.sample().ravel() for _ in range(env.lanes)])[None]).float()
    if not spaces.possible(legal).all():
        raise InputError(f"{env.id}: the action mask leaves no legal action; at least one entry must be 1")
    parts = legal[0].double().split(list(spaces.components) or spaces.actions, -1)  # [N, choices] each
    drawn = torch.cat([torch.multinomial(part, 1, generator=rng) for part in parts], -1).unsqueeze(0)
    return drawn if spaces.components else drawn[..., 0]


def games(env: Env, episodes: int) -> Iterator[str]:
    """Random games in all lanes, equally many in each, for a few seconds: their lengths and returns, and the speed.

    Raises InputError for what teaches nothing.
    """
    rng, start, playing = torch.Generator().manual_seed(1), time.perf_counter(), torch.ones(1, dtype=torch.bool)
    lengths, returns, cut, steps, total, seconds = list[int](), list[float](), 0, 0, 0.0, 0.0
    length, score = np.zeros(env.lanes, int), np.zeros(env.lanes)
    left = np.full(env.lanes, -(-episodes // env.lanes))
    env.reset()
    while left.any() and seconds < PATIENCE:
        real = ~env.now.over[0].numpy()  # the other lanes begin a game
        now = env.step(at_random(env, rng), playing)
        reward, over = now.score[0].numpy(), now.over[0].numpy()
        for what, whole in {"reward": np.isfinite(reward).all(), "observation": now.obs.isfinite().all()}.items():
            if not whole:
                raise InputError(f"{env.id}: the {what} of step() is not finite")
        length, score = np.where(real, length + 1, 0), np.where(real, score + reward, 0.0)
        counts = over & (left > 0)
        lengths, returns = lengths + length[counts].tolist(), returns + score[counts].tolist()
        cut += int((now.truncated & ~now.terminated)[0].numpy()[counts].sum())
        steps, total, left = steps + int(real.sum()), total + float(reward[real].sum()), left - counts
        seconds = time.perf_counter() - start
    if lengths:
        fewest, most, mean = min(lengths), max(lengths), np.mean(lengths)
        each = f"{fewest:,} steps each" if fewest == most else f"{fewest:,} to {most:,} steps (mean {mean:,.1f})"
        yield f"random games: {len(lengths)} of {each}; {cut} ended by a time limit"
        yield f"their returns: {min(returns):g} to {max(returns):g} (mean {np.mean(returns):.4g})"
    else:
        yield (
            f"random games: none ended in {steps:,} steps; evaluations and `play` need an end, and so does "
            "training without segments: --wrap 'gymnasium.wrappers:TimeLimit(1000)' sets one"
        )
        yield f"reward: {total / max(1, steps):.4g} per step"
    yield f"speed: {steps / max(seconds, 1e-9):,.0f} steps per second"
