"""Look at an environment without training in it: does it keep to Gymnasium's interface, and what is in it?"""

import time
import warnings
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

from gymnasium.utils.env_checker import check_env

from tricks.config import Config
from tricks.core.agent import Agent
from tricks.core.env import Env
from tricks.envs.lane import make_lane
from tricks.envs.make import lane_kind, make_env
from tricks.errors import InputError, in_words
from tricks.ladder import PPO, Tricks
from tricks.loop import train
from tricks.runs import progress
from tricks.runs.log import Rows

PATIENCE = 5.0  # seconds
LONGEST = 10**7  # steps
NATIVE = "tensor", "atari", "envpool"  # what is not the user's
RIGHT = {  # what would be, if Gymnasium's checker says this
    "eterministic": "call super().reset(seed=seed) in reset, and draw from self.np_random alone",
    "not within the observation space": "clip observations, or make the space larger",
}


def check(config: Config, episodes: int) -> Iterator[str]:
    """Say what an environment has and does, line by line. Raises InputError for the first fault."""
    with closing(make_env(config)) as env:
        told, tricks = [*described(env)], replace(PPO, action_mask=env.masks)
    if lane_kind(config) not in NATIVE and not tricks.action_mask:  # Gymnasium's checker takes any action as legal
        refuse_breach(config)
    yield from told
    yield trial(config, tricks, episodes)


def refuse_breach(config: Config) -> None:
    """Raise InputError for what Gymnasium's own checker finds in a lane."""
    try:
        with closing(make_lane(config)) as env, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_env(env, skip_render_check=True, skip_close_check=True)
    except (Exception, SystemExit) as error:  # an environment can raise anything
        fault = " ".join(str(error).split()) if isinstance(error, AssertionError) else in_words(error)
        right = "".join(f": {what}" for word, what in RIGHT.items() if word in fault)
        raise InputError(f"{config.env}: {fault.rstrip('.')}{right}") from error


def described(env: Env) -> Iterator[str]:
    """The spaces, how the agent sees them, and how lanes begin."""
    spaces = env.spaces
    parts = [f"{leaf.name}: {f'an image {list(leaf.shape)}' if leaf.axes else leaf.size}" for leaf in spaces.leaves]
    seen = f"a vector of length {spaces.features}" + f" ({', '.join(parts)})" * (len(parts) > 1)
    seen = f"an image {list(spaces.shape)}, its channels first" if spaces.pixels else seen
    yield f"observations: {' '.join(str(spaces.observation).split())}; the net sees {seen}"
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


def trial(config: Config, tricks: Tricks, episodes: int) -> str:
    """What a training for a few seconds, by policies that hardly differ from chance, saw of so many episodes."""
    end, games = time.perf_counter() + PATIENCE, list[float]()

    def more(rows: Rows, agent: Agent) -> bool:
        games.append(rows[0]["episodes"])
        return sum(games) < episodes and time.perf_counter() < end

    progress.silent = True
    curve = train(replace(config, steps=LONGEST, lr=1e-6), tricks, on_update=more).curve
    if not (ended := sum(games)):
        why = "evaluations and `play` need an end, and so does training without segments"
        how = "--wrap 'gymnasium.wrappers:TimeLimit(1000)' sets one"
        return f"random games: none ended in {curve['step'].max():,} steps; {why}: {how}"
    length, score = ((curve[x] * curve["episodes"]).sum() / ended for x in ("length", "return"))
    return f"random games: {ended:,.0f}, of {length:,.1f} steps on average, with a mean return of {score:.4g}"
