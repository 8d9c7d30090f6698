"""What happens before a run takes its memory: impossible numbers and sizes are refused, and long waits announced.

A trick's own file may say more. `refuse(config, tricks)` raises InputError for numbers, `refuse_env(env)` for an
environment, and `memory(config, tricks, rows, row, features)` says what else it needs: for so many rows of a rollout,
with so many bytes each, of which a net's last layer makes so many features.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import import_module
from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np

from tricks.config import Config
from tricks.core.devices import find_device
from tricks.core.env import Env, MakeEnv
from tricks.core.memory import WEIGHT, Need, in_total, largest, refuse_too_large, row_bytes
from tricks.core.nets import MakeBody
from tricks.core.spaces import Spaces
from tricks.envs.distinct import unseeded
from tricks.envs.make import announce, lane_need, make_env
from tricks.envs.vectors import has_vector_version
from tricks.errors import InputError
from tricks.ladder import FILES, Tricks
from tricks.runs.about import read_back
from tricks.runs.evaluation import Evaluation, play_needs
from tricks.runs.learning_curve import columns_of
from tricks.texts import recorded
from tricks.worlds import WORLDS

MUCH = 1_000_000_000  # bytes that a user should know of
CURVE_ROW = 300  # bytes of a row of the curve
LONG = 1000  # steps: a batch of whole episodes may be this long, so that there are fewer updates
WIDE = 10.0  # half the width of a box, in σ, beyond which a policy explores little of it
SAID: set[str] = set()


def open_env(
    config: Config,
    tricks: Tricks,
    make: MakeEnv | None = None,
    body: MakeBody | None = None,
    evaluation: Evaluation | None = None,
) -> Env:
    """The environment for a training, if its numbers are possible and the machine has the memory that it needs.

    Memory is checked twice: before there are lanes, for the least that the config can mean, and once more when the
    environment has told its spaces. On stderr, one line announces what takes more than a few seconds, and one what
    takes more than a gigabyte. Raises InputError like `make_env`.
    """
    find_device(config.device)
    columns_of(config)  # refuses to record what is a column already
    best, names = evaluation.keep_best if evaluation is not None else False, recorded(config.record)
    if isinstance(best, str) and best not in names:
        known = f"records {', '.join(names)}" if names else "records nothing"
        raise InputError(f"keep_best is by {best!r}, but the training {known}; name it in record")
    refuse_endless(config, tricks)
    refuse_too_large([*needs(config, tricks), lane_need(config, make)], config.device)
    announce(config, make)
    env = make_env(config, make=make)
    try:
        refuse_env(tricks, env)
        read_back(config, env.spaces)
        found = needs(config, tricks, env.spaces, own_body=body is not None)
        if evaluation is not None:
            found += play_needs(config, evaluation.episodes, env.spaces, "eval_episodes")
            if evaluation.apart:
                with closing(evaluation.lane(config, env.spaces, make)) as other:
                    refuse_env(tricks, other)
        refuse_too_large(found, config.device)
        if sum(need.bytes for need in found) > MUCH:
            print(in_total(found), file=sys.stderr)
        remark(env, config, tricks, make)
    except BaseException:
        env.close()
        raise
    return env


def declared(tricks: Tricks, name: str) -> Iterator[Callable[..., Any]]:
    """The functions of this name in the files of these tricks."""
    for file in dict.fromkeys(FILES[trick] for trick in tricks.on):
        if function := getattr(import_module(f"tricks.{file}"), name, None):
            yield function


def refuse_endless(config: Config, tricks: Tricks) -> None:
    """Raise InputError for numbers that these tricks cannot learn with, or that would take hours for one update."""
    for function in declared(tricks, "refuse"):
        function(config, tricks)


def refuse_env(tricks: Tricks, env: Env) -> None:
    """Raise InputError for an environment that these tricks cannot learn in."""
    for function in declared(tricks, "refuse_env"):
        function(env)


def needs(config: Config, tricks: Tricks, spaces: Spaces | None = None, own_body: bool = False) -> list[Need]:
    """What a training holds at its peak, at least. Without spaces: with one feature and one action."""
    seeds, row = len(config.seed_list), row_bytes(spaces)
    rows = seeds * config.lanes * config.horizon
    dense = not own_body and not (spaces and spaces.images)  # the net has the layers of --hidden
    widths = [spaces.features if spaces else 1, *config.hidden] if dense else [1]
    nets = seeds * 2 * WEIGHT * sum(a * b for a, b in pairwise(widths))
    curve = seeds * -(-config.steps // (config.lanes * max(config.horizon, LONG)))
    own = [function(config, tricks, rows, row, widths[-1]) for function in declared(tricks, "memory")]
    return [
        Need(f"rollouts of {rows:,} rows", rows * row, largest(config, "lanes", "horizon", "seeds")),
        Need("nets", nets, largest(config, "hidden", "seeds")),
        *own,
        Need(f"a curve of {curve:,} rows", curve * CURVE_ROW, largest(config, "steps", "seeds"), on_device=False),
    ]


def remark(env: Env, config: Config, tricks: Tricks, make: MakeEnv | None = None) -> None:
    """Say on stderr what is odd about the environment, unless it is one of our worlds, and once in a process."""
    for line in remarks(env, config, tricks, make) if config.env not in WORLDS or env.id != config.env else ():
        if line not in SAID:
            SAID.add(line)
            print(line, file=sys.stderr)


def remarks(env: Env, config: Config, tricks: Tricks, make: MakeEnv | None = None) -> Iterator[str]:
    """Random numbers without a seed, masks that nobody looks at, and boxes that the policy hardly explores."""
    if config.backend != "envpool" and not has_vector_version(config, make):
        yield from (f"{env.id} {fault}" for fault in unseeded(config, make))
    if env.masks and not tricks.action_mask:
        yield f"{env.id} says which actions are legal, which has no effect without --action-mask (action_mask=True)"
    space, std = env.spaces.action, float(np.exp(max(config.each("log_std_init"))))
    if isinstance(space, gym.spaces.Box) and space.is_bounded() and not tricks.squash:
        low, high = space.low.astype(float), space.high.astype(float)
        if (width := (high - low).max()) > 2 * WIDE * std:
            yield (
                f"{env.id} has actions from {low.min():g} to {high.max():g}, and the policy starts with σ = {std:g}, "
                f"so it explores about 1/{width / (2 * std):,.0f} of the range; --rescale-actions maps it to [-1, 1]"
            )
